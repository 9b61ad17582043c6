//! A thousand scenarios, each in a process of its own, two at a time.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::Failure;

const RUNS: u64 = 1000;
const CORES: u64 = 2;

/// Runs them all; answers the CPU time of their processes in seconds, for each of two cores.
///
/// CPU time, since a machine that does something else meanwhile takes longer on the clock.
pub(super) fn run() -> Result<f64, Failure> {
    let program = std::env::current_exe()?;
    let next = AtomicU64::new(1);
    let before = of_children()?;
    let work = || -> Result<(), String> {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed > RUNS {
                return Ok(());
            }
            let mut run = Command::new(&program);
            let run = run.args(["testkit-scenario", "--seed", &seed.to_string()]);
            match run.stdin(Stdio::null()).stdout(Stdio::null()).status() {
                Ok(status) if status.success() => {}
                Ok(status) => return Err(format!("the scenario with seed {seed} ended with {status}")),
                Err(error) => return Err(format!("cannot start a scenario: {error}")),
            }
        }
    };
    let done: Result<Vec<()>, String> = thread::scope(|scope| {
        let workers: Vec<_> = (0..CORES).map(|_| scope.spawn(work)).collect();
        let join = |worker: thread::ScopedJoinHandle<'_, Result<(), String>>| {
            worker.join().unwrap_or_else(|_| Err("a worker panicked".to_owned()))
        };
        workers.into_iter().map(join).collect()
    });
    done?;
    #[allow(clippy::cast_precision_loss, reason = "2 is exact")]
    let cores = CORES as f64;
    Ok((of_children()? - before) / cores)
}

/// CPU time of all child processes that have ended, in seconds, as Linux counts it: in hundredths.
fn of_children() -> Result<f64, Failure> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The second field is the program's name in parentheses, which may hold anything.
    let (_, fields) = stat.rsplit_once(')').ok_or("/proc/self/stat has another form")?;
    let ticks = fields.split_whitespace().skip(13).take(2).map(str::parse::<f64>);
    Ok(ticks.sum::<Result<f64, _>>()? / 100.0)
}
