//! Figures as a table on standard output and as lines of JSON in a file.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use serde_json::json;

use crate::Failure;

/// Something that is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    /// The name in the table and in the file.
    pub(crate) name: &'static str,
    /// What is measured, for readers of the table.
    pub(crate) what: &'static str,
    /// The unit of both values.
    pub(crate) unit: &'static str,
    /// What must hold.
    pub(crate) limit: Limit,
    /// How often it is measured.
    pub(crate) samples: usize,
}

/// What must hold for a case.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Limit {
    /// Our median is at most so many times the peer's.
    Times(f64),
    /// Our median is at most this, in the case's unit.
    AtMost(f64),
    /// Nothing: the figure is for information.
    None,
}

#[derive(Debug)]
pub(super) struct Figure {
    pub(super) case: Case,
    pub(super) ours: f64,
    pub(super) peer: Option<f64>,
    pub(super) samples: usize,
}

impl Figure {
    fn times(&self) -> Option<f64> {
        self.peer.map(|peer| self.ours / peer)
    }

    fn holds(&self) -> bool {
        match self.case.limit {
            Limit::Times(limit) => self.times().is_some_and(|times| times <= limit),
            Limit::AtMost(limit) => self.ours <= limit,
            Limit::None => true,
        }
    }
}

#[derive(Debug)]
pub(super) struct Report {
    suite: &'static str,
    file: Option<File>,
    broken: usize,
}

impl Report {
    pub(super) fn start(suite: &'static str, json: Option<&Path>) -> Result<Self, Failure> {
        let create = |path: &Path| {
            File::create(path).map_err(|e| format!("cannot write {}: {e}; choose another --json file", path.display()))
        };
        let file = json.map(create).transpose()?;
        println!(
            "{:<22} {:>10} {:>10} {:<6} {:>8} {:>8}  {:<7} {:>3}  what",
            suite, "ours", "peer", "unit", "times", "limit", "", "n"
        );
        Ok(Self { suite, file, broken: 0 })
    }

    pub(super) fn add(&mut self, figure: &Figure) -> Result<(), Failure> {
        let Case {
            name,
            unit,
            what,
            limit,
            ..
        } = figure.case;
        let holds = figure.holds();
        self.broken += usize::from(!holds);
        let verdict = match limit {
            Limit::None => "",
            _ if holds => "holds",
            _ => "BROKEN",
        };
        let limit = match limit {
            Limit::Times(times) => format!("{times}x"),
            Limit::AtMost(most) => format!("{most}"),
            Limit::None => String::new(),
        };
        let peer = figure.peer.map(|peer| format!("{peer:.2}")).unwrap_or_default();
        let times = figure.times().map(|times| format!("{times:.2}x")).unwrap_or_default();
        println!(
            "{name:<22} {:>10.2} {peer:>10} {unit:<6} {times:>8} {limit:>8}  {verdict:<7} {:>3}  {what}",
            figure.ours, figure.samples
        );
        if let Some(file) = &mut self.file {
            let line = json!({
                "suite": self.suite, "case": name, "unit": unit,
                "ours": figure.ours, "peer": figure.peer, "samples": figure.samples,
            });
            writeln!(file, "{line}")?;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> bool {
        self.broken == 0
    }
}
