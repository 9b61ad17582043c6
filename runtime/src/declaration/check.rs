use std::collections::BTreeSet;
use std::fmt;

use crate::cache::Selector;
use crate::declaration::{Adopt, Declaration, Declared, Role, WatchDecl};
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
        check_primary(self, &mut problems);
        check_numbers(self, &mut problems);
        check_texts(self, &mut problems);
        check_owned(self, &mut problems);
        check_escalation(self, &mut problems);
        check_warmup(self, &mut problems);
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

fn check_primary(declared: &Declared, problems: &mut Vec<String>) {
    let is_primary = |w: &WatchDecl| matches!(w.role, Role::Primary);
    match declared.watches.iter().filter(|w| is_primary(w)).count() {
        0 => problems.push("no primary kind: call `for_::<K>()`".to_owned()),
        1 if !declared.watches.first().is_some_and(is_primary) => {
            problems.push("`for_` comes late: call it before the other keys".to_owned());
        }
        1 => {}
        _ => problems.push("several primary kinds: call `for_` once".to_owned()),
    }
}

fn check_warmup(declared: &Declared, problems: &mut Vec<String>) {
    if declared.warmup && !declared.needs_leader {
        problems.push("`warmup` has nothing to warm up for without `needs_leader`: remove one of them".to_owned());
    }
}

fn check_numbers(declared: &Declared, problems: &mut Vec<String>) {
    if declared.workers == 0 {
        problems.push("`workers` is 0, so nothing would run: use 1 or more".to_owned());
    }
    if declared.backoff.min.is_zero() || declared.backoff.min > declared.backoff.max {
        problems.push("`backoff` needs 0 < min <= max".to_owned());
    }
    if declared.rate_limit.is_some_and(|l| l.per_second == 0 || l.burst == 0) {
        problems.push("`rate_limit` needs `per_second` and `burst` of at least 1".to_owned());
    }
    if declared.resync.is_some_and(|d| d.is_zero()) {
        problems.push("`resync` of zero would never end: leave it out for none".to_owned());
    }
    if declared.timeout.is_some_and(|d| d.is_zero()) {
        problems.push("`timeout` of zero stops every reconcile: leave it out for none".to_owned());
    }
}

/// Texts that the attribute has checked already, unless they came from constants.
fn check_texts(declared: &Declared, problems: &mut Vec<String>) {
    if !is_dns_label(&declared.name) {
        problems.push(format!(
            "{:?} is no name of a controller: use lower-case letters, digits and `-`, at most 63, as in \"app\"",
            declared.name
        ));
    }
    for finalizer in declared.finalizer.iter().chain(&declared.retired_finalizers) {
        let qualified = finalizer.split_once('/').is_some_and(|(domain, name)| {
            domain.split('.').all(is_dns_label) && !name.is_empty() && name.len() <= 63 && !name.contains('/')
        });
        if !qualified {
            problems.push(format!(
                "{finalizer:?} is no finalizer: write it as \"example.com/cleanup\""
            ));
        }
    }
    for manager in declared.field_manager.iter().chain(&declared.previous_managers) {
        if manager.is_empty() || manager.chars().count() > 128 || manager.chars().any(char::is_control) {
            problems.push(format!(
                "{manager:?} is no field manager: use 1 to 128 printable characters"
            ));
        }
    }
    if declared
        .ungranted_client
        .as_ref()
        .is_some_and(|reason| reason.trim().is_empty())
    {
        problems.push("`ungranted_client` has no reason: say what the grants cannot cover".to_owned());
    }
    for watch in &declared.watches {
        let adopted = match &watch.adopt {
            Adopt::Labels(selector) => Some(selector),
            Adopt::Never | Adopt::Always => None,
        };
        for selector in watch.labels.iter().chain(adopted) {
            if let Err(error) = Selector::parse(selector) {
                problems.push(format!("watch of `{}`: {error}", watch.kind.kind()));
            }
        }
        for error in &watch.not_stripped {
            problems.push(format!("watch of `{}`: {error}", watch.kind.kind()));
        }
        if !watch.strip.is_empty() && declared.updates.contains(&watch.kind) {
            problems.push(format!(
                "`{0}` is read without what `strip` leaves out, and `cx.update` would remove that from the server: leave \
                 out `strip` or `updates = {0}`",
                watch.kind.kind()
            ));
        }
    }
}

fn is_dns_label(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.len() <= 63 && text.chars().all(|c| inner(c) || c == '-') && text.starts_with(inner) && text.ends_with(inner)
}

fn check_owned(declared: &Declared, problems: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for owned in declared.children() {
        let kind = owned.kind.kind();
        if !seen.insert(&owned.kind) {
            problems.push(format!(
                "`{kind}` is owned or tracked twice: merge the options into one `owns` or `tracks`"
            ));
        }
        if owned.role.is_tracked() && declared.finalizer.is_none() {
            problems.push(format!(
                "nothing would remove the tracked `{kind}` of a primary that is deleted: declare a `finalizer`, and \
                 await `cx.children_gone` in `cleanup`"
            ));
        }
        if owned.role.is_owned() && declared.primary.namespaced() && !owned.kind.namespaced() {
            problems.push(format!(
                "`{kind}` is cluster-scoped and cannot be owned by `{}`, which is namespaced: the garbage collector \
                 would delete it; declare it by `tracks`",
                declared.primary.kind()
            ));
        }
        if declared.writes.contains(&owned.kind) {
            problems.push(format!(
                "`{kind}` is owned already, which lets the controller write it: remove it from `writes`"
            ));
        }
    }
}

/// The API server lets nobody hand out permissions that they do not have.
/// See <https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping>.
fn check_escalation(declared: &Declared, problems: &mut Vec<String>) {
    for kind in declared
        .children()
        .map(|w| &w.kind)
        .chain(&declared.writes)
        .chain(&declared.updates)
    {
        if kind.group() == "rbac.authorization.k8s.io" && declared.rules.is_empty() {
            problems.push(format!(
                "writing `{}` hands out permissions, which the API server allows only to who has them: add `rbac(…)` \
                 with the permissions that it hands out, or with the verbs `escalate` and `bind`",
                kind.kind()
            ));
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

    struct Texts;

    impl Declare for Texts {
        type Primary = ConfigMap;

        fn declare(d: Declaration<Self>) -> Declaration<Self> {
            d.for_::<ConfigMap>()
                .name("My App")
                .retired_finalizer("cleanup")
                .field_manager("")
                .labels("a b c")
                .writes::<Secret>()
                .owns::<Secret>()
        }
    }

    impl Owns<Secret> for Texts {}

    impl Reconciler for Texts {
        async fn reconcile(&self, _: Arc<ConfigMap>, _: &Context<Self>) -> Result<Action> {
            Ok(Action::await_change())
        }
    }

    #[test]
    fn texts_that_the_compiler_did_not_see_are_checked() {
        let problems = Declaration::<Texts>::of().check().expect_err("wrong texts").problems;
        assert_eq!(problems.len(), 5, "{problems:?}");
    }

    #[test]
    fn every_problem_is_told_at_once() {
        let problems = Declaration::<Nonsense>::of().check().expect_err("nonsense").problems;
        assert_eq!(problems.len(), 5, "{problems:?}");
    }
}
