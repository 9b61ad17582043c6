//! Secrets of type `kubernetes.io/service-account-token` are filled with a token of the account that they name, and go
//! with it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::kinds::{SECRETS, SERVICE_ACCOUNTS};
use super::object::{Key, Object, annotate};
use super::queue::Queue;
use super::service_accounts::absorb;
use super::{Controller, Cx, MakeToken, Next, Seen};
use crate::error::ApiError;
use crate::resource::Resource;
use crate::storage::Stored;

const TYPE: &str = "kubernetes.io/service-account-token";
const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";

/// Fills token Secrets.
pub struct TokenSecrets {
    cx: Cx,
    ca: String,
    make_token: MakeToken,
}

/// What wants a look: a Secret, or all token Secrets of an account that is gone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// The Secret of that key.
    Secret(Key),
    /// The account of that key.
    Account(Key),
}

impl TokenSecrets {
    /// Fills Secrets with tokens from `make_token` and this certificate authority (PEM).
    #[must_use]
    pub fn new(cx: Cx, ca: String, make_token: MakeToken) -> Self {
        Self { cx, ca, make_token }
    }

    async fn look_at(&self, mut secret: Value) -> Result<(), ApiError> {
        if secret.text("type") != TYPE || secret.is_deleting() {
            return Ok(());
        }
        let Some(name) = secret.annotation(ACCOUNT_NAME).map(str::to_owned) else {
            return Ok(());
        };
        let account = self
            .cx
            .loopback
            .get(&SERVICE_ACCOUNTS.gvr(), secret.namespace(), &name)
            .await;
        let account = match account {
            Ok(account) => Some(account),
            Err(error) if error.code == 404 => None,
            Err(error) => return Err(error),
        };
        let stranger = |a: &Value| secret.annotation(ACCOUNT_UID).is_some_and(|uid| uid != a.uid());
        let Some(account) = account.filter(|a| !stranger(a)) else {
            let options = json!({ "preconditions": { "uid": secret.uid() } });
            let deleted = self
                .cx
                .loopback
                .delete(&SECRETS.gvr(), secret.namespace(), secret.name(), options)
                .await;
            return absorb(deleted.map(drop));
        };
        let complete = ["ca.crt", "namespace", "token"].iter().all(|key| {
            secret
                .at("data")
                .and_then(|d| d.get(key))
                .and_then(Value::as_str)
                .is_some_and(|v| !v.is_empty())
        });
        if complete && secret.annotation(ACCOUNT_UID).is_some() {
            return Ok(());
        }
        annotate(&mut secret, ACCOUNT_UID, account.uid());
        let token = (self.make_token)(&account, &secret);
        let namespace = secret.namespace().to_owned();
        for (key, value) in [
            ("ca.crt", self.ca.as_str()),
            ("namespace", &namespace),
            ("token", &token),
        ] {
            secret["data"][key] = STANDARD.encode(value).into();
        }
        absorb(self.cx.loopback.update(&SECRETS.gvr(), None, secret).await.map(drop))
    }
}

impl Controller for TokenSecrets {
    type Key = Work;

    fn cx(&self) -> &Cx {
        &self.cx
    }

    fn wants(&self, resource: &Resource, stored: &Stored) -> bool {
        SECRETS.is(resource) && stored.field("type") == TYPE
    }

    fn observe(&self, seen: &Seen<'_>, queue: &Queue<Work>) {
        if seen.is(&SECRETS) && !seen.deleted && seen.object.text("type") == TYPE {
            queue.add(Work::Secret(Key::of(seen.object)));
        } else if seen.is(&SERVICE_ACCOUNTS) && seen.deleted {
            queue.add(Work::Account(Key::of(seen.object)));
        }
    }

    async fn reconcile(&self, work: &Work) -> Result<Next, ApiError> {
        match work {
            Work::Secret(key) => match self.cx.loopback.get(&SECRETS.gvr(), &key.namespace, &key.name).await {
                Ok(secret) => self.look_at(secret).await?,
                Err(error) if error.code == 404 => {}
                Err(error) => return Err(error),
            },
            Work::Account(key) => {
                let query = "fieldSelector=type%3Dkubernetes.io%2Fservice-account-token";
                let (secrets, _) = self.cx.loopback.list(&SECRETS.gvr(), &key.namespace, query).await?;
                for secret in secrets {
                    if secret.annotation(ACCOUNT_NAME) == Some(&key.name) {
                        self.look_at(secret).await?;
                    }
                }
            }
        }
        Ok(Next::Wait)
    }
}
