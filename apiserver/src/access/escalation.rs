//! Nobody writes a role, or binds one, with more rights than they hold themselves.
//!
//! <https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping>

use serde_json::{Value, json};

use super::policy::{Rule, rules_of};
use super::{Attributes, Authorizer, User};
use crate::error::ApiError;
use crate::resource::Resource;

const GROUP: &str = "rbac.authorization.k8s.io";

/// Checks a write of a role or binding; every other resource passes. `old` is absent on create.
///
/// # Errors
///
/// 403 that lists the rights which the user lacks; 404 when the bound role does not exist and the user may not bind
/// roles unseen.
pub(super) fn check(
    authorizer: &Authorizer,
    user: &User,
    resource: &Resource,
    namespace: &str,
    new: &Value,
    old: Option<&Value>,
) -> Result<(), ApiError> {
    if resource.group != GROUP {
        return Ok(());
    }
    let name = new["metadata"]["name"].as_str().unwrap_or_default();
    match resource.kind.as_str() {
        "Role" | "ClusterRole" => role(authorizer, user, resource, namespace, name, new, old),
        "RoleBinding" | "ClusterRoleBinding" => binding(authorizer, user, resource, namespace, name, new, old),
        _ => Ok(()),
    }
}

fn role(
    authorizer: &Authorizer,
    user: &User,
    resource: &Resource,
    namespace: &str,
    name: &str,
    new: &Value,
    old: Option<&Value>,
) -> Result<(), ApiError> {
    if old.is_some_and(|old| old["rules"] == new["rules"] && old["aggregationRule"] == new["aggregationRule"]) {
        return Ok(());
    }
    let escalate = Attributes {
        verb: "escalate",
        group: GROUP,
        version: "v1",
        resource: &resource.plural,
        namespace,
        name,
        ..Attributes::default()
    };
    if authorizer.authorize(user, &escalate).is_ok() {
        return Ok(());
    }
    let aggregates = |role: &Value| !role["aggregationRule"].is_null();
    if aggregates(new) || old.is_some_and(aggregates) {
        let everything = [
            Attributes {
                verb: "*",
                group: "*",
                resource: "*",
                ..Attributes::default()
            },
            Attributes::of_path("*", "*"),
        ];
        if everything
            .iter()
            .any(|asked| authorizer.authorize(user, asked).is_err())
        {
            let why = "must have cluster-admin privileges to use the aggregationRule";
            return Err(ApiError::forbidden(resource, name, why));
        }
    }
    let wanted = rules_of(new);
    confirm(authorizer, user, namespace, &wanted).map_err(|why| ApiError::forbidden(resource, name, why))
}

fn binding(
    authorizer: &Authorizer,
    user: &User,
    resource: &Resource,
    namespace: &str,
    name: &str,
    new: &Value,
    old: Option<&Value>,
) -> Result<(), ApiError> {
    if old.is_some_and(|old| old["roleRef"] == new["roleRef"] && old["subjects"] == new["subjects"]) {
        return Ok(());
    }
    let kind = new["roleRef"]["kind"].as_str().unwrap_or_default();
    let role = new["roleRef"]["name"].as_str().unwrap_or_default();
    let bind = Attributes {
        verb: "bind",
        group: GROUP,
        version: "v1",
        resource: if kind == "ClusterRole" { "clusterroles" } else { "roles" },
        namespace,
        name: role,
        ..Attributes::default()
    };
    if authorizer.authorize(user, &bind).is_ok() {
        return Ok(());
    }
    let Some(wanted) = authorizer.rules_of_role(kind, namespace, role) else {
        // The real server names the binding's resource here, not the role's.
        let mut error = ApiError::new(
            404,
            "NotFound",
            format!("{} {role:?} not found", resource.group_resource()),
        );
        error.details = Some(Box::new(
            json!({ "name": role, "group": GROUP, "kind": resource.plural }),
        ));
        return Err(error);
    };
    confirm(authorizer, user, namespace, &wanted).map_err(|why| ApiError::forbidden(resource, name, why))
}

