//! Who is asked a second time, after somebody later changed the object.
//!
//! The mutating plugins run again, once, when one of them changed the object. Policies and webhooks are called again
//! only if they ask for it and came before a change.

use std::collections::BTreeSet;

use serde_json::Value;

/// The course of the mutating plugins for one request.
#[derive(Debug, Default)]
pub(super) struct Reinvocation {
    /// Whether this is the second time.
    again: bool,
    /// Whether somebody changed the object.
    changed: bool,
}

impl Reinvocation {
    /// Begins the second time, if there has to be one.
    pub(super) fn begin(&mut self) -> bool {
        self.again = self.changed && !self.again;
        self.again
    }
}

/// The callees of one plugin: all policies, or all webhooks.
#[derive(Debug, Default)]
pub(super) struct Callees {
    /// Those that may be called again, called since the last change.
    called: BTreeSet<String>,
    due: BTreeSet<String>,
    output: Option<Value>,
}

impl Callees {
    /// To be called before the first of them is, with the object as it is then.
    pub(super) fn start(&mut self, turn: &Reinvocation, object: &Value) {
        if turn.again && self.output.as_ref().is_some_and(|output| output != object) {
            self.due.append(&mut self.called);
        }
    }

    /// Whether the callee's turn has come.
    pub(super) fn is_due(&self, turn: &Reinvocation, id: &str) -> bool {
        !turn.again || self.due.contains(id)
    }

    /// To be called after a callee was.
    pub(super) fn called(&mut self, turn: &mut Reinvocation, id: &str, changed: bool, may_again: bool) {
        if changed {
            self.due.append(&mut self.called);
            turn.changed = true;
        }
        if may_again {
            self.called.insert(id.to_owned());
        }
    }

    /// To be called after the last of them was.
    pub(super) fn end(&mut self, object: &Value) {
        self.output = Some(object.clone());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_those_before_a_change_are_called_again_and_only_once() {
        let (mut turn, mut callees) = (Reinvocation::default(), Callees::default());
        let object = json!({});
        callees.start(&turn, &object);
        callees.called(&mut turn, "before", false, true);
        callees.called(&mut turn, "never again", false, false);
        callees.called(&mut turn, "changes", true, true);
        callees.called(&mut turn, "after", false, true);
        callees.end(&object);
        assert!(turn.begin());
        callees.start(&turn, &object);
        let due = ["before", "never again", "changes", "after"].map(|id| callees.is_due(&turn, id));
        assert_eq!(due, [true, false, false, false]);
        assert!(!turn.begin());
    }

    #[test]
    fn a_change_by_others_calls_all_again_that_may_be() {
        let (mut turn, mut callees) = (Reinvocation::default(), Callees::default());
        callees.start(&turn, &json!({}));
        callees.called(&mut turn, "a", false, true);
        callees.end(&json!({}));
        Callees::default().called(&mut turn, "other", true, false);
        assert!(turn.begin());
        callees.start(&turn, &json!({ "changed": true }));
        assert!(callees.is_due(&turn, "a"));
    }
}
