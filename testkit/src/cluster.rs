//! A cluster for one test: an API server in the process, and ways to talk to it.

use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt as _;
use http::{Method, Request, header};
use jiff::Timestamp;
use kubewright::declaration::Declared;
use kubewright::dev::Installer;
use kubewright::dev::apiserver::Gvr;
use kubewright::dev::apiserver::clock::Clock;
use kubewright::dev::apiserver::server::{ApiServer, Simulate};
use kubewright::kube;
use kubewright::kube::core::crd::CustomResourceExt;
use kubewright::{Env, Kind, Manager, Object, ObjectKey};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::caller;
use crate::failure;
use crate::faults::{Effect, Fault, Faults};
use crate::latency::{Latency, Network};
use crate::operator::{Operator, OperatorBuilder};
use crate::requests::Requests;
use crate::story::{Role, Story};
use crate::webhooks::Webhooks;
use crate::{random, seeded};

/// Configures a [`TestCluster`]; see each method for its default.
#[derive(Clone)]
#[must_use = "a builder does nothing until `start`"]
pub struct Builder {
    seed: u64,
    now: Timestamp,
    latency: Latency,
    real_time: bool,
    simulate: Simulate,
    history: Option<usize>,
    definitions: Vec<Value>,
    faults: Vec<Inject>,
}

/// A fault that waits for its cluster.
type Inject = Arc<dyn Fn(&TestCluster) + Send + Sync>;

impl Default for Builder {
    fn default() -> Self {
        let run = seeded::current();
        let environment = || seeded::seed_of_environment().unwrap_or(seeded::DEFAULT_SEED);
        Self {
            seed: run.as_ref().map_or_else(environment, |run| run.seed),
            now: run.as_ref().map_or_else(seeded::start, |run| run.now()),
            latency: run.as_ref().map(|run| run.latency).unwrap_or_default(),
            real_time: false,
            simulate: Simulate::Full,
            history: None,
            definitions: Vec::new(),
            faults: Vec::new(),
        }
    }
}

impl Builder {
    /// What all randomness follows from: names, uids, jitter, latency. Default: the test's seed; outside of
    /// `#[kubewright_testkit::test]` that is `KUBEWRIGHT_SEED` of the environment, else 1.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The wall-clock time at the start. Default: the test's time now, which begins at midnight UTC of the first of
    /// January 2026.
    pub fn now(mut self, now: Timestamp) -> Self {
        self.now = now;
        self
    }

    /// How long requests, answers and events are on their way. Default: what the test's attribute says, or else
    /// [`Latency::default`].
    pub fn latency(mut self, latency: Latency) -> Self {
        self.latency = latency;
        self
    }

    /// How much of the workload controllers' world is simulated. Default: all of it; pods become ready.
    pub fn simulate(mut self, simulate: Simulate) -> Self {
        self.simulate = simulate;
        self
    }

    /// How many writes the server's history remembers; watches from before answer "expired". Default: the server's.
    pub fn history(mut self, writes: usize) -> Self {
        self.history = Some(writes);
        self
    }

    /// Installs a custom kind before anything else happens. Default: none; [`TestCluster::run`] installs the kinds of
    /// the operator's controllers.
    ///
    /// # Panics
    ///
    /// When the definition is no JSON, which no derive makes.
    pub fn crd<K: CustomResourceExt>(mut self) -> Self {
        let definition = serde_json::to_value(K::crd());
        self.definitions
            .push(definition.expect("a CustomResourceDefinition is plain JSON"));
        self
    }

    /// Starts the cluster, and an operator in it; see [`TestCluster::run`].
    ///
    /// # Panics
    ///
    /// When the server refuses the operator's manifests.
    pub async fn run(self, manager: Manager) -> (TestCluster, Operator) {
        let cluster = self.start();
        let operator = cluster.run(manager).await;
        (cluster, operator)
    }

