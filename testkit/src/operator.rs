//! Replicas of an operator: started, stopped, crashed.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use kubewright::Env;
use kubewright::dev::{Installer, service_account_token};
use kubewright::env::{Gate, Run};
use kubewright::kube;
use kubewright::manager::{LeaderElection, Manager, ManagerError, Options, Shutdown};
use kubewright::webhook::{Endpoint, Reach, Serving};
use tokio::task::JoinHandle;

use crate::caller;
use crate::clock::ReplicaClock;
use crate::cluster::{Known, TestCluster};
use crate::link::{Crash, Link, Wire};
use crate::requests::Requests;

/// Where operators of a test live.
const NAMESPACE: &str = "default";
/// How long webhooks may take to answer after the start.
const OPEN_WITHIN: Duration = Duration::from_secs(5);

/// Configures one replica. [`TestCluster::operator`] makes it; [`OperatorBuilder::start`] starts it.
#[must_use = "a builder does nothing until `start`"]
pub struct OperatorBuilder {
    cluster: TestCluster,
    manager: Manager,
    replica: String,
    options: Options,
    crash: Option<Crash>,
    install: bool,
    webhooks: Option<Endpoint>,
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
            webhooks: None,
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
    ///
    /// # Panics
    ///
    /// When the write is number 0: writes are counted from 1.
    pub fn crash(mut self, crash: Crash) -> Self {
        let (Crash::BeforeWrite(number) | Crash::AfterWrite(number)) = crash;
        assert!(number > 0, "{crash:?} never comes: the first write is number 1");
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
    pub async fn start(mut self) -> Operator {
        let name = self.manager.name().to_owned();
        let operator = name.clone();
        if !self.manager.webhooks().is_empty() && self.options.webhooks.is_none() {
            let endpoint = Endpoint::new();
            self.options.webhooks = Some(Serving::InProcess(endpoint.clone()));
            self.webhooks = Some(endpoint);
        }
        if self.install {
            self.install_manifests().await;
        }
        let server = self.cluster.server();
        let token = service_account_token(server, NAMESPACE, &name);
        let user = format!("system:serviceaccount:{NAMESPACE}:{name}");
        let gate = Gate::new();
        let wire = Wire::new(gate.clone(), self.crash, self.cluster.story().clone());
        let transport = caller::named(self.cluster.network(), server, &token, &self.replica);
        let link = Link::new(transport, wire.clone());
        let client = kube::Client::new(link, NAMESPACE);
        let stop = Shutdown::new();
        let election = self.options.leader_election.as_ref();
        self.cluster.learn(Known {
            name,
            replicas: vec![(
                self.replica.as_str().into(),
                election.map_or_else(|| self.replica.clone(), |election| election.identity.clone()),
            )],
            declared: self.manager.declarations().into_iter().cloned().collect(),
            lease: election.map(|election| (election.namespace.clone(), election.lease.clone())),
        });
        let shared = self.cluster.env();
        let observer = self.cluster.story().of_replica(&self.replica);
        let clock = ReplicaClock::new(shared.clone());
        let env = Env::new(clock.clone(), shared.next_u64()).gated(gate);
        let manager = self.manager.env(env.clone()).observer(observer);
        let webhooks = self.webhooks.take();
        if let Some(endpoint) = &webhooks {
            let services = self.cluster.webhooks();
            services.add(&self.cluster, &operator, NAMESPACE, endpoint.clone(), Arc::clone(&wire));
        }
        let task = env.spawn("manager", manager.run(client, self.options, stop.clone()));
        if let Some(endpoint) = webhooks {
            // What its users write would be refused before. One that cannot start says so when it is asked how it ended.
            let _ = tokio::time::timeout(OPEN_WITHIN, endpoint.opened()).await;
        }
        Operator {
            user,
            cluster: self.cluster,
            replica: self.replica,
            wire,
            clock,
            stop,
            task,
        }
    }

    async fn install_manifests(&self) {
        let installer = Installer::new(
            self.cluster.server().clone(),
            self.cluster.own_client(),
            "kubewright-testkit",
        );
        let manifests = self
            .manager
            .manifests(NAMESPACE)
            .reach(Reach::InProcess)
            .namespaces(self.options.namespaces.clone());
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
    clock: ReplicaClock,
    stop: Shutdown,
    task: JoinHandle<Result<(), ManagerError>>,
}

impl Operator {
    /// The user that it talks to the server as.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }

    pub(crate) fn cluster(&self) -> &TestCluster {
        &self.cluster
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

    /// Whether it has neither ended nor been killed. A paused replica runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        !self.task.is_finished() && !self.wire.gate().is_dead()
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
    /// When the operator ended with an error, when it was killed, or while it is paused.
    pub async fn stop(self) {
        self.note("is told to stop");
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
    /// When the framework itself panicked; when the replica was killed or is paused, since then it would never end.
    pub async fn ended(self) -> Result<(), ManagerError> {
        let replica = &self.replica;
        match self.wire.gate().run() {
            Run::Running => {}
            Run::Paused => panic!("replica {replica} is paused and would never end: call `resume` first"),
            Run::Dead => panic!("replica {replica} was killed and never ends: drop it, and start another"),
        }
        match self.task.await {
            Ok(result) => result,
            Err(error) => panic!("operator {replica} did not end in order: {error}"),
        }
    }

    /// Kills it as SIGKILL does: from now on nothing that it sends arrives, nothing reaches it, and none of its tasks
    /// runs. What it holds in memory stays until the test ends, so that no `Drop` does what a killed process could
    /// not. Tasks that the operator started with `tokio::spawn` itself run on, but nothing that they send arrives.
    pub fn crash(&self) {
        self.note("is killed");
        self.wire.gate().kill();
    }

    /// Waits until the replica dies where [`OperatorBuilder::crash`] said.
    ///
    /// # Panics
    ///
    /// When it does not die within two minutes of the test's time.
    pub async fn crashed(&self) {
        let what = format!("replica {} comes to the write at which it crashes", self.replica);
        let dead = || std::future::ready(self.wire.gate().is_dead());
        self.cluster.eventually(&what, dead).await;
    }

    /// Freezes it as SIGSTOP does, or a hypervisor, or a long pause for memory: none of its tasks runs, while time and
    /// its timers go on. What it sent before is carried out; answers and events wait for it. Tasks that the operator
    /// started with `tokio::spawn` itself run on, but their requests wait as well.
    ///
    /// The replica's own clocks go on: it can tell from them that it was frozen.
    pub fn pause(&self) {
        self.note("is paused");
        self.wire.gate().pause();
    }

    /// Lets a paused replica go on, as SIGCONT does. All timers that ran out meanwhile are due at once.
    pub fn resume(&self) {
        self.note("goes on");
        self.wire.gate().resume();
    }

    /// Parts it from the server as a broken network does: what it sends is lost on the way and nothing reaches it, but
    /// no connection is closed. Its own timeouts are all it has. What still waits when [`Operator::reconnect`] is
    /// called arrives then, late, as retransmitted packets do.
    pub fn partition(&self) {
        self.note("is parted from the server");
        self.wire.network().pause();
    }

    /// Ends a partition.
    pub fn reconnect(&self) {
        self.note("reaches the server again");
        self.wire.network().resume();
    }

    /// Whether it is parted from the server.
    #[must_use]
    pub fn is_partitioned(&self) -> bool {
        self.wire.is_partitioned()
    }

    /// Sets its wall clock forward, or back where `by` is negative, as an administrator or NTP may; again and again
    /// adds up. The clock that Leases are judged by (`CLOCK_BOOTTIME`) is not moved by that, nor are timers.
    pub fn jump_clock(&self, by: SignedDuration) {
        self.note(&format!("has its clock moved by {by:#}"));
        self.clock.jump(by);
    }

    /// Writes down what the test does to it.
    fn note(&self, what: &str) {
        self.cluster.story().actor(&self.replica, what);
    }
}
