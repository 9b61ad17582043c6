//! What `dev` prints: where the server is, then one line per reconcile.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::install::{InstallError, title};
use crate::diagnostics::{Leadership, Observer, Outcome, Phase, Reason, Report, WriteOutcome, WriteRecord};
use crate::env::Env;
use crate::key::ObjectKey;
use crate::kind::Kind;

/// Prints to stdout. Clones share their state.
#[derive(Clone)]
pub(crate) struct Console(Arc<Inner>);

struct Inner {
    env: Env,
    colours: bool,
    widths: Mutex<Widths>,
}

/// The columns grow with what they hold and never shrink, so that lines stay under one another.
struct Widths {
    controller: usize,
    key: usize,
}

impl Console {
    /// Colours only on a terminal, and not where `NO_COLOR` is set.
    pub(crate) fn new() -> Self {
        let colours = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Self(Arc::new(Inner {
            env: Env::system(),
            colours,
            widths: Mutex::new(Widths {
                controller: 10,
                key: 16,
            }),
        }))
    }

    /// The URL, and the line that lets kubectl find it.
    pub(crate) fn welcome(&self, operator: &str, url: &str, kubeconfig: &Path) {
        self.print(&format!(
            "{operator} runs against an API server of its own at {url}\n\n    export KUBECONFIG={}\n\n\
             Ctrl-C stops both; nothing is kept.\n",
            shell_word(&kubeconfig.display().to_string())
        ));
    }

    /// An object of `--apply` is in.
    pub(crate) fn applied(&self, object: &Value) {
        self.event("applied", GREEN, &title(object));
    }

    /// An object of `--apply` was refused, and `dev` goes on.
    pub(crate) fn refused(&self, error: &InstallError) {
        self.event("error", RED, &error.to_string());
    }

    pub(crate) fn stopping(&self) {
        self.event("stop", DIM, "running reconciles end, then the Lease is given back");
    }

    pub(crate) fn stopped(&self, after: Duration) {
        self.event("stop", DIM, &format!("done after {}", short(after)));
    }

    fn event(&self, what: &str, colour: &str, text: &str) {
        self.print(&format!(
            "{}  {}  {:>8}  {text}",
            self.dim(&self.clock()),
            self.colour(colour, &format!("{what:<7}")),
            ""
        ));
    }

    fn clock(&self) -> String {
        self.0.env.now().strftime("%H:%M:%S.%3f").to_string()
    }

    fn dim(&self, text: &str) -> String {
        self.colour(DIM, text)
    }

