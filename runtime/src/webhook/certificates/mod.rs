//! Where the webhooks' certificates come from: issued by the operator itself, or files that something else writes.
//!
//! Both ways end in an [`Identity`], which the server shows. Issued ones are agreed on by all replicas through one Secret;
//! files are looked at again every few seconds, which serves cert-manager's mounted Secrets as well.

mod authority;
mod files;
mod inject;
mod issued;
mod plan;
mod store;

use std::path::PathBuf;

use super::identity::Identity;
use crate::env::Env;
use crate::shutdown::Shutdown;

pub use inject::Targets;
pub use issued::Issuer;
pub use plan::Policy;
pub use store::secret_name;

/// Where certificates come from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Certificates {
    /// From a certificate authority of the operator's own, kept in a Secret.
    Issued(Policy),
    /// From `tls.crt` and `tls.key` in a directory, read again whenever they change.
    Files(PathBuf),
}

/// What issuing needs to know of the operator.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub(crate) client: kube::Client,
    pub(crate) operator: String,
    pub(crate) namespace: String,
    /// Names and addresses that the certificate is for.
    pub(crate) names: Vec<String>,
    pub(crate) targets: Targets,
}

impl Certificates {
    /// Keeps `identity` up to date until `stop`.
    ///
    /// # Cancel safety
    ///
    /// Safe: what was written stays.
    pub(crate) async fn run(self, around: Surroundings, identity: Identity, env: Env, stop: Shutdown) {
        let work = async {
            match self {
                Self::Issued(policy) => {
                    let issuer = Issuer::new(around.client, &around.operator, &around.namespace, around.names, policy);
                    issuer.run(around.targets, identity, env).await;
                }
                Self::Files(directory) => files::watch(&directory, &identity).await,
            }
        };
        tokio::select! {
            biased;
            () = stop.wait() => {}
            () = work => {}
        }
    }
}
