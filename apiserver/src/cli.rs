//! The command line of the server's binary.

use std::io::{IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::{Parser, ValueEnum};
use tokio::net::TcpListener;

use crate::server::{ApiServer, Simulate, Tls};

/// An in-memory Kubernetes API server. Its state is gone when it stops.
#[derive(Clone, Debug, Parser)]
#[command(name = "kubewright-apiserver", version)]
pub struct Options {
    /// Address and port to serve HTTPS on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:6443")]
    listen: SocketAddr,

    /// File to write the administrator's kubeconfig to, readable by its owner only
    #[arg(long, value_name = "FILE")]
    kubeconfig: PathBuf,

    /// Bearer token of the administrator [default: a random one]
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,

    /// Let everybody who has a token do everything
    #[arg(long)]
    no_rbac: bool,

    /// Simulate workloads: their controllers only, or nodes that run pods as well
    #[arg(long, value_name = "HOW MUCH", num_args = 0..=1, default_missing_value = "full")]
    simulate: Option<SimulateWord>,

    /// Give namespaces a `default` ServiceAccount and `kube-root-ca.crt`
    #[arg(long)]
    service_accounts: bool,

    /// Give Services Endpoints and EndpointSlices
    #[arg(long)]
    endpoints: bool,

    /// Switch on the admission plugin OwnerReferencesPermissionEnforcement
    #[arg(long)]
    owner_references_permission: bool,

    /// How many writes the history remembers
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    history: usize,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SimulateWord {
    Controllers,
    Full,
}

/// Why the server did not start, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The port cannot be listened on.
    #[error("cannot listen on {address}: {source}; stop what uses the port or choose another one with --listen")]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// The kubeconfig cannot be written.
    #[error("cannot write the kubeconfig {path}: {source}; choose a writable file with --kubeconfig")]
    Kubeconfig {
        /// The file that was asked for.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// There is no certificate for the address.
    #[error(transparent)]
    Tls(#[from] crate::http::tls::TlsError),
    /// The process cannot run tasks or wait for signals.
    #[error("cannot start: {0}")]
    Runtime(std::io::Error),
}

impl Options {
    /// Serves until the process is told to stop.
    ///
    /// # Errors
    /// When the server cannot start.
    pub fn run(self) -> Result<(), StartError> {
        tracing_subscriber::fmt()
            .with_writer(std::io::stderr)
            .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
            .with_env_filter(
                tracing_subscriber::EnvFilter::try_from_default_env()
                    .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info")),
            )
            .init();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(StartError::Runtime)?;
        runtime.block_on(self.serve())
    }

    async fn serve(self) -> Result<(), StartError> {
        let listener = TcpListener::bind(self.listen)
            .await
            .map_err(|source| StartError::Listen {
                address: self.listen,
                source,
            })?;
        let address = listener.local_addr().map_err(StartError::Runtime)?;
        let host = address.ip().to_string();
        let tls = Tls::self_signed(&[&host])?;
        let server = self.server(tls.certificate());
        let kubeconfig = kubeconfig(address, tls.certificate(), &server.admin_token());
        write_private(&self.kubeconfig, &kubeconfig).map_err(|source| StartError::Kubeconfig {
            path: self.kubeconfig.display().to_string(),
            source,
        })?;
        tracing::info!(
            "serving on https://{address}; export KUBECONFIG={}",
            self.kubeconfig.display()
        );
        let controllers = server.clone();
        let controllers = tokio::spawn(async move { controllers.run_controllers().await });
        server.serve(listener, tls, stopped()).await;
        controllers.abort();
        Ok(())
    }

    fn server(&self, certificate: &str) -> ApiServer {
        let simulate = match self.simulate {
            None => Simulate::Off,
            Some(SimulateWord::Controllers) => Simulate::Controllers,
            Some(SimulateWord::Full) => Simulate::Full,
        };
        // Simulated workloads without accounts and endpoints would be a cluster that exists nowhere.
        let simulated = simulate != Simulate::Off;
        let mut builder = ApiServer::builder()
            .rbac(!self.no_rbac)
            .simulate(simulate)
            .service_accounts(self.service_accounts || simulated)
            .endpoints(self.endpoints || simulated)
            .owner_references_permission(self.owner_references_permission)
            .history(self.history)
            .cluster_ca(certificate);
        if let Some(token) = &self.token {
            builder = builder.token(token);
        }
        builder.build()
    }
}

/// The kubeconfig of a server with a self-signed certificate.
fn kubeconfig(address: SocketAddr, certificate: &str, token: &str) -> String {
    use base64::Engine as _;
    let authority = base64::engine::general_purpose::STANDARD.encode(certificate);
    let token = serde_json::Value::from(token);
    format!(
        "apiVersion: v1\nkind: Config\nclusters:\n- name: kubewright\n  cluster:\n    server: https://{address}\n    \
         certificate-authority-data: {authority}\nusers:\n- name: admin\n  user:\n    token: {token}\ncontexts:\n- name: \
         kubewright\n  context:\n    cluster: kubewright\n    user: admin\ncurrent-context: kubewright\n"
    )
}

/// Writes a file that only its owner may read; an earlier one is replaced.
fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    file.write_all(text.as_bytes())
}

/// Resolves when the process is asked to stop.
async fn stopped() {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        let Ok(mut terminate) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) else {
            let _ = interrupt.await;
            return;
        };
        tokio::select! {
            biased;
            _ = interrupt => {}
            _ = terminate.recv() => {}
        }
    }
    #[cfg(not(unix))]
    let _ = interrupt.await;
}
