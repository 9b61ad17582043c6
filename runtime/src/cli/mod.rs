//! The operator's own command line: `run` (the default), `dev`, `manifests`.

mod args;
mod connect;
mod failure;
mod logs;
mod run;

use clap::{CommandFactory as _, FromArgMatches as _};

use crate::error::Result;
use crate::manager::Manager;
use crate::manifests::Manifests;

#[cfg(feature = "dev")]
pub(crate) use args::DevArgs;
use args::{Cli, Command, ManifestArgs};
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
    /// | `manifests` | prints the definitions and the RBAC that the operator needs |
    ///
    /// `--help` lists the flags and the environment variables that stand for them. SIGINT and SIGTERM stop the
    /// operator: running reconciles end, the Lease is given back. A second signal ends the process at once.
    ///
    /// # Errors
    ///
    /// None: what goes wrong is printed as one line, `error: …`, and the process ends with code 1 (2 for wrong
    /// flags). The return type lets the call stand at the end of `main`.
    pub async fn run_cli(self) -> Result<()> {
        let cli = match parse(self.name(), std::env::args_os()) {
            Ok(cli) => cli,
            // Help and version arrive here too, for stdout and with code 0.
            Err(refused) => refused.exit(),
        };
        if let Err(failure) = self.execute(cli).await {
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
        }
    }
}

fn parse(operator: &str, line: impl IntoIterator<Item = std::ffi::OsString>) -> Result<Cli, clap::Error> {
    let mut command = Cli::command().name(operator.to_owned()).bin_name(operator.to_owned());
    let matches = command.try_get_matches_from_mut(line)?;
    Cli::from_arg_matches(&matches)
}

fn print_manifests(manager: &Manager, args: ManifestArgs) -> Result<(), Failure> {
    use std::io::Write as _;
    let manifests = Manifests::new(
        manager.name(),
        args.namespace,
        manager.declarations().into_iter().cloned(),
    )
    .namespaces(args::named(args.watch_namespaces));
    let yaml = manifests.to_yaml().map_err(Failure::other)?;
    match std::io::stdout().write_all(yaml.as_bytes()) {
        // `manifests | head` is no failure.
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(Failure::other),
    }
}
