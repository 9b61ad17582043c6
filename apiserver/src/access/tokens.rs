//! Bearer tokens: fixed ones, minted ones for any user, and those of service accounts.
//!
//! Minted tokens are JSON Web Tokens under a key that lives as long as the server. Nothing is stored for them: a
//! service account's token is good while it has not expired and everything that it is bound to still exists.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use ring::hmac;
use serde_json::{Value, json};

use super::{Source, User};
use crate::clock::Clock;

/// Who issues service account tokens, and the audience that the server itself answers to.
pub const AUDIENCE: &str = "https://kubernetes.default.svc";

/// `iss` of the tokens that [`Tokens::mint`] makes.
const OWN_ISSUER: &str = "kubewright";
/// How many opened tokens are remembered.
const REMEMBERED: usize = 1024;
const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";

/// What a good token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The user.
    pub user: Arc<User>,
    /// Those of the wanted audiences that the token is for.
    pub audiences: Vec<String>,
}

/// An object that a token is bound to: the token dies with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// `pod`, `secret` or `node`: the claim's name.
    pub claim: &'static str,
    /// Name of the object.
    pub name: String,
    /// uid of the object.
    pub uid: String,
}

/// What a service account token is made of.
#[derive(Clone, Debug)]
pub struct ServiceAccountClaims<'a> {
    /// Namespace of the account.
    pub namespace: &'a str,
    /// Name of the account.
    pub name: &'a str,
    /// uid of the account.
    pub uid: &'a str,
    /// Objects that the token is bound to besides the account.
    pub bound: Vec<Bound>,
    /// Whom the token is for.
    pub audiences: &'a [String],
    /// When it expires.
    pub expires: Timestamp,
}

/// Mints and verifies tokens. Clones share key and fixed tokens.
#[derive(Clone)]
pub struct Tokens(Arc<Inner>);

struct Inner {
    clock: Clock,
    key: hmac::Key,
    fixed: BTreeMap<String, Arc<User>>,
    source: Box<dyn Source>,
    /// Tokens that were found to be signed by this server, so that their next use costs no cryptography.
    opened: Mutex<BTreeMap<String, Arc<Opened>>>,
}

/// A token that this server signed: what it says, and the user that it makes of its bearer.
struct Opened {
    claims: Value,
    user: Arc<User>,
}

impl Tokens {
    /// Tokens under a fresh key drawn from `clock`; `fixed` maps ready-made tokens to their users.
    pub fn new(source: impl Source + 'static, clock: Clock, fixed: BTreeMap<String, User>) -> Self {
        let secret: Vec<u8> = (0..4).flat_map(|_| clock.next_u64().to_le_bytes()).collect();
        let key = hmac::Key::new(hmac::HMAC_SHA256, &secret);
        Self(Arc::new(Inner {
            clock,
            key,
            fixed: fixed.into_iter().map(|(token, user)| (token, Arc::new(user))).collect(),
            source: Box::new(source),
            opened: Mutex::default(),
        }))
    }

    /// A token that makes its bearer this user, for as long as the server runs.
    #[must_use]
    pub fn mint(&self, user: &User) -> String {
        self.sign(&json!({
            "iss": OWN_ISSUER,
            "jti": self.0.clock.uid(),
            "iat": self.0.clock.now().as_second(),
            "sub": user.name,
            "uid": user.uid,
            "groups": user.groups,
            "extra": user.extra,
        }))
    }

    /// A token of a service account, as `TokenRequest` hands out.
    #[must_use]
    pub fn mint_service_account(&self, claims: &ServiceAccountClaims<'_>) -> String {
        let now = self.0.clock.now().as_second();
        let mut kubernetes = json!({
            "namespace": claims.namespace,
            "serviceaccount": { "name": claims.name, "uid": claims.uid },
        });
        for bound in &claims.bound {
            kubernetes[bound.claim] = json!({ "name": bound.name, "uid": bound.uid });
        }
        self.sign(&json!({
            "iss": AUDIENCE,
            "jti": self.0.clock.uid(),
            "iat": now,
            "nbf": now,
            "exp": claims.expires.as_second(),
            "aud": claims.audiences,
            "sub": format!("system:serviceaccount:{}:{}", claims.namespace, claims.name),
            "kubernetes.io": kubernetes,
        }))
    }

