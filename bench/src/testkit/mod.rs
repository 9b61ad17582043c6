//! The testkit: what a scenario costs, a thousand of them, and an hour of a busy cluster.
//!
//! Scenarios run as a test's do, on one thread and paused time, but without the comparison of two runs, and without the
//! feature `pinned`, which would take the clock from the one who measures.

mod hour;
mod scenario;
mod thousand;

use std::thread;

use tokio::runtime::Builder;

use crate::Failure;
use crate::harness::{Case, Limit, Options, Suite, thread_cpu};

pub(crate) use self::scenario::Args as ScenarioArgs;

const SCENARIO: Case = Case {
    name: "scenario-cpu",
    what: "CPU time of a cluster, an operator with a kind of its own, and 3 objects through to convergence",
    unit: "ms",
    limit: Limit::AtMost(10.0),
    samples: 51,
};
const START: Case = Case {
    name: "scenario-start",
    what: "of it: the cluster, and the operator installed and running, before there is an object",
    unit: "ms",
    limit: Limit::None,
    samples: 51,
};
const APPS: Case = Case {
    name: "scenario-apps",
    what: "the same with app-operator and 3 Apps of 5 children each, their pods ready",
    unit: "ms",
    limit: Limit::None,
    samples: 15,
};
const THOUSAND: Case = Case {
    name: "scenario-1000",
    what: "1 000 scenarios, each in a process of its own as a seeded run is: CPU time of all, halved for 2 cores",
    unit: "s",
    limit: Limit::AtMost(20.0),
    samples: 1,
};
const HOUR: Case = Case {
    name: "hour",
    what: "CPU time of an hour with app-operator and 20 Apps: resyncs every 10 minutes, a change a minute",
    unit: "s",
    limit: Limit::AtMost(1.0),
    samples: 3,
};

/// Runs the suite; answers whether every limit held.
///
/// # Errors
/// When a scenario does not come to its end.
pub(crate) async fn run(options: &Options) -> Result<bool, Failure> {
    let mut suite = Suite::start("testkit", options)?;
    // What a process does once, it has done.
    cpu(|| scenario::greetings(0))?;
    suite.measure(START, async || Ok(cpu(scenario::start)? / 1e3)).await?;
    let mut seed = 0;
    let scenario = async || {
        seed += 1;
        let seed = seed;
        Ok(cpu(move || scenario::greetings(seed))? / 1e3)
    };
    suite.measure(SCENARIO, scenario).await?;
    suite.measure(APPS, async || Ok(cpu(scenario::apps)? / 1e3)).await?;
    suite.measure(THOUSAND, async || thousand::run()).await?;
    suite.measure(HOUR, async || Ok(cpu(hour::run)? / 1e6)).await?;
    Ok(suite.finish())
}

/// Runs one scenario, as a process that is measured does.
///
/// # Errors
/// When it does not come to its end.
pub(crate) fn run_one(args: &ScenarioArgs) -> Result<bool, Failure> {
    let seed = args.seed;
    cpu(move || scenario::greetings(seed))?;
    Ok(true)
}

/// Runs a scenario on a thread and a paused clock of its own; answers its CPU time in microseconds.
fn cpu<F: Future<Output = Result<(), Failure>>>(scenario: impl FnOnce() -> F + Send + 'static) -> Result<f64, Failure> {
    let run = move || {
        let began = thread_cpu();
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build()?;
        runtime.block_on(Box::pin(scenario()))?;
        drop(runtime);
        Ok(thread_cpu() - began)
    };
    let ran = thread::Builder::new().name("scenario".to_owned()).spawn(run)?;
    ran.join().map_err(|_| "the scenario panicked; see above")?
}
