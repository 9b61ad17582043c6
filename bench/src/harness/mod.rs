//! What every suite shares: cases measured in turns with their peer, medians, a table and a file of JSON lines.
//!
//! A suite makes a [`Suite`], measures its cases and ends with [`Suite::finish`]. What is compared is measured in one
//! run, ours and the peer by turns, so that a machine that slows down slows both.

mod report;
mod stats;

use std::path::PathBuf;

pub(crate) use self::report::Case;
pub(crate) use self::report::Limit;
use self::report::{Figure, Report};
use self::stats::median;
pub(crate) use self::stats::thread_cpu;
use crate::Failure;

/// What every suite can be told.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    /// File for the figures, one JSON object a line: suite, case, unit, ours, peer, samples
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Measure this case only; may be given several times
    #[arg(long, value_name = "CASE")]
    only: Vec<String>,
    /// How often each case is measured [default: the case's own number]
    #[arg(long, value_name = "N")]
    samples: Option<usize>,
}

impl Options {
    /// How often a case is measured.
    pub(crate) fn turns(&self, case: &Case) -> usize {
        self.samples.unwrap_or(case.samples).max(1)
    }
}

/// One run of one suite.
#[derive(Debug)]
pub(crate) struct Suite {
    options: Options,
    report: Report,
}

impl Suite {
    /// Starts a suite; its figures are printed as they come.
    ///
    /// # Errors
    /// When the file for the figures cannot be written.
    pub(crate) fn start(name: &'static str, options: &Options) -> Result<Self, Failure> {
        Ok(Self {
            options: options.clone(),
            report: Report::start(name, options.json.as_deref())?,
        })
    }

    /// Whether a case is to be measured: what it needs may be costly to prepare.
    pub(crate) fn wants(&self, case: &Case) -> bool {
        self.options.only.is_empty() || self.options.only.iter().any(|name| name == case.name)
    }

    /// How often a case is measured.
    pub(crate) fn samples(&self, case: &Case) -> usize {
        self.options.turns(case)
    }

    /// Measures ours and the peer by turns, after one unmeasured turn of each. Each closure answers one measured value
    /// in the case's unit; see [`microseconds`].
    ///
    /// # Errors
    /// The first failure of a turn.
    pub(crate) async fn compare(
        &mut self,
        case: Case,
        mut ours: impl AsyncFnMut() -> Result<f64, Failure>,
        mut peer: impl AsyncFnMut() -> Result<f64, Failure>,
    ) -> Result<(), Failure> {
        if !self.wants(&case) {
            return Ok(());
        }
        ours().await?;
        peer().await?;
        let (mut of_ours, mut of_peer) = (Vec::new(), Vec::new());
        for _ in 0..self.samples(&case) {
            of_ours.push(ours().await?);
            of_peer.push(peer().await?);
        }
        self.record(&case, &of_ours, &of_peer)
    }

    /// Measures something that has no peer.
    ///
    /// # Errors
    /// The first failure of a turn.
    pub(crate) async fn measure(
        &mut self,
        case: Case,
        mut ours: impl AsyncFnMut() -> Result<f64, Failure>,
    ) -> Result<(), Failure> {
        if !self.wants(&case) {
            return Ok(());
        }
        let mut values = Vec::new();
        for _ in 0..self.samples(&case) {
            values.push(ours().await?);
        }
        self.record(&case, &values, &[])
    }

    /// Records values that the suite measured itself; no peer is an empty slice.
    ///
    /// # Errors
    /// When the file for the figures cannot be written.
    pub(crate) fn record(&mut self, case: &Case, ours: &[f64], peer: &[f64]) -> Result<(), Failure> {
        self.report.add(&Figure {
            case: *case,
            ours: median(ours),
            peer: (!peer.is_empty()).then(|| median(peer)),
            samples: ours.len(),
        })
    }

    /// Ends the suite; answers whether every limit held.
    pub(crate) fn finish(self) -> bool {
        self.report.finish()
    }
}

/// CPU time of this thread for `rounds` rounds of something, as microseconds for each.
///
/// CPU time, unlike the time on the wall, does not depend on what else the machine is doing. It is that of one thread:
/// for suites that run on a runtime of one thread.
///
/// # Errors
/// The first failure of a round.
pub(crate) async fn microseconds(
    rounds: u32,
    mut round: impl AsyncFnMut() -> Result<(), Failure>,
) -> Result<f64, Failure> {
    let began = thread_cpu();
    for _ in 0..rounds {
        round().await?;
    }
    Ok((thread_cpu() - began) / f64::from(rounds.max(1)))
}
