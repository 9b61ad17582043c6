//! What the runs of a test come to, and what people are told.

use std::fmt::Write as _;
use std::panic::resume_unwind;

use super::Test;
use super::difference;
use super::process::{Run, Seed};
use super::report::{End, Report};

/// How much of a story a failure shows.
const LINES: usize = 60;

/// What usually makes two runs of one seed differ.
const CAUSES: &str = "what it comes from is usually std::time::Instant, a thread or spawn_blocking, an address, a process \
id, a file that a run leaves behind, or the order of a HashMap where the testkit's feature `pinned` is off; \
`repeat = 1` in the attribute takes this test out of the comparison";

/// How tokio says that a runtime has no driver for sockets.
const NO_DRIVER: &str = "but IO is disabled";
const NO_SOCKETS: &str = "there are no real sockets on paused time: while a packet is on its way nothing in the process \
can run, so the clock jumps and every timeout expires. Talk to the cluster by its clients; put a seam before what is \
outside; or write a test on real time, with `kubewright::dev` or the binary `kubewright-apiserver`";

/// Passes the test, or fails it with everything that its author needs to know.
pub(super) fn give(test: &Test, seeds: &[Seed]) {
    let bad: Vec<&Seed> = seeds.iter().filter(|seed| !is_good(test, seed)).collect();
    let Some(worst) = bad.first() else {
        let shown = &seeds[0].runs[0];
        print!("{}", shown.output);
        if let (true, Some(message)) = (test.should_panic, failure(shown)) {
            // libtest wants to see the panic itself, and looks for what was expected in its message.
            resume_unwind(Box::new(message));
        }
        return;
    };
    let (message, details) = explain(test, worst);
    let mut text = details;
    if seeds.len() > 1 {
        let list: Vec<String> = bad.iter().map(|seed| seed.seed.to_string()).collect();
        let _ = writeln!(
            text,
            "\n{} of {} seeds failed: {}",
            bad.len(),
            seeds.len(),
            list.join(", ")
        );
    }
    let _ = write!(text, "\nrun it again: {}\n", command(test, worst.seed));
    eprint!("{text}");
    if test.should_panic {
        // Returning is what fails a test that should panic.
        return;
    }
    resume_unwind(Box::new(message));
}

/// Whether a seed did what the test promises.
fn is_good(test: &Test, seed: &Seed) -> bool {
    let alike = seed.runs.len() == 1;
    let reported = seed.runs.iter().all(|run| run.report.is_ok());
    alike && reported && seed.runs[0].passed() != test.should_panic
}

/// What a run failed with.
fn failure(run: &Run) -> Option<String> {
    match &run.report {
        Ok(Report {
            end: End::Failed(message),
            ..
        }) => Some(message.clone()),
        Ok(_) => None,
        Err(broken) => Some(broken.clone()),
    }
}

/// The message of the test's failure, and all that stands above it.
fn explain(test: &Test, seed: &Seed) -> (String, String) {
    let first = &seed.runs[0];
    let mut text = String::new();
    if !first.output.is_empty() {
        let _ = writeln!(text, "{}", first.output.trim_end());
    }
    if first.output.contains(NO_DRIVER) || failure(first).is_some_and(|message| message.contains(NO_DRIVER)) {
        let _ = writeln!(text, "\n{NO_SOCKETS}");
    }
    if let [_, other] = &*seed.runs {
        let place = match (&first.report, &other.report) {
            (Ok(first), Ok(other)) => difference::between(&first.story, &other.story),
            _ => None,
        };
        let place = place.unwrap_or_else(|| {
            let end = |run: &Run| failure(run).unwrap_or_else(|| "passed".to_owned());
            format!("first run: {}\nsecond run: {}\n", end(first), end(other))
        });
        let message = format!("two runs of {} with seed {} differ", test.path(), seed.seed);
        let _ = write!(text, "\n{message}, here:\n\n{place}\n{CAUSES}\n");
        return (message, text);
    }
    if let Ok(report) = &first.report {
        let lines: Vec<&str> = report.story.lines().collect();
        let skipped = lines.len().saturating_sub(LINES);
        let _ = writeln!(text, "\nthe story, seed {}:", seed.seed);
        if skipped > 0 {
            let _ = writeln!(text, "({skipped} lines before)");
        }
        for line in &lines[skipped..] {
            let _ = writeln!(text, "{line}");
        }
    }
    let message = failure(first).unwrap_or_else(|| "the test did not panic".to_owned());
    if first.report.is_err() {
        let _ = writeln!(text, "\n{message}");
    }
    (message, text)
}

/// What runs one seed of this test again.
fn command(test: &Test, seed: u64) -> String {
    let package = test.package.map(|name| format!(" -p {name}")).unwrap_or_default();
    format!("KUBEWRIGHT_SEED={seed} cargo test{package} {}", test.path())
}
