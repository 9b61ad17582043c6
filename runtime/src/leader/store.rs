//! Where the Lease is kept.

use futures::future::BoxFuture;
use serde_json::Value;

use crate::client::{ClientError, Origin, Transport};
use crate::key::ObjectKey;
use crate::kind::Kind;

/// Why a request for the Lease failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeaseError {
    /// There is no Lease of that name.
    Missing,
    /// Another replica was faster.
    Conflict,
    /// Anything else, in one line.
    Other(String),
}

/// Reads and writes one Lease. Writes are not fenced: they are what the fence depends on.
pub trait LeaseStore: Send + Sync + 'static {
    /// The Lease as it is.
    fn get(&self) -> BoxFuture<'_, Result<Value, LeaseError>>;

    /// Creates the Lease; `Conflict` where it exists.
    fn create(&self, lease: Value) -> BoxFuture<'_, Result<Value, LeaseError>>;

    /// Replaces the Lease; `Conflict` where its resourceVersion is not the newest.
    fn replace(&self, lease: Value) -> BoxFuture<'_, Result<Value, LeaseError>>;
}

/// The Lease on the API server.
#[derive(Clone)]
pub struct ServerLease {
    transport: Transport,
    origin: Origin,
    kind: Kind,
    key: ObjectKey,
    manager: String,
}

impl ServerLease {
    /// The Lease of that namespace and name; `manager` is the field manager of its writes.
    #[must_use]
    pub fn new(transport: Transport, namespace: &str, name: &str, manager: impl Into<String>) -> Self {
        Self {
            transport,
            origin: Origin::part("leader"),
            kind: Kind::new("coordination.k8s.io", "v1", "Lease", "leases", true),
            key: ObjectKey::new(namespace, name),
            manager: manager.into(),
        }
    }
}

impl LeaseStore for ServerLease {
    fn get(&self) -> BoxFuture<'_, Result<Value, LeaseError>> {
        Box::pin(async move {
            let answer = self.transport.get(&self.origin, &self.kind, &self.key).await;
            match answer {
                Err(error) if error.is_not_found() && !error.is_kind_missing() => Err(LeaseError::Missing),
                answer => decode(answer),
            }
        })
    }

    fn create(&self, lease: Value) -> BoxFuture<'_, Result<Value, LeaseError>> {
        Box::pin(async move {
            let body = lease.to_string().into_bytes();
            let answer = self
                .transport
                .create(&self.origin, &self.kind, &self.key, body, &self.manager)
                .await;
            match answer {
                Err(error) if error.is_not_found() && !error.is_kind_missing() => Err(LeaseError::Other(format!(
                    "namespace `{}` does not exist: create it, or choose another for the Lease",
                    self.key.namespace
                ))),
                answer => decode(answer),
            }
        })
    }

    fn replace(&self, lease: Value) -> BoxFuture<'_, Result<Value, LeaseError>> {
        Box::pin(async move {
            let body = lease.to_string().into_bytes();
            let answer = self
                .transport
                .replace(&self.origin, &self.kind, &self.key, None, body, &self.manager)
                .await;
            decode(answer)
        })
    }
}

fn decode(answer: Result<bytes::Bytes, ClientError>) -> Result<Value, LeaseError> {
    let bytes = match answer {
        Ok(bytes) => bytes,
        Err(error) if error.is_conflict() || error.is_already_exists() => return Err(LeaseError::Conflict),
        // Deleted between our read and our write.
        Err(error) if error.is_not_found() && !error.is_kind_missing() => return Err(LeaseError::Missing),
        Err(error) => return Err(LeaseError::Other(error.to_string())),
    };
    serde_json::from_slice(&bytes).map_err(|error| LeaseError::Other(format!("the Lease cannot be read: {error}")))
}

impl std::fmt::Debug for ServerLease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerLease")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
