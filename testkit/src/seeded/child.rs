//! One run, in the process that the parent started for it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::Arc;
use std::{env, io, mem, thread};

use tokio::runtime::Runtime;
use tokio::time::timeout;

use super::context::Context;
use super::report::{self, End, Report};
use super::{Outcome, Test};
use crate::pinned;

/// What asks a process for one run: `<seed> <test>`.
pub(super) const ASKED: &str = "KUBEWRIGHT_RUN";

/// The seed, if this process was started for a run of this test.
pub(super) fn asked_for(test: &str) -> Option<u64> {
    let asked = env::var(ASKED).ok()?;
    let (seed, name) = asked.split_once(' ')?;
    (name == test).then(|| seed.parse().ok()).flatten()
}

/// Runs the body and ends the process.
///
/// What the body leaves is not dropped: a `Drop` that talks would be something that no process does that is killed.
pub(super) fn run<B, F>(test: Test, seed: u64, body: B) -> !
where
    B: FnOnce() -> F + Send + 'static,
    F: Future<Output: Outcome>,
{
    report::begin();
    // A thread of its own has hashers of its own: those of libtest's thread were keyed before the machine was seeded.
    let run = thread::Builder::new().name(test.path()).spawn(move || {
        pinned::randomness(seed);
        let (report, runtime) = run_here(&test, seed, body)?;
        mem::forget(runtime);
        Ok::<_, io::Error>(report)
    });
    let failed = |message: String| Report {
        end: End::Failed(message),
        story: String::new(),
    };
    let report = match run.map(thread::JoinHandle::join) {
        Ok(Ok(Ok(report))) => report,
        Ok(Err(panic)) => failed(text_of(&*panic)),
        Ok(Ok(Err(error))) | Err(error) => failed(format!("the run could not start: {error}")),
    };
    process::exit(i32::from(report::send(&report).is_err()));
}

/// Runs the body in this thread. The runtime holds what the body left.
pub(super) fn run_here<B, F>(test: &Test, seed: u64, body: B) -> io::Result<(Report, Runtime)>
where
    B: FnOnce() -> F,
    F: Future<Output: Outcome>,
{
    // Without a driver for sockets: on paused time, a socket's every timeout expires at once.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()?;
    let entered = runtime.enter();
    let context = Context::enter(seed, test.latency, test.now);
    pinned::wall_clock(test.now);
    let body = AssertUnwindSafe(|| runtime.block_on(Box::pin(timeout(test.timeout, body()))));
    let end = match catch_unwind(body) {
        Ok(Ok(outcome)) => outcome.failure().map_or(End::Passed, said),
        Ok(Err(_)) => said(format!(
            "{} h of the test's time have passed and it has not ended: what it waits for does not come, or it needs \
             a longer `timeout`",
            test.timeout.as_secs_f32() / 3600.0
        )),
        Err(panic) => End::Failed(text_of(&*panic)),
    };
    let story = story(&context, &end);
    Context::leave();
    drop(entered);
    Ok((Report { end, story }, runtime))
}

/// A failure that nobody has printed, as a panic's message is.
fn said(message: String) -> End {
    eprintln!("{message}");
    End::Failed(message)
}

/// What happened, to the end: two runs of one seed must agree on how it ended, too, and when.
fn story(context: &Arc<Context>, end: &End) -> String {
    let mut story = context.text();
    let at = context.now().strftime("%H:%M:%S.%6f");
    story.push_str(&match end {
        End::Passed => format!("{at} the test passed\n"),
        End::Failed(message) => format!("{at} the test failed: {message}\n"),
    });
    story
}

/// A panic's message.
fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "the test panicked with a value that is no text".to_owned())
}
