//! How a run tells its parent what came of it.
//!
//! Output and report share one pipe, so that what was printed to both of a process's streams keeps its order. The
//! report is the last thing in it.

use std::io::{self, Write};

use memchr::memmem;
use serde::{Deserialize, Serialize};

/// Ends what libtest prints before it calls the test.
const BEGIN: &str = "\u{2}kubewright: the run begins\n";
/// Ends the output; the report's length and the report follow.
const REPORT: &str = "\u{3}kubewright: the run's report, bytes: ";

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum End {
    Passed,
    /// A panic's message, or the error that the body returned.
    Failed(String),
}

/// What a run leaves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Report {
    pub(super) end: End,
    /// What happened, line by line: what two runs of one seed must agree on.
    pub(super) story: String,
}

impl Report {
    /// A run that failed before it had a story.
    pub(super) fn without_story(message: String) -> Self {
        Self {
            end: End::Failed(message),
            story: String::new(),
        }
    }
}

/// Marks where the output of the test itself begins.
pub(super) fn begin() {
    let mut out = io::stdout().lock();
    let _ = out.write_all(BEGIN.as_bytes()).and_then(|()| out.flush());
}

/// Sends the report.
pub(super) fn send(report: &Report) -> io::Result<()> {
    let text = serde_json::to_string(report)?;
    // Both streams are one pipe: what another thread prints now must wait until the report is whole.
    let mut out = io::stdout().lock();
    let _no_error_output = io::stderr().lock();
    write!(out, "{REPORT}{}\n{text}", text.len())?;
    out.flush()
}

/// Takes what came through the pipe apart: what the test printed, and its report if it got so far.
pub(super) fn split(bytes: &[u8]) -> (String, Option<Report>) {
    let bytes = match memmem::find(bytes, BEGIN.as_bytes()) {
        Some(at) => &bytes[at + BEGIN.len()..],
        None => bytes,
    };
    let (output, report) = match memmem::rfind(bytes, REPORT.as_bytes()) {
        Some(at) => (&bytes[..at], parse(&bytes[at + REPORT.len()..])),
        None => (bytes, None),
    };
    (String::from_utf8_lossy(output).into_owned(), report)
}

fn parse(bytes: &[u8]) -> Option<Report> {
    let line = bytes.iter().position(|byte| *byte == b'\n')?;
    let length: usize = std::str::from_utf8(&bytes[..line]).ok()?.parse().ok()?;
    serde_json::from_slice(bytes.get(line + 1..)?.get(..length)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_and_report_are_told_apart() {
        let report = Report {
            end: End::Failed("no".to_owned()),
            story: "a\nb\n".to_owned(),
        };
        let text = serde_json::to_string(&report).expect("a report is plain JSON");
        let whole = format!(
            "\nrunning 1 test\n{BEGIN}hello\n{REPORT}{}\n{text}and what came too late",
            text.len()
        );
        assert_eq!(split(whole.as_bytes()), ("hello\n".to_owned(), Some(report)));
    }

    #[test]
    fn a_run_that_was_cut_short_leaves_its_output() {
        assert_eq!(split(format!("x{BEGIN}hello").as_bytes()), ("hello".to_owned(), None));
        assert_eq!(
            split(b"error: no such option"),
            ("error: no such option".to_owned(), None)
        );
        assert_eq!(
            split(format!("{BEGIN}a{REPORT}100\n{{").as_bytes()),
            ("a".to_owned(), None)
        );
    }
}