    /// Puts a fault into force before anything runs; may be given several times. [`TestCluster::faults`] has their
    /// handles. Default: none.
    #[allow(private_bounds, reason = "the two kinds of effects are all there are")]
    pub fn fault<E: Effect + Send + Sync + 'static>(mut self, fault: Fault<E>) -> Self {
        self.faults.push(Arc::new(move |cluster| {
            cluster.inject(fault.clone());
        }));
        self
    }

    /// Runs on the machine's time, for a test that must use a real socket, such as one that asks the operator's own
    /// HTTP server. Nothing in it has an order that could be had again, and its waits are real. Default: refused.
    pub fn real_time(mut self) -> Self {
        self.real_time = true;
        self
    }

    /// Starts the cluster: RBAC, OwnerReferencesPermissionEnforcement and every cluster's controllers are on.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime; where tokio's clock runs by itself, since the order of things would be the machine's;
    /// and when the server refuses a definition.
    #[must_use]
    pub fn start(self) -> TestCluster {
        assert!(
            self.real_time || is_paused(),
            "a TestCluster needs paused time, and this runtime's clock runs: put `#[kubewright_testkit::test]` on the \
             test (or build the runtime with `start_paused(true)`); where the test must use real sockets, write \
             `TestCluster::builder().real_time()`"
        );
        let mut server = ApiServer::builder()
            .clock(Clock::new(self.now, self.seed))
            .simulate(self.simulate)
            .service_accounts(true)
            .endpoints(true)
            .owner_references_permission(true);
        if let Some(writes) = self.history {
            server = server.history(writes);
        }
        let server = server.build();
        for definition in self.definitions {
            define(&server, definition);
        }
        let env = Env::seeded(self.now, random::seed_of(self.seed, "the operators"));
        let story = Story::new(env.clone());
        story.introduce(caller::TEST, Role::Test);
        server.observe(story.of_server());
        let faults = Faults::new(story.clone(), self.seed);
        server.intercept(Some(Arc::new(faults.clone())));
        let controllers = tokio::spawn({
            let server = server.clone();
            async move { server.run_controllers().await }
        });
        if let Some(run) = seeded::current() {
            let story = story.clone();
            run.add_story(move || story.to_string());
        }
        let network = Network::new(self.seed, self.latency);
        let client = caller::client(&network, &server, &server.admin_token(), caller::TEST);
        let cluster = TestCluster(Arc::new(Inner {
            faults,
            env,
            installer: Installer::new(server.clone(), client.clone(), "kubectl"),
            story,
            operators: Mutex::default(),
            webhooks: Webhooks::default(),
            network,
            server,
            client,
            controllers,
        }));
        for inject in &self.faults {
            inject(&cluster);
        }
        cluster
    }
}

/// A cluster for one test. Clones are the same cluster; it ends with the last one.
#[derive(Clone)]
pub struct TestCluster(Arc<Inner>);

struct Inner {
    faults: Faults,
    env: Env,
    server: ApiServer,
    client: kube::Client,
    installer: Installer,
    story: Story,
    operators: Mutex<Vec<Known>>,
    network: Network,
    webhooks: Webhooks,
    controllers: JoinHandle<()>,
}

/// What is known of an operator that was started in the cluster.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) name: String,
    /// Its replicas by their names in the story, each with its identity in the Lease.
    pub(crate) replicas: Vec<(Arc<str>, String)>,
    pub(crate) declared: Vec<Declared>,
    /// Namespace and name of its Lease, where its replicas elect a leader.
    pub(crate) lease: Option<(String, String)>,
}

impl TestCluster {
    /// Starts to configure a cluster.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Starts a cluster with the builder's defaults.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    #[must_use]
    pub fn start() -> Self {
        Self::builder().start()
    }

    pub(crate) fn faults_in_force(&self) -> &Faults {
        &self.0.faults
    }

    /// The test's own client: its reads leave no line in the story.
    pub(crate) fn own_client(&self) -> kube::Client {
        self.0.client.clone()
    }

    /// A client with all rights. The story calls it `client`; faults and oracles take it for an operator, which makes
    /// it fit for operators written on kube alone.
    #[must_use]
    pub fn client(&self) -> kube::Client {
        self.client_named("client")
    }

    /// As [`TestCluster::client`], under another name in the story: one for each replica of an operator, say.
    #[must_use]
    pub fn client_named(&self, name: &str) -> kube::Client {
        self.0.story.introduce(name, Role::Replica);
        let Inner { server, network, .. } = &*self.0;
        caller::client(network, server, &server.admin_token(), name)
    }

