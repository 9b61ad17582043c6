//! The embedded API server behind the operator's `dev` command, and what tests share with it.
//!
//! kubectl talks to the server over TLS on a real socket; the operator talks to it in process, as its own
//! ServiceAccount with exactly the rights that its manifests give it, so that a missing permission shows here first.

mod connect;
mod console;
mod install;
mod kubeconfig;
mod webhooks;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kubewright_apiserver::server::{ApiServer, Simulate, Tls};
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep, timeout};

use crate::cli::{DevArgs, DevWebhooks, Failure, Logs, stop_on_signals};
use crate::manager::{LeaderElection, Manager, Options, Shutdown};
use crate::webhook::{CERTIFICATES, Endpoint, Reach, Serving, TlsOptions, service_name};

pub use connect::{connect, service_account_token, transport};
use console::Console;
pub use install::{InstallError, Installer};
use kubeconfig::Kubeconfig;

pub use kubewright_apiserver as apiserver;

/// How long running reconciles may take to end after Ctrl-C.
const STOP_WITHIN: Duration = Duration::from_millis(800);

/// How long webhooks may take to be ready before samples are applied.
const WEBHOOKS_WITHIN: Duration = Duration::from_secs(10);

/// Runs the operator against an embedded server until a signal stops it.
pub(crate) async fn run(manager: Manager, args: DevArgs) -> Result<(), Failure> {
    Logs::for_people(args.logs, "warn,kube_client=off").start()?;
    let listener = TcpListener::bind(args.listen).await.map_err(|e| {
        Failure::new(format!(
            "cannot listen on {}: {e}: choose another address with --listen",
            args.listen
        ))
    })?;
    let address = listener.local_addr().map_err(Failure::other)?;
    let tls = Tls::self_signed(&[&address.ip().to_string()]).map_err(Failure::other)?;
    let url = format!("https://{address}");

    let server = ApiServer::builder()
        .simulate(if args.no_simulate {
            Simulate::Off
        } else {
            Simulate::Full
        })
        .service_accounts(true)
        .endpoints(true)
        .owner_references_permission(true)
        .build();
    let path = args
        .write_kubeconfig
        .unwrap_or_else(|| Kubeconfig::default_path(manager.name()));
    let kubeconfig =
        Kubeconfig::write(&path, &url, tls.certificate(), &server.admin_token()).map_err(Failure::other)?;

    let stop = Shutdown::new();
    tokio::spawn(stop_on_signals(stop.clone()));
    let closing = Shutdown::new();
    let controllers = tokio::spawn({
        let server = server.clone();
        async move { server.run_controllers().await }
    });
    let sockets = tokio::spawn({
        let (server, closing) = (server.clone(), closing.clone());
        async move { server.serve(listener, tls, async move { closing.wait().await }).await }
    });

    let dev = Dev {
        server,
        namespace: args.namespace,
        apply: args.apply,
        keep_going: args.keep_going,
        metrics: args.metrics.0,
        health: args.health.0,
        webhooks: args.webhooks,
    };
    let outcome = dev.run(manager, &url, &kubeconfig, stop).await;
    closing.trigger();
    // Open watches of kubectl end with the server; nobody waits for a client that does not read.
    let _ = timeout(Duration::from_millis(100), sockets).await;
    controllers.abort();
    outcome
}

/// One run of the operator against an embedded server.
struct Dev {
    server: ApiServer,
    namespace: String,
    apply: Vec<PathBuf>,
    keep_going: bool,
    metrics: Option<std::net::SocketAddr>,
    health: Option<std::net::SocketAddr>,
    webhooks: DevWebhooks,
}

