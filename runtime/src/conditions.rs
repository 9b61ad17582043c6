//! Status conditions: set one, keep the time of its last transition.
//!
//! The rules are those of `meta.SetStatusCondition`: one entry per type; `lastTransitionTime` moves only when the
//! status changes; `observedGeneration` says which spec the condition speaks of.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// The three values of a condition's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionStatus {
    /// The condition holds.
    True,
    /// It does not hold.
    False,
    /// It cannot be told.
    Unknown,
}

impl ConditionStatus {
    /// `True`, `False` or `Unknown`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl From<bool> for ConditionStatus {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

/// Builds the conditions of a status from those it had: unchanged ones keep their transition time.
#[derive(Clone, Debug)]
pub struct Conditions {
    before: Vec<Condition>,
    now: Timestamp,
    generation: Option<i64>,
    set: Vec<Condition>,
}

impl Conditions {
    /// Starts from the conditions that the object has now. `generation` is the object's, `now` comes from `cx.now()`.
    #[must_use]
    pub fn new(before: &[Condition], generation: Option<i64>, now: Timestamp) -> Self {
        Self {
            before: before.to_vec(),
            now,
            generation,
            set: Vec::new(),
        }
    }

    /// Sets one condition. `kind` and `reason` are CamelCase words, `message` is for a person; setting a type twice
    /// keeps the later one.
    #[must_use]
    pub fn with(
        mut self,
        kind: &str,
        status: impl Into<ConditionStatus>,
        reason: &str,
        message: impl Into<String>,
    ) -> Self {
        let status = status.into().as_str();
        let since = self
            .before
            .iter()
            .find(|c| c.type_ == kind && c.status == status)
            .map_or_else(|| Time(self.now), |c| c.last_transition_time.clone());
        self.set.retain(|c| c.type_ != kind);
        self.set.push(Condition {
            type_: kind.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: message.into(),
            observed_generation: self.generation,
            last_transition_time: since,
        });
        self
    }

    /// The conditions, in the order in which they were set. Types that were not set again are gone.
    #[must_use]
    pub fn build(self) -> Vec<Condition> {
        self.set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).expect("a small number of seconds is a timestamp")
    }

    #[test]
    fn a_condition_that_keeps_its_status_keeps_its_transition_time() {
        let first = Conditions::new(&[], Some(1), at(10))
            .with("Ready", false, "Starting", "")
            .build();
        let second = Conditions::new(&first, Some(2), at(20))
            .with("Ready", false, "Waiting", "no pods")
            .build();
        assert_eq!(second[0].last_transition_time, Time(at(10)));
        assert_eq!(second[0].observed_generation, Some(2));
        assert_eq!(second[0].reason, "Waiting");
    }

    #[test]
    fn a_condition_that_changes_its_status_takes_the_time_of_now() {
        let first = Conditions::new(&[], None, at(10))
            .with("Ready", false, "Starting", "")
            .build();
        let second = Conditions::new(&first, None, at(20))
            .with("Ready", true, "Ready", "")
            .build();
        assert_eq!(second[0].last_transition_time, Time(at(20)));
    }

    #[test]
    fn setting_a_type_twice_keeps_the_later_one() {
        let set = Conditions::new(&[], None, at(0))
            .with("Ready", true, "A", "")
            .with("Ready", false, "B", "")
            .build();
        assert_eq!(set.len(), 1);
        assert_eq!(set[0].reason, "B");
    }
}
