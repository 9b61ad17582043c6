//! Policies with their expressions parsed and their bindings found.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::cel::Program;
use crate::storage::Store;

/// An expression that parsed, or what the compiler said.
pub(super) type Parsed = Result<Program, String>;

/// A policy with its bindings.
#[derive(Debug)]
pub(super) struct Policy {
    pub(super) name: String,
    pub(super) spec: Value,
    /// `variables`, in order.
    pub(super) variables: Vec<(String, Parsed)>,
    /// `matchConditions`.
    pub(super) conditions: Vec<Parsed>,
    /// `validations` or `mutations`, as written, with their expressions.
    pub(super) rules: Vec<Rule>,
    /// Name and spec of each binding, by name.
    pub(super) bindings: Vec<(String, Value)>,
}

/// A validation or mutation.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) spec: Value,
    pub(super) expression: Parsed,
    pub(super) message: Option<Parsed>,
}

impl Policy {
    /// Whether a request goes on when the policy cannot be judged.
    pub(super) fn ignores_failure(&self) -> bool {
        self.spec["failurePolicy"] == "Ignore"
    }
}

/// The policies of a server, read again only after one of them or a binding changed.
#[derive(Default)]
pub(crate) struct Policies {
    validating: Cached,
    mutating: Cached,
}

#[derive(Default)]
struct Cached(Mutex<([u64; 2], Arc<[Policy]>)>);

impl Policies {
    /// Whether any policy may change objects.
    pub(in crate::admission) fn mutates(&self, store: &Store) -> bool {
        !self.mutating(store).is_empty()
    }

    pub(super) fn validating(&self, store: &Store) -> Arc<[Policy]> {
        self.validating.get(
            store,
            "validatingadmissionpolicies.admissionregistration.k8s.io",
            "validatingadmissionpolicybindings.admissionregistration.k8s.io",
        )
    }

    pub(super) fn mutating(&self, store: &Store) -> Arc<[Policy]> {
        self.mutating.get(
            store,
            "mutatingadmissionpolicies.admissionregistration.k8s.io",
            "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
        )
    }
}

impl Cached {
    fn get(&self, store: &Store, policies: &str, bindings: &str) -> Arc<[Policy]> {
        let now = [store.changed_at(policies), store.changed_at(bindings)];
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if cached.0 != now {
            let bindings: Vec<Value> = store.list(bindings, None).iter().map(|stored| stored.value()).collect();
            let policies = store
                .list(policies, None)
                .into_iter()
                .map(|stored| read(&stored.value(), &bindings));
            // A policy without a binding does nothing.
            *cached = (now, policies.filter(|policy| !policy.bindings.is_empty()).collect());
        }
        Arc::clone(&cached.1)
    }
}

fn read(policy: &Value, bindings: &[Value]) -> Policy {
    let spec = policy["spec"].clone();
    let name = text(&policy["metadata"]["name"]).to_owned();
    let list = |field: &str| spec[field].as_array().cloned().unwrap_or_default();
    let parse = |value: &Value| Program::compile(text(value));
    let validations = list("validations").into_iter().map(|rule| Rule {
        expression: parse(&rule["expression"]),
        message: rule["messageExpression"]
            .as_str()
            .filter(|m| !m.is_empty())
            .map(Program::compile),
        spec: rule,
    });
    let mutations = list("mutations").into_iter().map(|rule| {
        let body = if rule["patchType"] == "JSONPatch" {
            &rule["jsonPatch"]
        } else {
            &rule["applyConfiguration"]
        };
        Rule {
            expression: parse(&body["expression"]),
            message: None,
            spec: rule,
        }
    });
    let bound = bindings
        .iter()
        .filter(|binding| binding["spec"]["policyName"] == name.as_str());
    Policy {
        variables: list("variables")
            .iter()
            .map(|v| (text(&v["name"]).to_owned(), parse(&v["expression"])))
            .collect(),
        conditions: list("matchConditions")
            .iter()
            .map(|condition| parse(&condition["expression"]))
            .collect(),
        rules: validations.chain(mutations).collect(),
        bindings: bound
            .map(|b| (text(&b["metadata"]["name"]).to_owned(), b["spec"].clone()))
            .collect(),
        name,
        spec,
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
