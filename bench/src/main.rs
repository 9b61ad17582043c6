//! What Kubewright promises, measured on real processes and real sockets.
//!
//! `processes` runs the example operator as its own process, against an API server in another, and prints one line per
//! promise: what was measured, what the limit is, whether it holds.

mod cluster;
mod figures;
mod process;
mod scenarios;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Benchmarks of Kubewright.
#[derive(Debug, Parser)]
enum Bench {
    /// The example operator as a process of its own: silence, memory, kill and restart, hand-over
    Processes(Processes),
}

#[derive(Debug, clap::Args)]
struct Processes {
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
}

#[tokio::main]
async fn main() {
    let Bench::Processes(args) = Bench::parse();
    match processes(&args).await {
        Ok(true) => {}
        Ok(false) => std::process::exit(1),
        Err(error) => {
            eprintln!("error: {error}");
            std::process::exit(1);
        }
    }
}

/// Runs the scenarios; answers whether every promise held.
async fn processes(args: &Processes) -> Result<bool, Failure> {
    let chosen = match args.only {
        Some(one) => vec![one],
        None => vec![Scenario::Silence, Scenario::Kill, Scenario::Handover],
    };
    let mut figures = figures::Figures::default();
    for scenario in chosen {
        match scenario {
            Scenario::Silence => scenarios::silence(&mut figures, &args.operator, args.apps).await?,
            Scenario::Kill => scenarios::kill(&mut figures, &args.operator, &args.apiserver, args.apps).await?,
            Scenario::Handover => scenarios::handover(&mut figures, &args.operator, &args.apiserver).await?,
        }
    }
    Ok(figures.all_hold())
}