    /// The user of a token for the server itself.
    #[must_use]
    pub fn authenticate(&self, token: &str) -> Option<Arc<User>> {
        self.verify(token, &[AUDIENCE]).map(|verified| verified.user)
    }

    /// The user of a token for any of `audiences`; none when the token is unknown, expired, for somebody else, or
    /// bound to something that is gone.
    #[must_use]
    pub fn verify(&self, token: &str, audiences: &[&str]) -> Option<Verified> {
        if let Some(user) = self.0.fixed.get(token) {
            return Some(Verified {
                user: Arc::clone(user),
                audiences: own_audience(audiences)?,
            });
        }
        let opened = self.opened(token)?;
        let Opened { claims, user } = &*opened;
        if claims["iss"] == OWN_ISSUER {
            return Some(Verified {
                user: Arc::clone(user),
                audiences: own_audience(audiences)?,
            });
        }
        let audiences: Vec<String> = claims["aud"]
            .as_array()?
            .iter()
            .filter_map(Value::as_str)
            .filter(|aud| audiences.contains(aud))
            .map(ToOwned::to_owned)
            .collect();
        if audiences.is_empty() || claims["exp"].as_i64()? <= self.0.clock.now().as_second() {
            return None;
        }
        self.still_bound(&claims["kubernetes.io"])?;
        Some(Verified {
            user: Arc::clone(user),
            audiences,
        })
    }

    /// Whether the service account of a token, and all that the token is bound to, still exist.
    fn still_bound(&self, kubernetes: &Value) -> Option<()> {
        let namespace = kubernetes["namespace"].as_str()?;
        self.lives("serviceaccounts", namespace, &kubernetes["serviceaccount"])?;
        for (claim, resource, in_namespace) in [
            ("secret", "secrets", namespace),
            ("pod", "pods", namespace),
            ("node", "nodes", ""),
        ] {
            let bound = &kubernetes[claim];
            // A pod's node is told, but the token is bound to the pod.
            if !bound.is_null() && (claim != "node" || kubernetes["pod"].is_null()) {
                self.lives(resource, in_namespace, bound)?;
            }
        }
        Some(())
    }

    /// Whether an object of that name still has that uid.
    fn lives(&self, resource: &str, namespace: &str, reference: &Value) -> Option<()> {
        let uid = self.0.source.uid(resource, namespace, reference["name"].as_str()?)?;
        (reference["uid"].as_str() == Some(&*uid)).then_some(())
    }

    fn sign(&self, claims: &Value) -> String {
        let header = URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256","typ":"JWT"}"#);
        let signed = format!("{header}.{}", URL_SAFE_NO_PAD.encode(claims.to_string()));
        let tag = hmac::sign(&self.0.key, signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(tag.as_ref()))
    }

    /// A token that this server signed.
    fn opened(&self, token: &str) -> Option<Arc<Opened>> {
        let known = || self.0.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = known().get(token) {
            return Some(Arc::clone(opened));
        }
        let claims = self.open(token)?;
        let user = if claims["iss"] == OWN_ISSUER {
            own_user(&claims)?
        } else {
            service_account(&claims)?
        };
        let opened = Arc::new(Opened {
            claims,
            user: Arc::new(user),
        });
        let mut known = known();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(token.to_owned(), Arc::clone(&opened));
        Some(opened)
    }

    /// The claims of a token that this server signed.
    fn open(&self, token: &str) -> Option<Value> {
        let (signed, tag) = token.rsplit_once('.')?;
        let tag = URL_SAFE_NO_PAD.decode(tag).ok()?;
        hmac::verify(&self.0.key, signed.as_bytes(), &tag).ok()?;
        let (_, claims) = signed.split_once('.')?;
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()
    }
}

/// The audience of tokens that carry none: the server itself.
fn own_audience(wanted: &[&str]) -> Option<Vec<String>> {
    wanted.contains(&AUDIENCE).then(|| vec![AUDIENCE.to_owned()])
}

