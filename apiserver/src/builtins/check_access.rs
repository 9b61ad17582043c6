//! What roles and bindings must be.

use super::checks::At;
use super::checks::Check::{self, With};
use super::names;
use crate::error::Cause;

pub(super) const TABLE: &[(&str, &[Check])] = &[
    ("Role", &[With(role_rules)]),
    ("ClusterRole", &[With(role_rules), With(aggregation)]),
    ("RoleBinding", &[With(role_ref), With(subjects)]),
    ("ClusterRoleBinding", &[With(role_ref), With(subjects)]),
];

fn role_rules(at: &At<'_>, causes: &mut Vec<Cause>) {
    let namespaced = at.root["kind"] == "Role";
    for (index, rule) in at.list("rules").iter().enumerate() {
        let path = format!("rules[{index}]");
        let empty = |field: &str| rule[field].as_array().is_none_or(Vec::is_empty);
        if empty("verbs") {
            causes.push(Cause::required(
                format!("{path}.verbs"),
                "verbs must contain at least one value",
            ));
        }
        if !empty("nonResourceURLs") {
            let why = if namespaced {
                "namespaced rules cannot apply to non-resource URLs"
            } else if !empty("apiGroups") || !empty("resources") || !empty("resourceNames") {
                "rules cannot apply to both regular resources and non-resource URLs"
            } else {
                continue;
            };
            causes.push(Cause::invalid(
                format!("{path}.nonResourceURLs"),
                &rule["nonResourceURLs"],
                why,
            ));
            continue;
        }
        if empty("apiGroups") {
            let why = "resource rules must supply at least one api group";
            causes.push(Cause::required(format!("{path}.apiGroups"), why));
        }
        if empty("resources") {
            let why = "resource rules must supply at least one resource";
            causes.push(Cause::required(format!("{path}.resources"), why));
        }
    }
}

fn aggregation(at: &At<'_>, causes: &mut Vec<Cause>) {
    let selectors = at.list("aggregationRule.clusterRoleSelectors");
    if !at.get("aggregationRule").is_null() && selectors.is_empty() {
        let why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        causes.push(Cause::required("aggregationRule.clusterRoleSelectors", why));
    }
}

fn role_ref(at: &At<'_>, causes: &mut Vec<Cause>) {
    let group = "rbac.authorization.k8s.io";
    if at.text("roleRef.apiGroup") != group {
        causes.push(Cause::unsupported(
            "roleRef.apiGroup",
            at.get("roleRef.apiGroup"),
            &[group],
        ));
    }
    let kinds: &[&str] = if at.root["kind"] == "RoleBinding" {
        &["Role", "ClusterRole"]
    } else {
        &["ClusterRole"]
    };
    let kind = at.text("roleRef.kind");
    if !kinds.contains(&kind) {
        causes.push(Cause::unsupported("roleRef.kind", &kind.into(), kinds));
    }
    match at.text("roleRef.name") {
        "" => causes.push(Cause::required("roleRef.name", "")),
        name => {
            let faults = names::path_segment(name, false);
            causes.extend(
                faults
                    .iter()
                    .map(|why| Cause::invalid("roleRef.name", &name.into(), why)),
            );
        }
    }
}

fn subjects(at: &At<'_>, causes: &mut Vec<Cause>) {
    let namespaced = at.root["kind"] == "RoleBinding";
    for (index, subject) in at.list("subjects").iter().enumerate() {
        let path = format!("subjects[{index}]");
        let text = |field: &str| subject[field].as_str().unwrap_or_default();
        if text("name").is_empty() {
            causes.push(Cause::required(format!("{path}.name"), ""));
        }
        match text("kind") {
            "ServiceAccount" => {
                if !text("name").is_empty() {
                    let faults = names::subdomain(text("name"));
                    causes.extend(
                        faults
                            .iter()
                            .map(|why| Cause::invalid(format!("{path}.name"), &subject["name"], why)),
                    );
                }
                if !text("apiGroup").is_empty() {
                    causes.push(Cause::unsupported(
                        format!("{path}.apiGroup"),
                        &subject["apiGroup"],
                        &[""],
                    ));
                }
                if !namespaced && text("namespace").is_empty() {
                    causes.push(Cause::required(format!("{path}.namespace"), ""));
                }
            }
            "User" | "Group" => {
                let group = "rbac.authorization.k8s.io";
                if text("apiGroup") != group {
                    causes.push(Cause::unsupported(
                        format!("{path}.apiGroup"),
                        &subject["apiGroup"],
                        &[group],
                    ));
                }
            }
            kind => {
                let allowed = ["ServiceAccount", "User", "Group"];
                causes.push(Cause::unsupported(format!("{path}.kind"), &kind.into(), &allowed));
            }
        }
    }
}
