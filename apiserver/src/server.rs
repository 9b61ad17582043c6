//! The server: what it is made of, how it is configured, and the two ways in (in process and over TLS).

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::task::{Context, Poll};

use http::{Request, Response};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;

use crate::access::{Access, Bound, Rbac, ServiceAccountClaims, User};
use crate::admission::Admission;
use crate::catalog::Catalog;
use crate::clock::Clock;
use crate::controllers;
use crate::http::body::Body;
use crate::http::intercept::Interceptor;
use crate::http::life::Lives;
use crate::http::log::{Observer, RequestLog, RequestLogs};
use crate::loopback::Loopback;
use crate::openapi::OpenApi;
use crate::registry::definitions;
use crate::resource::Resource;
use crate::simulate::kubelet::Scripts;
use crate::storage::{Store, Stored};

pub use crate::http::tls::Tls;

/// How much of the workload controllers' world is simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Simulate {
    /// Nothing: Deployments stay as they were written, as on a server that runs alone.
    #[default]
    Off,
    /// The workload controllers run; somebody else plays scheduler and kubelet.
    Controllers,
    /// Controllers, scheduler and kubelet: pods become ready.
    Full,
}

/// What a server runs besides its API. The default is what the recorded server did.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whether RBAC decides who may do what; without it everybody who has a token may do everything.
    pub rbac: bool,
    /// How much of the workload controllers' world is simulated.
    pub simulate: Simulate,
    /// Whether every namespace gets a `default` ServiceAccount and `kube-root-ca.crt`. Roles such as `edit`, which
    /// gather others, are then filled, too: both are the work of a cluster's controller manager.
    pub service_accounts: bool,
    /// Whether Services get Endpoints and EndpointSlices.
    pub endpoints: bool,
    /// Whether the admission plugin OwnerReferencesPermissionEnforcement is on.
    pub owner_references_permission: bool,
    /// How many writes the history remembers.
    pub history: usize,
    /// The certificate authority that clients trust, as PEM: what `kube-root-ca.crt` holds.
    pub cluster_ca: Option<String>,
}

impl Settings {
    /// Whether the controllers that every cluster has keep roles that gather others up to date.
    pub(crate) fn gathers_roles(&self) -> bool {
        self.service_accounts || self.simulate != Simulate::Off
    }

    fn counting(&self) -> Rbac {
        match (self.rbac, self.gathers_roles()) {
            (false, _) => Rbac::Off,
            (true, false) => Rbac::AsWritten,
            (true, true) => Rbac::Gathering,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rbac: true,
            simulate: Simulate::Off,
            service_accounts: false,
            endpoints: false,
            owner_references_permission: false,
            history: 10_000,
            cluster_ca: None,
        }
    }
}

/// Configures a server; see each method for its default.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    settings: Settings,
    token: Option<String>,
    clock: Option<Clock>,
}

impl Builder {
    /// Whether RBAC decides who may do what. Default: true.
    #[must_use]
    pub fn rbac(mut self, on: bool) -> Self {
        self.settings.rbac = on;
        self
    }

    /// The token of user `admin` (uid `admin-uid`, group `system:masters`). Default: a random one.
    #[must_use]
    pub fn token(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self
    }

    /// How much of the workload controllers' world is simulated. Default: [`Simulate::Off`].
    #[must_use]
    pub fn simulate(mut self, simulate: Simulate) -> Self {
        self.settings.simulate = simulate;
        self
    }

    /// Whether namespaces get their `default` ServiceAccount and `kube-root-ca.crt`. Default: false.
    #[must_use]
    pub fn service_accounts(mut self, on: bool) -> Self {
        self.settings.service_accounts = on;
        self
    }

    /// Whether Services get Endpoints and EndpointSlices. Default: false.
    #[must_use]
    pub fn endpoints(mut self, on: bool) -> Self {
        self.settings.endpoints = on;
        self
    }

    /// Whether blockOwnerDeletion needs update on the owner's finalizers. Default: false.
    #[must_use]
    pub fn owner_references_permission(mut self, on: bool) -> Self {
        self.settings.owner_references_permission = on;
        self
    }

    /// How many writes the history remembers. Default: 10 000.
    #[must_use]
    pub fn history(mut self, writes: usize) -> Self {
        self.settings.history = writes;
        self
    }

    /// The certificate authority that clients trust, as PEM, for `kube-root-ca.crt`. Default: none.
    #[must_use]
    pub fn cluster_ca(mut self, pem: &str) -> Self {
        self.settings.cluster_ca = Some(pem.to_owned());
        self
    }

