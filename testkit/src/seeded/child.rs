//! One run, in the process that the parent started for it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::process;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use std::{env, io, mem, thread};

use futures::future::{Either, select};
use jiff::Timestamp;
use tokio::runtime::Runtime;
use tokio::time::{Instant, timeout};

use super::context::{Context, GivenUp};
use super::pulse::{self, Pulse};
use super::report::{self, End, Report};
use super::watchdog::{LOOK, Watchdog};
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
    let (began, context) = mpsc::channel();
    let (done, ended) = mpsc::channel();
    // A thread of its own has hashers of its own: those of libtest's thread were keyed before the machine was seeded.
    let run = thread::Builder::new().name(test.path()).spawn(move || {
        pinned::randomness(seed);
        let ran = run_here(&test, seed, |context| drop(began.send(Arc::clone(context))), body);
        let report = ran.map(|(report, runtime)| {
            mem::forget(runtime);
            report
        });
        drop(done.send(report));
    });
    let report = match run {
        Ok(run) => watched(&ended, &context).unwrap_or_else(|| match run.join() {
            Err(panic) => Report::without_story(text_of(&*panic)),
            Ok(()) => Report::without_story("the run ended without a result".to_owned()),
        }),
        Err(error) => Report::without_story(format!("the run could not start: {error}")),
    };
    process::exit(i32::from(report::send(&report).is_err()));
}

/// What the run comes to, or what is wrong with one that hangs; nothing if its thread ended otherwise.
fn watched(ended: &Receiver<io::Result<Report>>, context: &Receiver<Arc<Context>>) -> Option<Report> {
    let mut watchdog = Watchdog::new();
    let mut run = None;
    loop {
        match ended.recv_timeout(LOOK) {
            Ok(Ok(report)) => return Some(report),
            Ok(Err(error)) => return Some(Report::without_story(format!("the run could not start: {error}"))),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {}
        }
        run = run.or_else(|| context.try_recv().ok());
        // A task that never gives way keeps the run from ending itself.
        let given_up = run.as_ref().and_then(|run| run.is_given_up());
        let hangs = || {
            let at = run
                .as_ref()
                .map_or(Timestamp::UNIX_EPOCH, |run| run.after(Pulse::now().passed()));
            watchdog.look().map(|why| GivenUp { why, at })
        };
        if let Some(GivenUp { why, at }) = given_up.or_else(hangs) {
            let end = said(why);
            let story = run.map(|run| story(&run, &end, at)).unwrap_or_default();
            return Some(Report { end, story });
        }
    }
}

/// Runs the body in this thread. The runtime holds what the body left. `began` is called before it begins.
pub(super) fn run_here<B, F>(
    test: &Test,
    seed: u64,
    began: impl FnOnce(&Arc<Context>),
    body: B,
) -> io::Result<(Report, Runtime)>
where
    B: FnOnce() -> F,
    F: Future<Output: Outcome>,
{
    // Known once the runtime's clock is.
    let beginning = Arc::new(OnceLock::<Instant>::new());
    let beats = Arc::clone(&beginning);
    // Without a driver for sockets: on paused time, a socket's every timeout expires at once.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .on_thread_park(move || pulse::beat(beats.get().map_or(Duration::ZERO, Instant::elapsed)))
        .build()?;
    let entered = runtime.enter();
    let context = Context::enter(seed, test.latency, test.now);
    let _ = beginning.set(Instant::now());
    pinned::wall_clock(test.now);
    began(&context);
    let whole = async {
        let body = body();
        match select(pin!(context.given_up()), pin!(body)).await {
            Either::Left((given_up, _)) => Err(given_up),
            Either::Right((outcome, _)) => Ok(outcome),
        }
    };
    let whole = AssertUnwindSafe(|| runtime.block_on(Box::pin(timeout(test.timeout, whole))));
    let ended = catch_unwind(whole);
    let mut at = context.now();
    let end = match ended {
        Ok(Ok(Ok(outcome))) => outcome.failure().map_or(End::Passed, said),
        Ok(Ok(Err(given_up))) => {
            at = given_up.at;
            said(given_up.why)
        }
        Ok(Err(_)) => said(format!(
            "{} h of the test's time have passed and it has not ended: what it waits for does not come, or it needs \
             a longer `timeout`",
            test.timeout.as_secs_f32() / 3600.0
        )),
        Err(panic) => End::Failed(text_of(&*panic)),
    };
    let story = story(&context, &end, at);
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
fn story(context: &Context, end: &End, at: Timestamp) -> String {
    let mut story = context.text();
    let at = at.strftime("%H:%M:%S.%6f");
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