    /// A client of another user; RBAC decides what it may do. The story calls it by the user's name, less what stands
    /// before its last colon.
    #[must_use]
    pub fn client_as(&self, user: &str, groups: &[&str]) -> kube::Client {
        let account = user.strip_prefix("system:serviceaccount:");
        let name = user.rsplit(':').next().unwrap_or(user);
        self.0
            .story
            .introduce(name, if account.is_some() { Role::Replica } else { Role::Actor });
        let Inner { server, network, .. } = &*self.0;
        caller::client(network, server, &server.user_token(user, groups), name)
    }

    /// The server, for what has no helper here.
    #[must_use]
    pub fn server(&self) -> &ApiServer {
        &self.0.server
    }

    /// The clock and the randomness that the operators of this cluster share.
    #[must_use]
    pub fn env(&self) -> &Env {
        &self.0.env
    }

    /// Installs a custom kind. [`TestCluster::run`] does it for the kinds of the operator's controllers.
    ///
    /// # Panics
    ///
    /// When the server refuses the definition.
    pub async fn install<K: CustomResourceExt>(&self) {
        let definition = serde_json::to_value(K::crd()).expect("a CustomResourceDefinition is plain JSON");
        self.apply(&definition).await;
    }

    /// Installs the operator's manifests and runs it as its own ServiceAccount, without leader election.
    ///
    /// # Panics
    ///
    /// When the server refuses the manifests.
    pub async fn run(&self, manager: Manager) -> Operator {
        self.operator(manager).start().await
    }

    /// Configures a replica of an operator: identity, leader election, namespaces.
    pub fn operator(&self, manager: Manager) -> OperatorBuilder {
        OperatorBuilder::new(self.clone(), manager)
    }

    /// Applies every object of a YAML text, as `kubectl apply --server-side` does; answers what the server stored.
    ///
    /// # Panics
    ///
    /// When the text is no YAML or the server refuses an object.
    pub async fn apply_yaml(&self, yaml: &str) -> Vec<Value> {
        match self.try_apply_yaml(yaml).await {
            Ok(stored) => stored,
            Err(error) => panic!("apply_yaml: {error}"),
        }
    }

    /// As [`TestCluster::apply_yaml`], for objects that are meant to be refused.
    ///
    /// # Errors
    ///
    /// What the server said about the first object that it refused.
    pub async fn try_apply_yaml(&self, yaml: &str) -> Result<Vec<Value>, kubewright::dev::InstallError> {
        self.0.installer.yaml("the test's YAML", yaml).await
    }

    /// Applies one object.
    ///
    /// # Panics
    ///
    /// When the server refuses it.
    pub async fn apply(&self, object: &Value) -> Value {
        match self.0.installer.object("the test's object", object).await {
            Ok(stored) => stored,
            Err(error) => panic!("apply: {error}"),
        }
    }

    /// The object of that name, `namespace/name` or `name` (namespace `default`), if there is one.
    ///
    /// # Panics
    ///
    /// When the request fails for another reason than that there is no such object.
    pub async fn get<K: Object>(&self, name: &str) -> Option<K> {
        match self.send::<K, K>(Method::GET, name, None).await {
            Ok(object) => Some(object),
            Err(kube::Error::Api(status)) if status.code == 404 && status.reason == "NotFound" => None,
            Err(error) => panic!("get {} {name}: {error}", Kind::of::<K>()),
        }
    }

    /// All objects of a kind, in all namespaces, by namespace and name.
    ///
    /// # Panics
    ///
    /// When the request fails, as it does for a kind that is not installed.
    pub async fn list<K: Object>(&self) -> Vec<K> {
        let path = Kind::of::<K>().collection_path(None);
        let request = Request::get(path).body(Vec::new()).expect("a kind's path is a URL");
        match self.0.client.request::<kube::core::ObjectList<K>>(request).await {
            Ok(list) => list.items,
            Err(error) => panic!("list {}: {error}", Kind::of::<K>()),
        }
    }

    /// Changes an object with a JSON merge patch.
    ///
    /// # Panics
    ///
    /// When the server refuses it.
    pub async fn patch<K: Object>(&self, name: &str, patch: Value) -> K {
        match self.send::<K, K>(Method::PATCH, name, Some(patch)).await {
            Ok(object) => object,
            Err(error) => panic!("patch {} {name}: {error}", Kind::of::<K>()),
        }
    }

