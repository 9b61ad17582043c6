//! What the attribute says of one test.

use std::time::Duration;

use jiff::Timestamp;

use super::{Outcome, Parameter, child, context, plan, process, verdict};
use crate::cluster::TestCluster;
use crate::latency::Latency;

/// The longest that a test lasts in its own time, unless it says otherwise.
const TIMEOUT: Duration = Duration::from_secs(24 * 3600);

/// One test: `#[kubewright_testkit::test]` expands to calls of these methods, named as its options.
#[derive(Clone, Debug)]
#[must_use = "a test does nothing until `run`"]
pub struct Test {
    pub(super) module: &'static str,
    pub(super) function: &'static str,
    pub(super) package: Option<&'static str>,
    pub(super) seed: Option<u64>,
    pub(super) repeat: Option<u32>,
    pub(super) latency: Latency,
    pub(super) now: Timestamp,
    pub(super) timeout: Duration,
    pub(super) should_panic: bool,
}

impl Test {
    /// The test `function` of the module that `module_path!()` names, in the package that Cargo names.
    pub fn new(module: &'static str, function: &'static str, package: Option<&'static str>) -> Self {
        Self {
            module,
            function,
            package,
            seed: None,
            repeat: None,
            latency: Latency::default(),
            now: context::start(),
            timeout: TIMEOUT,
            should_panic: false,
        }
    }

    /// The seed, unless the environment names one. Default: 1.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// How often each seed runs, unless the environment says. 1 is the test's last word: its runs are never compared.
    ///
    /// # Panics
    ///
    /// With 0, which would test nothing.
    pub fn repeat(mut self, runs: u32) -> Self {
        assert!(runs > 0, "`repeat = 0` would test nothing: write 1 or more");
        self.repeat = Some(runs);
        self
    }

    /// How long requests, answers and events are on their way.
    pub fn latency(mut self, least: Duration, most: Duration) -> Self {
        self.latency = Latency::between(least, most);
        self
    }

    /// The wall-clock time at the start.
    ///
    /// # Panics
    ///
    /// When the text is no time as RFC 3339 writes it.
    pub fn now(mut self, text: &str) -> Self {
        match text.parse() {
            Ok(now) => self.now = now,
            Err(error) => panic!("`now = \"{text}\"` is no time: {error}; write it as in \"2026-03-01T12:00:00Z\""),
        }
        self
    }

    /// How much of its own time the test may take.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The test bears `#[should_panic]`: libtest takes a panic for success, so a difference must not be one.
    pub fn should_panic(mut self) -> Self {
        self.should_panic = true;
        self
    }

    /// Runs a body that makes its own clusters, or none.
    ///
    /// # Panics
    ///
    /// When a run fails, or two runs of one seed differ.
    pub fn run<O, B, F>(self, body: B)
    where
        O: Outcome,
        B: FnOnce() -> F + Send + 'static,
        F: Future<Output = O>,
    {
        if let Some(seed) = child::asked_for(&self.path()) {
            child::run(self, seed, body);
        }
        let plan = match plan::from_environment(&self) {
            Ok(plan) => plan,
            Err(wrong) => panic!("{wrong}"),
        };
        let runs = match plan.in_process {
            true => process::run_here(&self, &plan, body),
            false => process::run_all(&self, &plan),
        };
        verdict::give(&self, &runs);
    }

    /// Runs a body that is given a cluster with the builder's defaults.
    ///
    /// # Panics
    ///
    /// As [`Test::run`].
    pub fn run_with<P, O, B, F>(self, body: B)
    where
        P: Parameter,
        O: Outcome,
        B: FnOnce(P) -> F + Send + 'static,
        F: Future<Output = O>,
    {
        self.run(move || async move { body(P::of(TestCluster::start())).await });
    }

    /// The name by which libtest knows the test: the path without the crate.
    pub(super) fn path(&self) -> String {
        match self.module.split_once("::") {
            Some((_, module)) => format!("{module}::{}", self.function),
            None => self.function.to_owned(),
        }
    }
}

/// The options of the attribute as fields, which is where an editor finds their names and documentation.
#[derive(Debug, Default)]
pub struct TestKeys {
    /// `seed = 7`: what everything random follows from, unless the environment names another. Default: 1.
    pub seed: (),
    /// `repeat = 3`: how often each seed runs; the stories must be the same. 1: never compared. Default: 2.
    pub repeat: (),
    /// `latency = "1ms..20ms"`, `latency = "none"`: how long requests, answers and events are on their way.
    pub latency: (),
    /// `now = "2026-03-01T12:00:00Z"`: the wall-clock time at the start. Default: the first of January 2026.
    pub now: (),
    /// `timeout = "2h"`: how much of its own time the test may take. Default: a day.
    pub timeout: (),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_named_as_libtest_names_it() {
        assert_eq!(Test::new("operator::life", "it_works", None).path(), "life::it_works");
        assert_eq!(Test::new("operator", "it_works", None).path(), "it_works");
    }
}
