//! Which seeds a test runs with, and how often.

use std::env::{self, VarError};

use super::test::Test;

/// One seed: `KUBEWRIGHT_SEED=7`. It wins over what the test says, so that a failure is run again as it was.
const SEED: &str = "KUBEWRIGHT_SEED";
/// Many seeds: `KUBEWRIGHT_SEEDS=100` (1 to 100), or a range as Rust writes it, `KUBEWRIGHT_SEEDS=100..200`.
const SEEDS: &str = "KUBEWRIGHT_SEEDS";
/// How often each seed runs.
const REPEAT: &str = "KUBEWRIGHT_REPEAT";
/// Set to anything: one run in the test's own process, for debuggers.
const IN_PROCESS: &str = "KUBEWRIGHT_IN_PROCESS";

/// The seed of a test that nobody gave one: the same today and tomorrow. A test that fails by luck of the draw belongs
/// into a job that looks for such seeds, not into somebody's unrelated change.
pub(crate) const DEFAULT_SEED: u64 = 1;

/// Twice, so that order which comes from elsewhere than the seed is found.
const DEFAULT_REPEAT: u32 = 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// At least one.
    pub(super) seeds: Vec<u64>,
    /// At least one.
    pub(super) repeat: u32,
    pub(super) in_process: bool,
}

pub(super) fn from_environment(test: &Test) -> Result<Plan, String> {
    plan(test, |name| match env::var(name) {
        Ok(value) => Ok(Some(value)),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err(format!("{name} is not UTF-8")),
    })
}

/// The seed that the environment names, for clusters outside a seeded test.
pub(crate) fn seed_of_environment() -> Option<u64> {
    env::var(SEED).ok()?.parse().ok()
}

fn plan(test: &Test, variable: impl Fn(&str) -> Result<Option<String>, String>) -> Result<Plan, String> {
    let (one, many) = (variable(SEED)?, variable(SEEDS)?);
    let asked = variable(REPEAT)?.map(|text| number(REPEAT, &text)).transpose()?;
    let exploring = many.is_some();
    let seeds = match (one, many) {
        (Some(_), Some(_)) => return Err(format!("{SEED} and {SEEDS} are both set: unset one")),
        (Some(text), None) => vec![number(SEED, &text)?],
        (None, Some(text)) => range(&text)?,
        (None, None) => vec![test.seed.unwrap_or(DEFAULT_SEED)],
    };
    let repeat = match (test.repeat, asked) {
        (Some(1), _) => 1,
        (_, Some(0)) => return Err(format!("{REPEAT}=0 would test nothing: set 1 or more")),
        (_, Some(runs)) => u32::try_from(runs).map_err(|_| format!("{REPEAT}={runs} is too often"))?,
        (Some(runs), None) => runs,
        // Each seed more finds more than another run of the last one.
        (None, None) if exploring => 1,
        (None, None) => DEFAULT_REPEAT,
    };
    let in_process = variable(IN_PROCESS)?.is_some();
    Ok(Plan {
        seeds,
        repeat,
        in_process,
    })
}

fn number(name: &str, text: &str) -> Result<u64, String> {
    let text = text.trim();
    text.parse()
        .map_err(|_| format!("{name}={text} is no whole number: set it as in {name}=7"))
}

fn range(text: &str) -> Result<Vec<u64>, String> {
    let seeds = match text.trim().split_once("..") {
        None => 1..number(SEEDS, text)?.saturating_add(1),
        Some((from, to)) => number(SEEDS, from)?..number(SEEDS, to)?,
    };
    if seeds.is_empty() {
        return Err(format!(
            "{SEEDS}={text} names no seed: set it as in {SEEDS}=100 or {SEEDS}=100..200"
        ));
    }
    Ok(seeds.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(test: &Test, set: &[(&str, &str)]) -> Result<(Vec<u64>, u32), String> {
        let value = |name: &str| {
            set.iter()
                .find(|(n, _)| *n == name)
                .map(|(_, value)| (*value).to_owned())
        };
        plan(test, |name| Ok(value(name))).map(|plan| (plan.seeds, plan.repeat))
    }

    fn test() -> Test {
        Test::new("it", "works", None)
    }

    #[test]
    fn a_test_runs_twice_with_the_same_seed_every_day() {
        assert_eq!(with(&test(), &[]), Ok((vec![1], 2)));
        assert_eq!(with(&test().seed(9).repeat(3), &[]), Ok((vec![9], 3)));
    }

    #[test]
    fn the_environment_names_seeds_and_repeats() {
        assert_eq!(with(&test().seed(9), &[(SEED, "4")]), Ok((vec![4], 2)));
        assert_eq!(with(&test(), &[(SEEDS, "3")]), Ok((vec![1, 2, 3], 1)));
        assert_eq!(with(&test(), &[(SEEDS, "5..7"), (REPEAT, "2")]), Ok((vec![5, 6], 2)));
        assert_eq!(with(&test().repeat(3), &[(REPEAT, "20")]), Ok((vec![1], 20)));
    }

    #[test]
    fn a_test_that_must_not_be_compared_never_is() {
        assert_eq!(with(&test().repeat(1), &[(REPEAT, "20")]), Ok((vec![1], 1)));
    }

    #[test]
    fn what_the_environment_gets_wrong_is_said() {
        let wrong = |set: &[(&str, &str)]| with(&test(), set).expect_err("wrong");
        assert!(wrong(&[(SEED, "x")]).contains("KUBEWRIGHT_SEED=x is no whole number"));
        assert!(wrong(&[(SEED, "1"), (SEEDS, "2")]).contains("both set"));
        assert!(wrong(&[(SEEDS, "0")]).contains("names no seed"));
        assert!(wrong(&[(SEEDS, "7..7")]).contains("names no seed"));
        assert!(wrong(&[(REPEAT, "0")]).contains("test nothing"));
    }
}
