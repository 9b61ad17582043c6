//! Status conditions: set one, keep the time of its last transition.
//!
//! The rules are those of `meta.SetStatusCondition`: one entry per type; `lastTransitionTime` moves only when the
//! status changes; `observedGeneration` says which spec the condition speaks of.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::{Schema, SchemaGenerator};

pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

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

/// The object that conditions speak of, as a reconcile saw it: its generation, the conditions it has, and the time.
/// [`Context::observed`](crate::Context::observed) makes it.
#[derive(Clone, Debug)]
pub struct Observed<'a> {
    before: &'a [Condition],
    generation: Option<i64>,
    now: Timestamp,
}

impl<'a> Observed<'a> {
    /// An object that has these conditions.
    #[must_use]
    pub fn new(before: &'a [Condition], generation: Option<i64>, now: Timestamp) -> Self {
        Self {
            before,
            generation,
            now,
        }
    }

    /// Since when a condition of that type has had that status.
    fn since(&self, kind: &str, status: &str) -> Time {
        let before = self.before.iter().find(|c| c.type_ == kind && c.status == status);
        before.map_or_else(|| Time(self.now), |c| c.last_transition_time.clone())
    }
}

/// A status with conditions; `#[derive(StatusConditions)]` implements it.
///
/// Start from an empty status and set what the controller has to say: conditions of other writers are not sent, and so
/// stay theirs.
pub trait StatusConditions {
    /// The conditions, in the order in which they were set first.
    fn conditions(&self) -> &[Condition];

    /// The same, to be changed.
    fn conditions_mut(&mut self) -> &mut Vec<Condition>;

    /// Sets one condition as `meta.SetStatusCondition` does: `observedGeneration` is the object's generation, and
    /// `lastTransitionTime` moves only when the status changes. `kind` and `reason` are CamelCase words, `message` is for
    /// a person.
    fn set_condition(
        &mut self,
        observed: &Observed<'_>,
        kind: &str,
        status: impl Into<ConditionStatus>,
        reason: &str,
        message: impl Into<String>,
    ) where
        Self: Sized,
    {
        let status = status.into().as_str();
        let condition = Condition {
            type_: kind.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: message.into(),
            observed_generation: observed.generation,
            last_transition_time: observed.since(kind, status),
        };
        let conditions = self.conditions_mut();
        match conditions.iter_mut().find(|condition| condition.type_ == kind) {
            Some(before) => *before = condition,
            None => conditions.push(condition),
        }
    }

    /// The condition of a type.
    fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions().iter().find(|condition| condition.type_ == kind)
    }

    /// Whether a condition is there and `True`.
    fn is_true(&self, kind: &str) -> bool {
        self.condition(kind).is_some_and(|condition| condition.status == "True")
    }

    /// Takes a condition out.
    fn remove_condition(&mut self, kind: &str) {
        self.conditions_mut().retain(|condition| condition.type_ != kind);
    }
}

/// The schema of a list of conditions with one entry per type: `x-kubernetes-list-type: map`, keyed by `type`.
#[must_use]
pub fn schema(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = generator.subschema_for::<Vec<Condition>>();
    schema.insert("x-kubernetes-list-type".to_owned(), "map".into());
    schema.insert("x-kubernetes-list-map-keys".to_owned(), serde_json::json!(["type"]));
    schema
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

    struct Plain(Vec<Condition>);

    impl StatusConditions for Plain {
        fn conditions(&self) -> &[Condition] {
            &self.0
        }

        fn conditions_mut(&mut self) -> &mut Vec<Condition> {
            &mut self.0
        }
    }

    #[test]
    fn a_condition_that_is_set_again_keeps_its_place_and_while_its_status_stays_its_time() {
        let mut first = Plain(Vec::new());
        let new = Observed::new(&[], Some(1), at(10));
        first.set_condition(&new, "Ready", false, "Starting", "");
        let mut status = Plain(Vec::new());
        let seen = Observed::new(&first.0, Some(2), at(20));
        status.set_condition(&seen, "Ready", false, "Waiting", "no pods");
        status.set_condition(&seen, "Degraded", false, "Fine", "");
        let ready = status.condition("Ready").expect("it is set");
        assert_eq!(ready.last_transition_time, Time(at(10)));
        assert_eq!((ready.observed_generation, &*ready.reason), (Some(2), "Waiting"));
        status.set_condition(&seen, "Ready", true, "Up", "");
        let kinds: Vec<&str> = status.conditions().iter().map(|c| &*c.type_).collect();
        assert_eq!(kinds, ["Ready", "Degraded"]);
        assert!(status.is_true("Ready") && !status.is_true("Degraded") && !status.is_true("Other"));
        assert_eq!(status.0[0].last_transition_time, Time(at(20)));
        status.remove_condition("Ready");
        assert_eq!(status.0.len(), 1);
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
