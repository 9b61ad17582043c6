//! Starts a process for each run.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::{env, thread};

use super::plan::Plan;
use super::report::{self, Report};
use super::{Outcome, Test, child};

/// The runs of one seed, as far as they matter: where all were alike and passed, the first.
pub(super) struct Seed {
    pub(super) seed: u64,
    /// At least one. The first is what the others are compared with; only the last may differ from it.
    pub(super) runs: Vec<Run>,
}

/// One run.
pub(super) struct Run {
    /// What it printed, to both streams.
    pub(super) output: String,
    /// What came of it, or how its process ended without saying.
    pub(super) report: Result<Report, String>,
}

impl Run {
    pub(super) fn passed(&self) -> bool {
        matches!(&self.report, Ok(report) if report.end == report::End::Passed)
    }

    pub(super) fn differs_from(&self, other: &Self) -> bool {
        self.report != other.report
    }
}

/// Runs every seed of the plan; where there are many, as many at once as libtest runs tests.
pub(super) fn run_all(test: &Test, plan: &Plan) -> Vec<Seed> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(BTreeMap::new());
    let work = || {
        while let Some(seed) = plan.seeds.get(next.fetch_add(1, Ordering::Relaxed)) {
            let runs = run_seed(test, *seed, plan.repeat);
            done.lock().unwrap_or_else(PoisonError::into_inner).insert(*seed, runs);
        }
    };
    match jobs().min(plan.seeds.len()) {
        1 => work(),
        many => thread::scope(|scope| {
            for _ in 0..many {
                scope.spawn(work);
            }
        }),
    }
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.into_iter().map(|(seed, runs)| Seed { seed, runs }).collect()
}

/// Runs the first seed once, in this process, where a debugger sees it.
pub(super) fn run_here<B, F>(test: &Test, plan: &Plan, body: B) -> Vec<Seed>
where
    B: FnOnce() -> F,
    F: Future<Output: Outcome>,
{
    let seed = plan.seeds[0];
    let report = child::run_here(test, seed, |_| {}, body)
        .map(|(report, _)| report)
        .map_err(|error| format!("the run could not start: {error}"));
    let output = String::new();
    vec![Seed {
        seed,
        runs: vec![Run { output, report }],
    }]
}

fn run_seed(test: &Test, seed: u64, repeat: u32) -> Vec<Run> {
    let first = run(test, seed);
    // A failure is looked at once more even where nobody asked: whether it comes again is worth knowing.
    let again = match (first.passed(), test.repeat) {
        (false, None) => repeat.max(2),
        _ => repeat,
    };
    for _ in 1..again {
        let other = run(test, seed);
        if other.differs_from(&first) {
            return vec![first, other];
        }
    }
    vec![first]
}

fn run(test: &Test, seed: u64) -> Run {
    let _permit = Permit::acquire();
    match run_process(test, seed) {
        Ok((bytes, status)) => {
            let (output, report) = report::split(&bytes);
            let report = report.ok_or_else(|| format!("the run's process ended before the test did: {status}"));
            Run { output, report }
        }
        Err(error) => Run {
            output: String::new(),
            report: Err(format!("the run's process could not be started: {error}")),
        },
    }
}

fn run_process(test: &Test, seed: u64) -> io::Result<(Vec<u8>, ExitStatus)> {
    let path = test.path();
    let (mut reader, writer) = io::pipe()?;
    let mut process = {
        // The command holds this end of the pipe open as long as it lives.
        Command::new(env::current_exe()?)
            .args([
                &*path,
                "--exact",
                "--nocapture",
                "--include-ignored",
                "--test-threads=1",
            ])
            .env(child::ASKED, format!("{seed} {path}"))
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .spawn()?
    };
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes)?;
    Ok((bytes, process.wait()?))
}

/// How many processes may run at once: what libtest was told, or else as many as there are processors.
fn jobs() -> usize {
    let mut arguments = env::args().skip_while(|argument| !argument.starts_with("--test-threads"));
    let argument = arguments.next().and_then(|argument| match argument.split_once('=') {
        Some((_, threads)) => Some(threads.to_owned()),
        None => arguments.next(),
    });
    let told = argument.or_else(|| env::var("RUST_TEST_THREADS").ok());
    let told = told
        .and_then(|threads| threads.parse().ok())
        .filter(|threads| *threads > 0);
    told.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from))
}

/// The right to run a process. Tests that libtest runs at once share the machine.
struct Permit;

static RUNNING: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

impl Permit {
    fn acquire() -> Self {
        let (running, freed) = &RUNNING;
        let limit = jobs();
        let running = running.lock().unwrap_or_else(PoisonError::into_inner);
        let mut running = freed
            .wait_while(running, |running| *running >= limit)
            .unwrap_or_else(PoisonError::into_inner);
        *running += 1;
        Self
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let (running, freed) = &RUNNING;
        *running.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        freed.notify_one();
    }
}
