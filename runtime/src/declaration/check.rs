use std::collections::BTreeSet;
use std::fmt;

use crate::declaration::{Declaration, Declared, Role};
use crate::grants::Declare;

/// A declaration that makes no sense. The attribute finds these at compile time; a hand-written one, here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidDeclaration {
    /// Name of the controller.
    pub controller: String,
    /// What is wrong, each with what to write instead.
    pub problems: Vec<String>,
}

impl fmt::Display for InvalidDeclaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "controller `{}`: {}", self.controller, self.problems.join("; "))
    }
}

impl std::error::Error for InvalidDeclaration {}

impl<C: Declare> Declaration<C> {
    /// Finds what the type system cannot, so that a manager refuses it before it starts.
    ///
    /// # Errors
    ///
    /// Every problem at once.
    pub fn check(&self) -> Result<(), InvalidDeclaration> {
        self.declared().check()
    }
}

impl Declared {
    /// See [`Declaration::check`].
    ///
    /// # Errors
    ///
    /// Every problem at once.
    pub fn check(&self) -> Result<(), InvalidDeclaration> {
        let mut problems = Vec::new();
        let primaries = self.watches.iter().filter(|w| matches!(w.role, Role::Primary)).count();
        match primaries {
            0 => problems.push("no primary kind: call `for_::<K>()`".to_owned()),
            1 => {}
            _ => problems.push("several primary kinds: call `for_` once".to_owned()),
        }
        let primary_is_first = self.watches.first().is_some_and(|w| matches!(w.role, Role::Primary));
        if primaries == 1 && !primary_is_first {
            problems.push("`for_` comes late: call it before the other keys".to_owned());
        }
        if self.name.is_empty() {
            problems.push("the name is empty: call `name(\"…\")`".to_owned());
        }
        if self.workers == 0 {
            problems.push("`workers` is 0, so nothing would run: use 1 or more".to_owned());
        }
        if self.backoff.min.is_zero() || self.backoff.min > self.backoff.max {
            problems.push("`backoff` needs 0 < min <= max".to_owned());
        }
        if self.rate_limit.is_some_and(|l| l.per_second == 0 || l.burst == 0) {
            problems.push("`rate_limit` needs `per_second` and `burst` of at least 1".to_owned());
        }
        if self.resync.is_some_and(|d| d.is_zero()) {
            problems.push("`resync` of zero would never end: leave it out for none".to_owned());
        }
        if self.timeout.is_some_and(|d| d.is_zero()) {
            problems.push("`timeout` of zero stops every reconcile: leave it out for none".to_owned());
        }
        let mut seen = BTreeSet::new();
        for owned in self.owned() {
            if !seen.insert(&owned.kind) {
                problems.push(format!(
                    "`{}` is owned twice: merge the options into one `owns`",
                    owned.kind.kind()
                ));
            }
        }
        for kind in self.owned().map(|w| &w.kind).chain(&self.writes).chain(&self.updates) {
            if kind.group() == "rbac.authorization.k8s.io" && self.rules.is_empty() {
                problems.push(format!(
                    "writing `{}` hands out permissions, which the API server allows only to who has them: add \
                     `rbac(…)` with the permissions that it hands out, or with the verbs `escalate` and `bind`",
                    kind.kind()
                ));
            }
        }
        if problems.is_empty() {
            Ok(())
        } else {
            Err(InvalidDeclaration {
                controller: self.name.clone(),
                problems,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::rbac::v1::Role as RbacRole;

    use crate::prelude::*;
    use crate::rbac::PolicyRule;

    struct Granter<const RULES: bool>;

    impl<const RULES: bool> Declare for Granter<RULES> {
        type Primary = ConfigMap;

        fn declare(d: Declaration<Self>) -> Declaration<Self> {
            let d = d.for_::<ConfigMap>().owns::<RbacRole>();
            if RULES {
                d.rbac(PolicyRule::new("", ["pods"], ["get"]))
            } else {
                d
            }
        }
    }

    impl<const RULES: bool> Owns<RbacRole> for Granter<RULES> {}

    impl<const RULES: bool> Reconciler for Granter<RULES> {
        async fn reconcile(&self, _: Arc<ConfigMap>, _: &Context<Self>) -> Result<Action> {
            Ok(Action::await_change())
        }
    }

    struct Nonsense;

    impl Declare for Nonsense {
        type Primary = ConfigMap;

        fn declare(d: Declaration<Self>) -> Declaration<Self> {
            let backoff = crate::declaration::Backoff::default().min(Duration::from_secs(2000));
            d.workers(0).backoff(backoff).timeout(Duration::ZERO).rate_limit(0, 1)
        }
    }

    #[test]
    fn who_hands_out_permissions_declares_rules() {
        let error = Declaration::<Granter<false>>::of()
            .check()
            .expect_err("no rules")
            .to_string();
        assert!(
            error.starts_with("controller `granter`: writing `Role` hands out permissions"),
            "{error}"
        );
        assert_eq!(Declaration::<Granter<true>>::of().check(), Ok(()));
    }

    #[test]
    fn every_problem_is_told_at_once() {
        let problems = Declaration::<Nonsense>::of().check().expect_err("nonsense").problems;
        assert_eq!(problems.len(), 5, "{problems:?}");
    }
}