/// Whether the user holds all that the rules grant; else the words that list what is missing.
fn confirm(authorizer: &Authorizer, user: &User, namespace: &str, wanted: &[Rule]) -> Result<(), String> {
    let (held, errors) = authorizer.rules_of(user, namespace);
    let missing: Vec<Rule> = wanted
        .iter()
        .flat_map(single)
        .filter(|one| !held.iter().any(|rule| covers(rule, one)))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let groups: Vec<String> = user.groups.iter().map(|g| format!("{g:?}")).collect();
    let lines: Vec<String> = compact(missing).iter().map(in_go_syntax).collect();
    let mut why = format!(
        "user {:?} (groups=[{}]) is attempting to grant RBAC permissions not currently held:\n{}",
        user.name,
        groups.join(" "),
        lines.join("\n")
    );
    if !errors.is_empty() {
        why = format!("{why}; resolution errors: [{}]", errors.join(", "));
    }
    Err(why)
}

/// The rule as rules with one value per field, in the real server's order.
fn single(rule: &Rule) -> Vec<Rule> {
    let one = |value: &String| vec![value.clone()];
    let mut all = Vec::new();
    for group in &rule.api_groups {
        for resource in &rule.resources {
            for verb in &rule.verbs {
                let base = Rule {
                    verbs: one(verb),
                    api_groups: one(group),
                    resources: one(resource),
                    ..Rule::default()
                };
                if rule.resource_names.is_empty() {
                    all.push(base);
                } else {
                    all.extend(rule.resource_names.iter().map(|n| Rule {
                        resource_names: one(n),
                        ..base.clone()
                    }));
                }
            }
        }
    }
    for url in &rule.non_resource_urls {
        all.extend(rule.verbs.iter().map(|verb| Rule {
            verbs: one(verb),
            non_resource_urls: one(url),
            ..Rule::default()
        }));
    }
    all
}

/// Whether `held` grants all of `wanted`, which has one value per field.
fn covers(held: &Rule, wanted: &Rule) -> bool {
    let has = |all: &[String], of: &[String]| all.iter().any(|a| a == "*") || of.iter().all(|w| all.contains(w));
    if !has(&held.verbs, &wanted.verbs) {
        return false;
    }
    if let [url] = wanted.non_resource_urls.as_slice() {
        return held
            .non_resource_urls
            .iter()
            .any(|have| have == url || have.strip_suffix('*').is_some_and(|start| url.starts_with(start)));
    }
    let resource = |wanted: &String| {
        let subresource = wanted.split_once('/').map(|(_, sub)| format!("*/{sub}"));
        held.resources
            .iter()
            .any(|have| have == "*" || have == wanted || Some(have) == subresource.as_ref())
    };
    has(&held.api_groups, &wanted.api_groups)
        && wanted.resources.iter().all(resource)
        && (held.resource_names.is_empty()
            || (!wanted.resource_names.is_empty()
                && wanted.resource_names.iter().all(|n| held.resource_names.contains(n))))
}

/// Rules that differ by verb alone and name no objects joined. The order is that of the printed lines.
fn compact(rules: Vec<Rule>) -> Vec<Rule> {
    let simple = |rule: &Rule| rule.resource_names.is_empty() && rule.non_resource_urls.is_empty();
    let mut joined: Vec<Rule> = Vec::new();
    for rule in rules {
        let same = joined.iter_mut().find(|other| {
            let alike = (&other.api_groups, &other.resources) == (&rule.api_groups, &rule.resources);
            alike && simple(other) && simple(&rule)
        });
        match same {
            Some(other) => other.verbs.extend(rule.verbs),
            None => joined.push(rule),
        }
    }
    let mut lines = joined;
    lines.sort_by_cached_key(in_go_syntax);
    lines.dedup();
    lines
}

/// The rule as the real server's message prints it.
fn in_go_syntax(rule: &Rule) -> String {
    let list = |values: &[String]| values.iter().map(|v| format!("{v:?}")).collect::<Vec<_>>().join(" ");
    let fields = [
        ("APIGroups", &rule.api_groups),
        ("Resources", &rule.resources),
        ("ResourceNames", &rule.resource_names),
        ("NonResourceURLs", &rule.non_resource_urls),
        ("Verbs", &rule.verbs),
    ];
    let present = fields.into_iter().filter(|(_, values)| !values.is_empty());
    let parts: Vec<String> = present
        .map(|(name, values)| format!("{name}:[{}]", list(values)))
        .collect();
    format!("{{{}}}", parts.join(", "))
}