    /// The clock, randomness included. Default: [`Clock::system`].
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Makes the server, with the objects that every cluster starts with. Spawns nothing.
    #[must_use]
    pub fn build(self) -> ApiServer {
        let clock = self.clock.unwrap_or_else(Clock::system);
        let settings = self.settings;
        let store = Store::new(settings.history);
        let admin_token = self.token.unwrap_or_else(|| clock.name_suffix(32));
        let admin = User {
            uid: "admin-uid".to_owned(),
            ..User::new("admin", ["system:masters"])
        };
        let access = Access::new(
            &store,
            &clock,
            settings.counting(),
            BTreeMap::from([(admin_token.clone(), admin)]),
        );
        let admission = Admission::new(
            store.clone(),
            access.authorizer().clone(),
            clock.clone(),
            settings.owner_references_permission,
        );
        let builtin = definitions::builtin();
        let mut defined = definitions::Defined::default();
        let catalog = RwLock::new(Arc::new(definitions::catalog(&store, &builtin, &mut defined)));
        let core = Core {
            open_api: OpenApi::new(store.clone()),
            store,
            access,
            admission,
            admin_token,
            builtin,
            catalog,
            defined: Mutex::new(defined),
            logs: RequestLogs::default(),
            requests: AtomicU64::new(0),
            first: AtomicU64::new(0),
            scripts: Scripts::default(),
            lives: Arc::default(),
            interceptor: RwLock::default(),
            settings,
            clock,
        };
        let core = Arc::new(core);
        crate::registry::bootstrap::install(&core);
        core.first.store(core.store.revision(), Ordering::Relaxed);
        ApiServer { core }
    }
}

/// An API server. Clones are the same server.
#[derive(Clone)]
pub struct ApiServer {
    core: Arc<Core>,
}

impl ApiServer {
    /// Starts to configure a server.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The server as a tower service: no socket, the same code path.
    ///
    /// Every request runs in a task of its own, so a caller that drops the answer's future does not cancel the
    /// request's effect.
    #[must_use]
    pub fn service(&self) -> InProcess {
        InProcess {
            core: Arc::clone(&self.core),
        }
    }

    /// Runs the controllers that the settings ask for. Never returns; drop the future to stop them.
    pub async fn run_controllers(&self) {
        let settings = &self.core.settings;
        let access = self.core.access.clone();
        let make_token = move |account: &Value, secret: &Value| secret_token(&access, account, secret);
        let simulated = settings.simulate != Simulate::Off;
        let settings = controllers::Settings {
            service_accounts: settings.service_accounts || simulated,
            endpoints: settings.endpoints || simulated,
            simulate: settings.simulate,
            cluster_ca: settings.cluster_ca.clone(),
            make_token: Some(Arc::new(make_token)),
        };
        Box::pin(controllers::run(self.loopback(), settings)).await;
    }

    /// Serves HTTPS on the listener until `shutdown` resolves, then ends open watches and lets running requests end.
    pub async fn serve(&self, listener: TcpListener, tls: Tls, shutdown: impl Future<Output = ()> + Send) {
        crate::http::listen::serve(Arc::clone(&self.core), listener, tls, shutdown).await;
    }

    /// Serves HTTPS on one connection, such as one end of a pipe, until either side ends it.
    pub async fn serve_connection(&self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, tls: &Tls) {
        crate::http::listen::one(Arc::clone(&self.core), stream, tls).await;
    }

    /// The way in for the server's own controllers.
    #[must_use]
    pub fn loopback(&self) -> Loopback {
        Loopback::new(Arc::clone(&self.core))
    }

    /// The bearer token of the administrator.
    #[must_use]
    pub fn admin_token(&self) -> String {
        self.core.admin_token.clone()
    }

    /// Makes a bearer token for a user, with what RBAC gives it and these groups (`system:authenticated` is added).
    #[must_use]
    pub fn user_token(&self, user: &str, groups: &[&str]) -> String {
        self.core.access.mint(&User::new(user, groups.iter().copied()))
    }

    /// Lets `interceptor` have a say in every request from now on; `None` takes the last one away.
    pub fn intercept(&self, interceptor: Option<Arc<dyn Interceptor>>) {
        *self.core.interceptor.write().unwrap_or_else(PoisonError::into_inner) = interceptor;
    }

    /// Every request that is answered from now on.
    #[must_use]
    pub fn request_log(&self) -> RequestLog {
        self.core.logs.subscribe()
    }

    /// Tells `observer` of every request, write and watch event from now on.
    pub fn observe(&self, observer: Arc<dyn Observer>) {
        self.core.logs.observe(observer);
    }

    /// What calls webhooks: lets handlers in this process answer for some of them.
    #[must_use]
    pub fn webhooks(&self) -> &crate::admission::webhook::Client {
        self.core.admission.client()
    }

