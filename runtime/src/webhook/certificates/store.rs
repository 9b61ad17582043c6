//! The Secret through which replicas agree.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::PostParams;
use kube::{Api, Client};

use super::plan::State;

const STATE: &str = "state.json";
/// For people and other programs: what to trust.
const BUNDLE: &str = "ca.crt";

/// The name of the Secret that holds an operator's certificate authority.
#[must_use]
pub fn secret_name(operator: &str) -> String {
    format!("{operator}-webhook-certificates")
}

/// The Secret of one operator.
pub(super) struct Store {
    secrets: Api<Secret>,
    name: String,
    operator: String,
}

/// What became of a write.
pub(super) enum Written {
    Done,
    /// Somebody else wrote: read again.
    Conflict,
}

impl Store {
    pub(super) fn new(client: Client, operator: &str, namespace: &str) -> Self {
        Self {
            secrets: Api::namespaced(client, namespace),
            name: secret_name(operator),
            operator: operator.to_owned(),
        }
    }

    /// The Secret as it is, with the state in it; a state that cannot be read is none.
    pub(super) async fn read(&self) -> kube::Result<(Option<Secret>, Option<State>)> {
        let secret = self.secrets.get_opt(&self.name).await?;
        let state = secret.as_ref().and_then(|secret| secret.data.as_ref()?.get(STATE));
        let state = state.and_then(|state| match serde_json::from_slice(&state.0) {
            Ok(state) => Some(state),
            Err(error) => {
                tracing::warn!(secret = self.name, %error, "the webhooks' certificates cannot be read and are made anew");
                None
            }
        });
        Ok((secret, state))
    }

    /// Writes the state, unless the Secret is no longer what was read.
    pub(super) async fn write(&self, read: Option<Secret>, state: &State) -> kube::Result<Written> {
        let mut secret = read.clone().unwrap_or_default();
        secret.metadata.name = Some(self.name.clone());
        let labels = secret.metadata.labels.get_or_insert_default();
        labels.insert("app.kubernetes.io/name".to_owned(), self.operator.clone());
        labels.insert("app.kubernetes.io/managed-by".to_owned(), "kubewright".to_owned());
        let text = serde_json::to_vec(state).map_err(kube::Error::SerdeError)?;
        let data = secret.data.get_or_insert_default();
        data.insert(STATE.to_owned(), ByteString(text));
        data.insert(BUNDLE.to_owned(), ByteString(state.bundle().into_bytes()));
        let written = match read {
            None => self.secrets.create(&PostParams::default(), &secret).await,
            Some(_) => self.secrets.replace(&self.name, &PostParams::default(), &secret).await,
        };
        match written {
            Ok(_) => Ok(Written::Done),
            // 404: it was deleted meanwhile.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(Written::Conflict),
            Err(error) => Err(error),
        }
    }
}
