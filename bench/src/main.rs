//! What Kubewright promises, measured: one subcommand for each suite.
//!
//! `processes` runs the example operator as its own process and prints one line per promise. The other suites compare
//! ours with a peer in the same run and share [`harness`]: `cargo run --release -p kubewright-bench -- apiserver --json
//! FILE`.

mod apiserver;
mod cache;
mod engine;
mod harness;
mod process;
mod processes;
mod testkit;
mod webhook;

use clap::Parser;
use tokio::runtime::{Builder, Runtime};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Benchmarks of Kubewright.
#[derive(Debug, Parser)]
enum Bench {
    /// The example operator as a process of its own: silence, memory, kill and restart, hand-over
    Processes(processes::Args),
    /// The embedded API server: cost of requests, memory, time to start, watches
    Apiserver(harness::Options),
    /// The cache: memory, CPU time and reads, beside kube-runtime
    Cache(cache::Options),
    /// The engine: writes, CPU time and latency of a controller, beside kube-runtime and controller-runtime
    Engine(harness::Options),
    /// A process that the suite `engine` measures
    #[command(hide = true)]
    EngineWorker(engine::work::Options),
    /// The testkit: a scenario, a thousand of them, an hour of a busy cluster
    Testkit(harness::Options),
    /// A process that the suite `testkit` measures
    #[command(hide = true)]
    TestkitScenario(testkit::ScenarioArgs),
    /// Webhooks: cost of a review, change of certificates
    Webhook(harness::Options),
    /// A process that the suite `cache` measures
    #[command(hide = true)]
    CacheWorker(cache::work::Options),
    /// The API server as its own binary runs it: what the suite starts
    #[command(hide = true)]
    ApiServer(kubewright_apiserver::cli::Options),
    /// A TLS server that says hello: what the suite compares it with
    #[command(hide = true)]
    Hello {
        /// Address and port to serve HTTPS on
        #[arg(long)]
        listen: std::net::SocketAddr,
    },
}

fn main() {
    match run(&Bench::parse()) {
        Ok(true) => {}
        Ok(false) => std::process::exit(1),
        Err(error) => {
            eprintln!("error: {error}");
            std::process::exit(1);
        }
    }
}

/// Runs a suite; answers whether everything held.
fn run(bench: &Bench) -> Result<bool, Failure> {
    match bench {
        Bench::Processes(args) => many_threads()?.block_on(processes::run(args)),
        Bench::Apiserver(options) => one_thread()?.block_on(apiserver::run(options)),
        Bench::Cache(options) => many_threads()?.block_on(cache::run(options)),
        Bench::Engine(options) => many_threads()?.block_on(engine::run(options)),
        Bench::EngineWorker(options) => many_threads()?.block_on(engine::work::run(options)),
        Bench::Webhook(options) => one_thread()?.block_on(webhook::run(options)),
        Bench::CacheWorker(options) => many_threads()?.block_on(cache::work::run(options)),
        Bench::Testkit(options) => one_thread()?.block_on(testkit::run(options)),
        Bench::TestkitScenario(args) => testkit::run_one(args),
        Bench::ApiServer(options) => Ok(options.clone().run().map(|()| true)?),
        Bench::Hello { listen } => many_threads()?
            .block_on(apiserver::hello::serve(*listen))
            .map(|()| true),
    }
}

fn many_threads() -> Result<Runtime, Failure> {
    Ok(Builder::new_multi_thread().enable_all().build()?)
}

/// For suites that compare the cost of work with that of other work: no time goes into waking threads.
fn one_thread() -> Result<Runtime, Failure> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}