    fn colour(&self, code: &str, text: &str) -> String {
        if self.0.colours {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    fn print(&self, line: &str) {
        // A closed pipe (`dev | head`) must not take the operator down.
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{line}");
        let _ = out.flush();
    }

    fn line(&self, report: &Report) -> String {
        let (controller, key) = {
            let mut widths = self.0.widths.lock().unwrap_or_else(PoisonError::into_inner);
            let key = report.key.to_string();
            widths.controller = widths.controller.max(report.controller.chars().count());
            widths.key = widths.key.max(key.chars().count()).min(48);
            (
                format!("{:<1$}", report.controller, widths.controller),
                format!("{key:<0$}", widths.key),
            )
        };
        let (word, colour) = verdict(&report.outcome);
        let phase = match report.phase {
            Phase::Cleanup => "clean-up: ",
            Phase::Paused => "paused: ",
            _ => "",
        };
        let mut line = format!(
            "{}  {}  {:>8}  {controller}  {key}  {phase}{} {} {}",
            self.dim(&self.clock()),
            self.colour(colour, &format!("{word:<7}")),
            short(report.duration),
            reasons(report),
            self.dim("→"),
            writes(report),
        );
        if let Some(more) = remark(&report.outcome) {
            let _ = write!(line, " {} {}", self.dim("·"), self.colour(colour, &more));
        }
        line
    }
}

impl Observer for Console {
    fn reconciled(&self, report: &Report) {
        // Runs in which none of the author's functions was called are of no interest here.
        if !matches!(report.phase, Phase::Gone | Phase::Idle) {
            self.print(&self.line(report));
        }
    }

    fn leadership(&self, leadership: &Leadership) {
        let text = match leadership {
            Leadership::Leading => return self.event("leads", DIM, "holds the Lease"),
            Leadership::Following(other) => format!("waits: {other} holds the Lease"),
            Leadership::Lost => "lost the Lease".to_owned(),
            Leadership::Released => "gave the Lease back".to_owned(),
        };
        self.event("leads", DIM, &text);
    }
}

const DIM: &str = "2";
const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";

fn verdict(outcome: &Outcome) -> (&'static str, &'static str) {
    match outcome {
        Outcome::Done | Outcome::Requeue(_) => ("ok", GREEN),
        Outcome::Error { .. } | Outcome::Terminal { .. } => ("error", RED),
        Outcome::Panicked { .. } => ("panic", RED),
        Outcome::TimedOut { .. } => ("timeout", YELLOW),
    }
}

fn remark(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Done => None,
        Outcome::Requeue(after) => Some(format!("again in {}", short(*after))),
        Outcome::Error { message, retry_in } | Outcome::Panicked { message, retry_in } => {
            Some(format!("{}; retry in {}", one_line(message), short(*retry_in)))
        }
        Outcome::Terminal { message } => Some(format!("{}; waits for a change", one_line(message))),
        Outcome::TimedOut { after, retry_in } => Some(format!(
            "cancelled after {}; retry in {}",
            short(*after),
            short(*retry_in)
        )),
    }
}

/// Why it ran, leaving out what the line says already: the primary's name, which most children share, and its
/// namespace.
fn reasons(report: &Report) -> String {
    let mut text = String::new();
    for reason in report.reasons.as_slice() {
        if !text.is_empty() {
            text.push_str(", ");
        }
        let of = |kind: &Kind, key: &ObjectKey| subject(report, kind, key);
        let _ = match reason {
            Reason::FirstList { kind, key } => write!(text, "{} listed", of(kind, key)),
            Reason::Created {
                kind, key, own: true, ..
            } => write!(text, "own {} appeared", of(kind, key)),
            Reason::Created { kind, key, .. } => write!(text, "{} created", of(kind, key)),
            Reason::Changed {
                kind, key, fields, own, ..
            } => {
                let (subject, fields) = (of(kind, key), fields.to_string());
                match &*fields {
                    "" => write!(text, "{subject} changed"),
                    _ if fields.contains("metadata.deletionTimestamp") => write!(text, "{subject} is being deleted"),
                    _ if *own => write!(text, "own write of {subject} {fields}"),
                    _ => write!(text, "{subject} {fields} changed"),
                }
            }
            Reason::Deleted { kind, key } => write!(text, "{} deleted", of(kind, key)),
            other => write!(text, "{other}"),
        };
    }
    if report.reasons.dropped() > 0 {
        let _ = write!(text, ", {} more", report.reasons.dropped());
    }
    text
}

fn subject(report: &Report, kind: &Kind, key: &ObjectKey) -> String {
    if *key == report.key {
        kind.kind().to_owned()
    } else if key.namespace == report.key.namespace {
        format!("{} {}", kind.kind(), key.name)
    } else {
        format!("{} {key}", kind.kind())
    }
}

/// What was written, by verb; skipped applies are counted only.
fn writes(report: &Report) -> String {
    let mut by_verb: BTreeMap<usize, (String, Vec<String>)> = BTreeMap::new();
    let mut order: Vec<String> = Vec::new();
    let mut unchanged = 0;
    for write in &report.writes {
        let verb = match &write.outcome {
            WriteOutcome::Skipped => {
                unchanged += 1;
                continue;
            }
            WriteOutcome::Sent { .. } => past(write.verb).to_owned(),
            WriteOutcome::Failed { .. } => format!("failed to {}", write.verb),
        };
        let place = order.iter().position(|v| *v == verb).unwrap_or_else(|| {
            order.push(verb.clone());
            order.len() - 1
        });
        let entry = by_verb.entry(place).or_insert_with(|| (verb, Vec::new()));
        entry.1.push(object_written(report, write));
    }
    let mut parts: Vec<String> = by_verb
        .into_values()
        .map(|(verb, objects)| format!("{verb} {}", objects.join(", ")))
        .collect();
    match (parts.is_empty(), unchanged) {
        (true, 0) => "wrote nothing".to_owned(),
        (true, _) => "nothing to change".to_owned(),
        (false, 0) => parts.join("; "),
        (false, n) => {
            parts.push(format!("{n} unchanged"));
            parts.join("; ")
        }
    }
}

fn object_written(report: &Report, write: &WriteRecord) -> String {
    let kind = write.kind.kind();
    let sub = write.subresource.map(|s| format!("/{s}")).unwrap_or_default();
    if write.key == report.key {
        format!("{kind}{sub}")
    } else {
        format!("{kind}{sub} {}", write.key.name)
    }
}

fn past(verb: &str) -> &str {
    match verb {
        "apply" => "applied",
        "create" => "created",
        "update" => "updated",
        "patch" => "patched",
        "delete" => "deleted",
        other => other,
    }
}

/// A duration in three figures at most.
fn short(duration: Duration) -> String {
    let micros = duration.as_micros();
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..10_000 => format!("{:.1} ms", duration.as_secs_f64() * 1e3),
        10_000..1_000_000 => format!("{} ms", micros / 1_000),
        1_000_000..60_000_000 => format!("{:.1} s", duration.as_secs_f64()),
        _ => format!("{} min", micros / 60_000_000),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Quotes what a shell would take apart.
fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@".contains(c);
    if text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