    /// Deletes an object; finalizers and dependents take their time.
    ///
    /// # Panics
    ///
    /// When there is no such object or the server refuses.
    pub async fn delete<K: Object>(&self, name: &str) {
        if let Err(error) = self.send::<K, Value>(Method::DELETE, name, None).await {
            panic!("delete {} {name}: {error}", Kind::of::<K>());
        }
    }

    /// Every request that the server answered so far.
    #[must_use]
    pub fn requests(&self) -> Requests {
        self.0.story.all_requests()
    }

    /// What time it is in the cluster.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.0.env.now()
    }

    /// Remembers a replica that starts, beside the others of its operator.
    pub(crate) fn learn(&self, replica: Known) {
        let mut operators = self.0.operators.lock().unwrap_or_else(PoisonError::into_inner);
        match operators.iter_mut().find(|known| known.name == replica.name) {
            Some(known) => {
                known.replicas.extend(replica.replicas);
                known.declared = replica.declared;
                known.lease = replica.lease.or(known.lease.take());
            }
            None => operators.push(replica),
        }
    }

    /// The operators that were started.
    pub(crate) fn all_known(&self) -> Vec<Known> {
        self.0.operators.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The operator that a replica is of.
    pub(crate) fn known(&self, replica: &str) -> Option<Known> {
        let is_of = |known: &Known| known.replicas.iter().any(|(name, _)| **name == *replica);
        self.all_known().into_iter().find(is_of)
    }

    /// What happened in this cluster, in order.
    #[must_use]
    pub fn story(&self) -> &Story {
        &self.0.story
    }

    /// What lies between clients and the server.
    pub(crate) fn network(&self) -> &Network {
        &self.0.network
    }

    /// The webhooks of the operators.
    pub(crate) fn webhooks(&self) -> &Webhooks {
        &self.0.webhooks
    }

    async fn send<K: Object, T: DeserializeOwned>(
        &self,
        method: Method,
        name: &str,
        body: Option<Value>,
    ) -> Result<T, kube::Error> {
        let key = key::<K>(name);
        let path = format!("{}/{}", Kind::of::<K>().collection_path(key.namespace()), key.name);
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::CONTENT_TYPE, "application/merge-patch+json")
            .body(body.map(|body| body.to_string().into_bytes()).unwrap_or_default())
            .map_err(kube::Error::HttpError)?;
        self.0.client.request(request).await
    }
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder")
            .field("seed", &self.seed)
            .field("now", &self.now)
            .field("latency", &self.latency)
            .field("simulate", &self.simulate)
            .field("history", &self.history)
            .field("faults", &self.faults.len())
            .finish_non_exhaustive()
    }
}

/// Whether tokio's clock stands still while anything runs. It cannot be asked, but it can be looked at: a clock that
/// runs moves within far fewer looks than these.
fn is_paused() -> bool {
    let first = Instant::now();
    (0..1000).all(|_| Instant::now() == first)
}

impl Drop for Inner {
    fn drop(&mut self) {
        failure::tell_at_the_end(&self.story);
        self.controllers.abort();
    }
}

impl std::fmt::Debug for TestCluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TestCluster")
            .field("server", &self.0.server)
            .finish_non_exhaustive()
    }
}

/// Installs a definition before anybody can be there to see it.
fn define(server: &ApiServer, definition: Value) {
    let definitions = Gvr::new("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    let loopback = server.loopback();
    let created = loopback.create(&definitions, "", definition).now_or_never();
    match created.expect("no webhook is there yet that the server could wait for") {
        Ok(_) => {}
        Err(error) => panic!("crd: {}", error.message),
    }
}

/// `namespace/name`; `name` alone is in `default`, or cluster-scoped where the kind is.
pub(crate) fn key<K: Object>(name: &str) -> ObjectKey {
    match name.split_once('/') {
        Some((namespace, name)) => ObjectKey::new(namespace, name),
        None if Kind::of::<K>().namespaced() => ObjectKey::new("default", name),
        None => ObjectKey::cluster_scoped(name),
    }
}
