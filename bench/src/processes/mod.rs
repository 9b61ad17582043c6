//! The example operator as its own process, against an API server in another: one line per promise.

mod cluster;
mod figures;
mod scenarios;

use std::path::PathBuf;

use clap::Subcommand;

use self::figures::Figures;
use crate::Failure;

/// What the suite can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The example operator's binary
    #[arg(long, value_name = "FILE", default_value = "target/release/app-operator")]
    operator: PathBuf,
    /// The API server's binary
    #[arg(long, value_name = "FILE", default_value = "target/release/kubewright-apiserver")]
    apiserver: PathBuf,
    /// How many Apps
    #[arg(long, value_name = "N", default_value_t = 1000)]
    apps: usize,
    /// Run one scenario only
    #[command(subcommand)]
    only: Option<Scenario>,
}

#[derive(Clone, Copy, Debug, Subcommand)]
enum Scenario {
    /// Apps converge; then nothing but watches and Lease renewals; resident memory
    Silence,
    /// The operator is killed while the Apps converge, and started again
    Kill,
    /// Two operators: the leader is killed, then stopped
    Handover,
    /// Two operators: the leader is frozen until the other leads, then goes on
    Frozen,
}

/// Runs the scenarios; answers whether every promise held.
///
/// # Errors
/// When something could not be measured.
pub(crate) async fn run(args: &Args) -> Result<bool, Failure> {
    let chosen = match args.only {
        Some(one) => vec![one],
        None => vec![Scenario::Silence, Scenario::Kill, Scenario::Handover, Scenario::Frozen],
    };
    let mut figures = Figures::default();
    for scenario in chosen {
        match scenario {
            Scenario::Silence => scenarios::silence(&mut figures, &args.operator, args.apps).await?,
            Scenario::Kill => scenarios::kill(&mut figures, &args.operator, &args.apiserver, args.apps).await?,
            Scenario::Handover => scenarios::handover(&mut figures, &args.operator, &args.apiserver).await?,
            Scenario::Frozen => scenarios::frozen(&mut figures, &args.operator, args.apps).await?,
        }
    }
    Ok(figures.all_hold())
}