/// The user whom the token of a service account names.
fn service_account(claims: &Value) -> Option<User> {
    let kubernetes = &claims["kubernetes.io"];
    let account = &kubernetes["serviceaccount"];
    let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
    let namespace = text(&kubernetes["namespace"])?;
    let mut user = User::service_account(&namespace, account["name"].as_str()?, account["uid"].as_str()?);
    let id = claims["jti"].as_str()?;
    user.extra.insert(CREDENTIAL_ID.to_owned(), vec![format!("JTI={id}")]);
    for claim in ["pod", "node"] {
        for field in ["name", "uid"] {
            if let Some(value) = text(&kubernetes[claim][field]).filter(|value| !value.is_empty()) {
                user.extra
                    .insert(format!("authentication.kubernetes.io/{claim}-{field}"), vec![value]);
            }
        }
    }
    Some(user)
}

fn own_user(claims: &Value) -> Option<User> {
    Some(User {
        name: claims["sub"].as_str()?.to_owned(),
        uid: claims["uid"].as_str()?.to_owned(),
        groups: serde_json::from_value(claims["groups"].clone()).ok()?,
        extra: serde_json::from_value(claims["extra"].clone()).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::access::source::tests::Objects;

    fn tokens(objects: &Objects) -> Tokens {
        let fixed = BTreeMap::from([("s3cret".to_owned(), User::new("admin", ["system:masters"]))]);
        Tokens::new(objects.clone(), Clock::new(Timestamp::UNIX_EPOCH, 7), fixed)
    }

    fn account_token(tokens: &Tokens, bound: Vec<Bound>, audience: &str) -> String {
        tokens.mint_service_account(&ServiceAccountClaims {
            namespace: "web",
            name: "app",
            uid: "u",
            bound,
            audiences: &[audience.to_owned()],
            expires: Timestamp::from_second(3600).unwrap(),
        })
    }

    #[tokio::test(start_paused = true)]
    async fn fixed_and_minted_tokens_name_their_user_and_others_nobody() {
        let tokens = tokens(&Objects::default());
        assert_eq!(tokens.authenticate("s3cret").unwrap().name, "admin");
        let ann = User::new("ann", ["team"]);
        let token = tokens.mint(&ann);
        assert_eq!(tokens.authenticate(&token), Some(Arc::new(ann)));
        assert_eq!(tokens.authenticate(&format!("{token}x")), None);
        assert_eq!(tokens.authenticate("junk"), None);
        assert_eq!(tokens.verify(&token, &["vault"]), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_service_account_token_lives_as_long_as_the_account_and_its_time() {
        let objects = Objects::default();
        let tokens = tokens(&objects);
        let token = account_token(&tokens, vec![], AUDIENCE);
        assert_eq!(tokens.authenticate(&token), None, "no such account yet");
        objects.put(
            "serviceaccounts",
            json!({"metadata": {"namespace": "web", "name": "app", "uid": "u"}}),
        );
        let user = tokens.authenticate(&token).unwrap();
        assert_eq!(user.name, "system:serviceaccount:web:app");
        assert!(user.extra[CREDENTIAL_ID][0].starts_with("JTI="));
        objects.put(
            "serviceaccounts",
            json!({"metadata": {"namespace": "web", "name": "app", "uid": "another"}}),
        );
        assert_eq!(
            tokens.authenticate(&token),
            None,
            "an account of the same name is another"
        );
        objects.put(
            "serviceaccounts",
            json!({"metadata": {"namespace": "web", "name": "app", "uid": "u"}}),
        );
        tokio::time::advance(Duration::from_secs(3601)).await;
        assert_eq!(tokens.authenticate(&token), None, "expired");
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_dies_with_the_secret_it_is_bound_to_and_serves_only_its_audience() {
        let objects = Objects::default();
        objects.put(
            "serviceaccounts",
            json!({"metadata": {"namespace": "web", "name": "app", "uid": "u"}}),
        );
        objects.put(
            "secrets",
            json!({"metadata": {"namespace": "web", "name": "s", "uid": "su"}}),
        );
        let tokens = tokens(&objects);
        let bound = Bound {
            claim: "secret",
            name: "s".into(),
            uid: "su".into(),
        };
        let token = account_token(&tokens, vec![bound], "vault");
        assert_eq!(tokens.authenticate(&token), None, "not for the server itself");
        let verified = tokens.verify(&token, &["vault", "other"]).unwrap();
        assert_eq!(verified.audiences, ["vault"]);
        objects.remove("secrets", "web", "s");
        assert_eq!(tokens.verify(&token, &["vault"]), None);
    }
}
