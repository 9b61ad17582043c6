//! The operator's own command line: `run` (the default), `dev`, `manifests`, `uninstall`.

mod args;
mod connect;
mod failure;
mod file;
mod logs;
mod run;
mod uninstall;

use std::ffi::OsString;

use clap::{CommandFactory as _, FromArgMatches as _};

use crate::error::Result;
use crate::manager::Manager;
use crate::webhook::Trust;

use args::{CertSource, Cli, Command, ManifestArgs};
#[cfg(feature = "dev")]
pub(crate) use args::{DevArgs, DevWebhooks};
pub(crate) use failure::Failure;
pub(crate) use logs::Logs;
#[cfg(feature = "dev")]
pub(crate) use run::stop_on_signals;

impl Manager {
    /// Does what the command line says. The last expression of an operator's `main`.
    ///
    /// | command | what it does |
    /// |---|---|
    /// | `run`, or none | runs against the cluster of the kubeconfig, or the one that this pod is in |
    /// | `dev` | runs against an API server inside the process (feature `dev`) |
    /// | `manifests` | prints the definitions, the RBAC and the Deployment that the operator needs |
    /// | `uninstall` | cleans up what is being deleted, removes finalizers, reports what is stuck |
    ///
    /// `--help` lists the flags and the environment variables that stand for them; a file given with `--config` gives
    /// values to those that are in neither. SIGINT and SIGTERM stop the
    /// operator: running reconciles end, the Lease is given back. A second signal ends the process at once.
    ///
    /// # Errors
    ///
    /// None: what goes wrong is printed as one line, `error: …`, and the process ends with code 1 (2 for wrong
    /// flags). The return type lets the call stand at the end of `main`.
    pub async fn run_cli(self) -> Result<()> {
        let line: Vec<OsString> = std::env::args_os().collect();
        let done = match command(self.name(), &line) {
            Ok(command) => match parse(command, line) {
                Ok(cli) => self.execute(cli).await,
                // Help and version arrive here too, for stdout and with code 0.
                Err(refused) => refused.exit(),
            },
            Err(failure) => Err(failure),
        };
        if let Err(failure) = done {
            eprintln!("error: {failure}");
            std::process::exit(1);
        }
        Ok(())
    }

    async fn execute(self, cli: Cli) -> Result<(), Failure> {
        failure::check_name(self.name())?;
        match cli.command {
            None => run::run(self, cli.run).await,
            Some(Command::Run(args)) => run::run(self, *args).await,
            #[cfg(feature = "dev")]
            Some(Command::Dev(args)) => crate::dev::run(self, *args).await,
            Some(Command::Manifests(args)) => print_manifests(&self, args),
            Some(Command::Uninstall(args)) => uninstall::uninstall(self, *args).await,
        }
    }
}

/// The flags, with the values of the configuration file.
fn command(operator: &str, line: &[OsString]) -> Result<clap::Command, Failure> {
    let command = Cli::command().name(operator.to_owned()).bin_name(operator.to_owned());
    file::with_values(command, line)
}

fn parse(mut command: clap::Command, line: Vec<OsString>) -> Result<Cli, clap::Error> {
    let matches = command.try_get_matches_from_mut(line)?;
    Cli::from_arg_matches(&matches)
}

fn print_manifests(manager: &Manager, args: ManifestArgs) -> Result<(), Failure> {
    use std::io::Write as _;
    let trust = match args.webhook_certs {
        CertSource::Issued => Trust::Injected,
        CertSource::CertManager => Trust::cert_manager(manager.name(), &args.namespace),
    };
    let manifests = manager
        .manifests(args.namespace)
        .namespaces(args::named(args.watch_namespaces))
        .metrics_access(args.metrics_access.into())
        .trust(trust);
    let manifests = match args.image {
        Some(image) => manifests.deployment(image, args.replicas),
        None => manifests,
    };
    let yaml = manifests.to_yaml().map_err(Failure::other)?;
    match std::io::stdout().write_all(yaml.as_bytes()) {
        // `manifests | head` is no failure.
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(Failure::other),
    }
}
