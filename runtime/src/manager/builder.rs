//! Registration: what a manager is made of before it runs.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::error::ManagerError;
use super::migrate::Migrate;
use super::options::Options;
use super::runnable::Runnable;
use crate::controller::AnyController;
use crate::declaration::{Declaration, Declared, InvalidDeclaration};
use crate::diagnostics::Observer;
use crate::env::Env;
use crate::grants::Declare;
use crate::health::Health;
use crate::kind::Kind;
use crate::manifests::Manifests;
use crate::metrics::Metrics;
use crate::object::Object;
use crate::shutdown::Shutdown;
use crate::webhook::{self, Registered, Webhooks};

/// An operator: its controllers, and what they share.
///
/// Registration is by value and ends when the manager runs, so nothing can be added to a running one.
pub struct Manager {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) env: Env,
    pub(super) metrics: Metrics,
    pub(super) health: Health,
    pub(super) controllers: Vec<Box<dyn AnyController>>,
    pub(super) invalid: Vec<InvalidDeclaration>,
    pub(super) runnables: Vec<Arc<dyn Runnable>>,
    pub(super) observers: Vec<Arc<dyn Observer>>,
    pub(super) webhooks: Vec<Registered>,
    pub(super) migrated: Vec<Kind>,
}

impl Manager {
    /// An operator of that name and without controllers yet. The name is the prefix of field managers, the default
    /// name of the Lease, and the user agent: keep it stable.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: "0".to_owned(),
            env: Env::system(),
            metrics: Metrics::new(),
            health: Health::new(),
            controllers: Vec::new(),
            invalid: Vec::new(),
            runnables: Vec::new(),
            observers: Vec::new(),
            webhooks: Vec::new(),
            migrated: Vec::new(),
        }
    }

    /// The operator's version, for the user agent. Default: `0`. Most pass `env!("CARGO_PKG_VERSION")`.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// Adds a controller. Names are unique per manager; two controllers may share a kind.
    #[must_use]
    pub fn controller<C: Declare>(mut self, controller: C) -> Self {
        match Declaration::of().erase(controller) {
            Ok(controller) => self.controllers.push(controller),
            Err(invalid) => self.invalid.push(invalid),
        }
        self
    }

    /// Adds work of the author's own.
    #[must_use]
    pub fn runnable(mut self, runnable: impl Runnable) -> Self {
        self.runnables.push(Arc::new(runnable));
        self
    }

    /// Adds webhooks: a type with `#[webhooks(…)]`, or one that implements [`Webhooks`] by hand. They run on every
    /// replica.
    #[must_use]
    pub fn webhook<W: Webhooks + Send + Sync + 'static>(mut self, webhooks: W) -> Self {
        self.webhooks.push(webhook::Declaration::of().erase(webhooks));
        self
    }

    /// Rewrites what is stored in an older version of `K`, whenever the version that is stored has changed, and then says
    /// so in the definition's `status.storedVersions`. Runs on the leader: 20 objects a second, and after a restart from
    /// where it was.
    #[must_use]
    pub fn migrate_storage<K: Object + kube::CustomResourceExt>(mut self) -> Self {
        let kind = Kind::of::<K>();
        self.runnables.push(Arc::new(Migrate::new(&self.name, kind.clone())));
        self.migrated.push(kind);
        self
    }

    /// Adds someone who is told of every run.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observers.push(observer);
        self
    }

    /// Replaces time and randomness. Default: [`Env::system`].
    #[must_use]
    pub fn env(mut self, env: Env) -> Self {
        self.env = env;
        self
    }

    /// The metrics that this manager counts; register your own there.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// What the probes of this manager answer; add sections of your own to `/statusz`, or hold back readiness.
    #[must_use]
    pub fn health(&self) -> &Health {
        &self.health
    }

    /// The operator's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the controllers declare, in order of registration.
    #[must_use]
    pub fn declarations(&self) -> Vec<&Declared> {
        self.controllers.iter().map(|c| c.declared()).collect()
    }

    /// What the webhooks declare, in order of registration.
    #[must_use]
    pub fn webhooks(&self) -> Vec<webhook::Declared> {
        self.webhooks.iter().map(|webhook| webhook.declared.clone()).collect()
    }

    /// What has to be in the cluster before the operator runs, for one whose pods are in `namespace`.
    pub fn manifests(&self, namespace: impl Into<String>) -> Manifests {
        let declared = self.declarations().into_iter().cloned();
        Manifests::new(&self.name, namespace, declared)
            .webhooks(self.webhooks())
            .migrates(self.migrated.clone())
    }

    /// Finds mistakes of registration, so that commands like `manifests` can report them without a cluster.
    ///
    /// # Errors
    ///
    /// The first mistake: a name used twice, a declaration that makes no sense, nothing to run.
    pub fn check(&self) -> Result<(), ManagerError> {
        if let Some(invalid) = self.invalid.first() {
            return Err(invalid.clone().into());
        }
        if self.controllers.is_empty() && self.runnables.is_empty() && self.webhooks.is_empty() {
            return Err(ManagerError::Nothing);
        }
        let mut names = BTreeSet::new();
        for declared in self.declarations() {
            declared.check()?;
            if !names.insert(&declared.name) {
                return Err(ManagerError::DuplicateController {
                    name: declared.name.clone(),
                });
            }
        }
        let mut judged = BTreeSet::new();
        for webhook in &self.webhooks {
            webhook.declared.check()?;
            if !judged.insert(&webhook.declared.kind) {
                return Err(ManagerError::DuplicateWebhooks {
                    kind: webhook.declared.kind.to_string(),
                });
            }
        }
        Ok(())
    }

    /// Finds workers that are set for a controller that there is not.
    fn check_workers(&self, options: &Options) -> Result<(), ManagerError> {
        let names: BTreeSet<&str> = self.declarations().iter().map(|declared| &*declared.name).collect();
        match options.workers.keys().find(|name| !names.contains(&***name)) {
            None => Ok(()),
            Some(name) => {
                let names: Vec<&str> = names.into_iter().collect();
                Err(ManagerError::Options(format!(
                    "there is no controller `{name}` to give workers to: controllers are {}",
                    names.join(", ")
                )))
            }
        }
    }

    /// Runs until `stop` is triggered, then drains. See the module's documentation for the order.
    ///
    /// # Errors
    ///
    /// What kept it from starting, or ended it without being asked.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops running reconciles where they stand and does not give the Lease back; trigger `stop`
    /// instead.
    pub async fn run(self, client: kube::Client, options: Options, stop: Shutdown) -> Result<(), ManagerError> {
        self.check()?;
        self.check_workers(&options)?;
        super::run::run(self, client, options, stop).await
    }
}

impl fmt::Debug for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let controllers: Vec<&str> = self.controllers.iter().map(|c| &*c.declared().name).collect();
        f.debug_struct("Manager")
            .field("name", &self.name)
            .field("controllers", &controllers)
            .finish_non_exhaustive()
    }
}
