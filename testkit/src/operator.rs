//! Replicas of an operator: started, stopped, crashed.

use std::fmt;
use std::sync::Arc;

use kubewright::dev::{Installer, service_account_token, transport};
use kubewright::kube;
use kubewright::manager::{LeaderElection, Manager, ManagerError, Options, Shutdown};
use kubewright::manifests::Manifests;
use tokio::task::JoinHandle;

use crate::cluster::TestCluster;
use crate::link::{Crash, Link, Wire};
use crate::requests::Requests;

/// Where operators of a test live.
const NAMESPACE: &str = "default";

/// Configures one replica. [`TestCluster::operator`] makes it; [`OperatorBuilder::start`] starts it.
#[must_use = "a builder does nothing until `start`"]
pub struct OperatorBuilder {
    cluster: TestCluster,
    manager: Manager,
    replica: String,
    options: Options,
    crash: Option<Crash>,
    install: bool,
}

impl OperatorBuilder {
    pub(crate) fn new(cluster: TestCluster, manager: Manager) -> Self {
        Self {
            replica: manager.name().to_owned(),
            cluster,
            manager,
            options: Options::default(),
            crash: None,
            install: true,
        }
    }

    /// Names the replica in the Lease and in the story. Default: the operator's name.
    pub fn replica(mut self, name: impl Into<String>) -> Self {
        self.replica = name.into();
        self
    }

    /// Replicas agree on a leader by a Lease. Default: this one leads at once.
    pub fn leader_election(mut self) -> Self {
        let lease = self.manager.name();
        self.options.leader_election = Some(LeaderElection::new(lease, NAMESPACE, &self.replica));
        self
    }

    /// Watches these namespaces only, and gets rights only there. Default: all.
    pub fn namespaces(mut self, namespaces: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.options.namespaces = namespaces.into_iter().map(Into::into).collect();
        self
    }

    /// Changes whatever else a deployment chooses.
    pub fn options(mut self, change: impl FnOnce(&mut Options)) -> Self {
        change(&mut self.options);
        self
    }

    /// The replica dies at one of its writes. Default: never.
    pub fn crash(mut self, crash: Crash) -> Self {
        self.crash = Some(crash);
        self
    }

    /// Leaves the manifests out: definitions and rights are the test's own. Default: they are installed.
    pub fn without_manifests(mut self) -> Self {
        self.install = false;
        self
    }

    /// Installs the operator's manifests and starts the replica.
    ///
    /// # Panics
    ///
    /// When the server refuses the manifests.
    pub async fn start(self) -> Operator {
        let name = self.manager.name().to_owned();
        if self.install {
            self.install_manifests().await;
        }
        let server = self.cluster.server();
        let token = service_account_token(server, NAMESPACE, &name);
        let wire = Wire::new(self.crash);
        let link = Link::new(transport(server, &token), wire.clone());
        let client = kube::Client::new(link, NAMESPACE);
        let stop = Shutdown::new();
        let env = self.cluster.env().clone();
        let observer = self.cluster.story().of_replica(&self.replica, env.clone());
        let manager = self.manager.env(env).observer(observer);
        let task = tokio::spawn(manager.run(client, self.options, stop.clone()));
        Operator {
            user: format!("system:serviceaccount:{NAMESPACE}:{name}"),
            cluster: self.cluster,
            replica: self.replica,
            wire,
            stop,
            task,
        }
    }

    async fn install_manifests(&self) {
        let installer = Installer::new(
            self.cluster.server().clone(),
            self.cluster.client(),
            "kubewright-testkit",
        );
        let declared = self.manager.declarations().into_iter().cloned();
        let manifests =
            Manifests::new(self.manager.name(), NAMESPACE, declared).namespaces(self.options.namespaces.clone());
        for object in manifests.objects() {
            if let Err(error) = installer.object("the operator's manifests", &object).await {
                panic!("{error}");
            }
        }
    }
}

impl fmt::Debug for OperatorBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OperatorBuilder")
            .field("manager", &self.manager)
            .field("replica", &self.replica)
            .finish_non_exhaustive()
    }
}

/// A running replica.
#[derive(Debug)]
pub struct Operator {
    cluster: TestCluster,
    replica: String,
    user: String,
    wire: Arc<Wire>,
    stop: Shutdown,
    task: JoinHandle<Result<(), ManagerError>>,
}

impl Operator {
    /// The user that it talks to the server as.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The replica's name.
    #[must_use]
    pub fn replica(&self) -> &str {
        &self.replica
    }

    /// The requests made so far by this operator, all replicas of it together.
    #[must_use]
    pub fn requests(&self) -> Requests {
        self.cluster.requests().by(&self.user)
    }

    /// Whether it still runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        !self.task.is_finished() && !self.wire.is_cut()
    }

    /// How many writes this replica sent: Lease and events apart, refused ones included.
    #[must_use]
    pub fn writes_sent(&self) -> u64 {
        self.wire.writes()
    }

    /// Stops it as SIGTERM does: running reconciles end, the Lease is given back.
    ///
    /// # Panics
    ///
    /// When the operator ended with an error.
    pub async fn stop(self) {
        self.stop.trigger();
        let (replica, cluster) = (self.replica.clone(), self.cluster.clone());
        if let Err(error) = self.ended().await {
            panic!("operator {replica} ended with: {error}\n{}", cluster.story().tail(30));
        }
    }

    /// Waits until it ends by itself, and says how.
    ///
    /// # Errors
    ///
    /// What ended it.
    ///
    /// # Panics
    ///
    /// When the framework itself panicked.
    pub async fn ended(self) -> Result<(), ManagerError> {
        match self.task.await {
            Ok(result) => result,
            Err(error) => panic!("operator {} did not end in order: {error}", self.replica),
        }
    }

    /// Kills it as SIGKILL does: from now on nothing that it sends arrives and nothing reaches it. What it holds in
    /// memory stays until the test ends, so that no `Drop` does what a killed process could not.
    pub fn crash(&self) {
        self.wire.cut();
    }
}