    /// What the pods of simulated workloads are told to do, beside their annotations.
    #[must_use]
    pub fn scripts(&self) -> &Scripts {
        &self.core.scripts
    }

    /// The objects.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.core.store
    }

    /// What is served now.
    #[must_use]
    pub fn catalog(&self) -> Arc<Catalog> {
        self.core.catalog()
    }

    /// The server's clock.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.core.clock
    }

    /// Forgets the history: watches and lists from older revisions answer "expired".
    pub fn compact(&self) {
        self.core.store.compact();
    }

    /// Kills the server and starts it again at once, with what it has stored: every connection breaks, requests under
    /// way end where they stand, carried out or not, and the watch cache starts anew, so that watches cannot go on from
    /// before. The controllers, which are other processes in a real cluster, live on.
    pub fn restart(&self) {
        self.core.store.end_watches();
        self.core.store.restart_watches();
        self.core.lives.end();
    }

    /// Ends every open watch in good order, as a server does that is told to stop.
    pub fn end_watches(&self) {
        self.core.store.end_watches();
    }
}

/// The token that a service account's Secret holds: it lives as long as the Secret.
fn secret_token(access: &Access, account: &Value, secret: &Value) -> String {
    let text = |object: &Value, field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    let bound = Bound {
        claim: "secret",
        name: text(secret, "name"),
        uid: text(secret, "uid"),
    };
    access.tokens().mint_service_account(&ServiceAccountClaims {
        namespace: &text(account, "namespace"),
        name: &text(account, "name"),
        uid: &text(account, "uid"),
        bound: vec![bound],
        audiences: &[],
        expires: jiff::Timestamp::MAX,
    })
}

impl fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiServer")
            .field("settings", &self.core.settings)
            .finish_non_exhaustive()
    }
}

/// The server as a tower service, without a socket. Clones are the same server.
#[derive(Clone)]
pub struct InProcess {
    core: Arc<Core>,
}

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InProcess").finish_non_exhaustive()
    }
}

impl<B> tower::Service<Request<B>> for InProcess
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: fmt::Display + Send,
{
    type Response = Response<Body>;
    /// What a socket would have said: the connection was reset, or refused.
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Response<Body>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let core = Arc::clone(&self.core);
        Box::pin(crate::http::answer(core, request))
    }
}

/// The parts of a server, shared by everything in it.
pub(crate) struct Core {
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) settings: Settings,
    pub(crate) access: Access,
    pub(crate) admission: Admission,
    pub(crate) open_api: OpenApi,
    pub(crate) logs: RequestLogs,
    /// How many requests have come in.
    requests: AtomicU64,
    /// The revision at which the server was ready to serve.
    first: AtomicU64,
    pub(crate) scripts: Scripts,
    pub(crate) lives: Arc<Lives>,
    interceptor: RwLock<Option<Arc<dyn Interceptor>>>,
    admin_token: String,
    builtin: Vec<Arc<Resource>>,
    catalog: RwLock<Arc<Catalog>>,
    /// Held while the catalog is made anew, so that a later state never gives way to an earlier one.
    defined: Mutex<definitions::Defined>,
}

impl Core {
    /// What is served now.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.catalog.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// A number for a request that came in.
    pub(crate) fn next_request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The revision from which on changes were seen by anybody.
    pub(crate) fn first_revision(&self) -> u64 {
        self.first.load(Ordering::Relaxed)
    }

    /// Who has a say in requests, if anybody.
    pub(crate) fn interceptor(&self) -> Option<Arc<dyn Interceptor>> {
        self.interceptor.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether a built-in resource is in the group.
    pub(crate) fn has_builtin_group(&self, group: &str) -> bool {
        self.builtin.iter().any(|resource| resource.group == group)
    }

    /// To be called after every write of an object.
    pub(crate) fn written(&self, resource: &Resource, _: &Stored) {
        if definitions::is_definition(resource) {
            self.refresh_catalog();
        }
    }

    /// To be called after every removal of an object.
    pub(crate) fn removed(&self, resource: &Resource, object: &Stored) {
        if definitions::is_definition(resource) {
            self.refresh_catalog();
            // Whoever watches objects of a kind that is gone has nothing left to wait for.
            self.store.end_watches_of(&object.key.name);
        }
    }

    fn refresh_catalog(&self) {
        let mut defined = self.defined.lock().unwrap_or_else(PoisonError::into_inner);
        let catalog = Arc::new(definitions::catalog(&self.store, &self.builtin, &mut defined));
        *self.catalog.write().unwrap_or_else(PoisonError::into_inner) = catalog;
    }
}