impl Dev {
    async fn run(self, manager: Manager, url: &str, kubeconfig: &Kubeconfig, stop: Shutdown) -> Result<(), Failure> {
        let operator = manager.name().to_owned();
        let admin = connect(&self.server, &self.server.admin_token(), "default");
        self.install(&manager, &admin).await?;

        let console = Console::new();
        console.welcome(&operator, url, kubeconfig.path());
        let options = Options {
            leader_election: Some(LeaderElection::new(&operator, &self.namespace, "dev")),
            metrics_addr: self.metrics,
            health_addr: self.health,
            stop_within: STOP_WITHIN,
            webhooks: Some(self.serving(&operator)),
            ..Options::default()
        };
        let health = manager.health().clone();
        let webhooks = !manager.webhooks().is_empty();
        if webhooks && matches!(self.webhooks, DevWebhooks::Tls(_)) {
            health.hold(CERTIFICATES);
        }
        let endpoint = match &options.webhooks {
            Some(Serving::InProcess(endpoint)) if webhooks => Some(endpoint.clone()),
            _ => None,
        };
        let token = service_account_token(&self.server, &self.namespace, &operator);
        let client = connect(&self.server, &token, &self.namespace);
        let mut operator = tokio::spawn(
            manager
                .observer(Arc::new(console.clone()))
                .run(client, options, stop.clone()),
        );

        let open = async {
            if let Some(endpoint) = &endpoint {
                endpoint.opened().await;
            }
            while health.waits_for().contains(&CERTIFICATES) {
                sleep(Duration::from_millis(10)).await;
            }
        };
        // What keeps them from opening ends the operator, which is told below.
        let _ = timeout(WEBHOOKS_WITHIN, open).await;
        let samples = self.samples(&admin, &console).await;
        if samples.is_err() {
            stop.trigger();
        }
        let ended = tokio::select! {
            biased;
            ended = &mut operator => ended,
            () = stop.wait() => {
                let began = Instant::now();
                console.stopping();
                let ended = operator.await;
                console.stopped(began.elapsed());
                ended
            }
        };
        samples?;
        match ended {
            Ok(outcome) => outcome.map_err(Failure::other),
            Err(panic) => Err(Failure::new(format!("the operator panicked: {panic}"))),
        }
    }

    /// Webhooks are called within the process, unless the flags ask for TLS.
    fn serving(&self, operator: &str) -> Serving {
        if let DevWebhooks::Tls(address) = self.webhooks {
            let mut tls = TlsOptions::new(&self.namespace);
            tls.address = address;
            tls.reach = Reach::Url(format!("https://{address}"));
            tls.drain = Duration::ZERO;
            return Serving::Tls(tls);
        }
        let endpoint = Endpoint::new();
        let authority = format!("{}.{}.svc", service_name(operator), self.namespace);
        self.server.webhooks().route(&authority, Arc::new(endpoint.clone()));
        Serving::InProcess(endpoint)
    }

    /// Definitions, the operator's namespace and its rights.
    async fn install(&self, manager: &Manager, admin: &kube::Client) -> Result<(), Failure> {
        let installer = Installer::new(self.server.clone(), admin.clone(), "kubewright-dev");
        let namespace = serde_json::json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": self.namespace },
        });
        let manifests = manager.manifests(&self.namespace).reach(match self.webhooks {
            DevWebhooks::InProcess => Reach::InProcess,
            DevWebhooks::Tls(address) => Reach::Url(format!("https://{address}")),
        });
        for object in std::iter::once(namespace).chain(manifests.objects()) {
            installer
                .object("the operator's manifests", &object)
                .await
                .map_err(Failure::other)?;
        }
        Ok(())
    }

    /// The files of `--apply`, under kubectl's own field manager, so that a later `kubectl apply` goes on from there.
    async fn samples(&self, admin: &kube::Client, console: &Console) -> Result<(), Failure> {
        let installer = Installer::new(self.server.clone(), admin.clone(), "kubectl");
        for file in &self.apply {
            match installer.file(file).await {
                Ok(objects) => objects.iter().for_each(|object| console.applied(object)),
                Err(error) if self.keep_going => console.refused(&error),
                Err(error) => return Err(Failure::other(error)),
            }
        }
        Ok(())
    }
}
