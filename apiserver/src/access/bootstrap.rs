//! The roles and bindings that every cluster starts with.
//!
//! <https://kubernetes.io/docs/reference/access-authn-authz/rbac/#default-roles-and-role-bindings>. The roles of the
//! controller manager's single controllers are left out: the server's own controllers need no grants.

use serde_json::{Value, json};

use crate::resource::Gvr;

const TEXT: &str = include_str!("bootstrap.txt");
const GROUP: &str = "rbac.authorization.k8s.io";
const READ: &[&str] = &["get", "list", "watch"];
const WRITE: &[&str] = &["create", "delete", "deletecollection", "patch", "update"];

/// The bootstrap roles and bindings, each with the resource it belongs to, in the order in which to store them. With
/// `gathered`, the roles that gather others have their rules, as a controller manager writes them.
#[must_use]
pub fn bootstrap_objects(gathered: bool) -> Vec<(Gvr, Value)> {
    let mut objects: Vec<(Gvr, Value)> = Vec::new();
    for line in TEXT.lines() {
        if let Some(role) = line.strip_prefix("role ") {
            objects.push((Gvr::new(GROUP, "v1", "clusterroles"), role_head(role)));
        } else if let Some(binding) = line.strip_prefix("bind ") {
            objects.extend(binding_of(binding).map(|b| (Gvr::new(GROUP, "v1", "clusterrolebindings"), b)));
        } else if let (Some(text), Some((_, role))) = (line.strip_prefix("  "), objects.last_mut())
            && let (Some(rule), Some(rules)) = (rule(text), role["rules"].as_array_mut())
        {
            rules.push(rule);
        }
    }
    if gathered {
        fill_gathering_roles(&mut objects);
    }
    objects
}

/// `<name> [gathers <label>] [label <label>]`.
fn role_head(text: &str) -> Value {
    let words: Vec<&str> = text.split(' ').collect();
    let mut role = object("ClusterRole", words[0]);
    role["rules"] = json!([]);
    for pair in words[1..].chunks(2) {
        if let [word, label] = pair {
            let label = format!("{GROUP}/{label}");
            match *word {
                "gathers" => {
                    role["aggregationRule"] = json!({ "clusterRoleSelectors": [{ "matchLabels": { label: "true" } }] });
                }
                _ => role["metadata"]["labels"][label] = "true".into(),
            }
        }
    }
    role
}

/// `<name> to <role>: <kind> <name>, …`.
fn binding_of(text: &str) -> Option<Value> {
    let (head, subjects) = text.split_once(": ")?;
    let (name, role) = head.split_once(" to ")?;
    let mut binding = object("ClusterRoleBinding", name);
    binding["roleRef"] = json!({ "apiGroup": GROUP, "kind": "ClusterRole", "name": role });
    let subject = |text: &str| {
        let (kind, name) = text.split_once(' ')?;
        let kind = if kind == "group" { "Group" } else { "User" };
        Some(json!({ "apiGroup": GROUP, "kind": kind, "name": name }))
    };
    binding["subjects"] = subjects.split(", ").filter_map(subject).collect();
    Some(binding)
}

fn rule(text: &str) -> Option<Value> {
    let mut words = text.split(' ');
    let verbs: Vec<&str> = words
        .next()?
        .split(',')
        .flat_map(|verb| match verb {
            "read" => READ.to_vec(),
            "write" => WRITE.to_vec(),
            other => vec![other],
        })
        .collect();
    let second: Vec<&str> = words.next()?.split(',').collect();
    if second[0].starts_with('/') {
        // "*" alone stands for every path.
        let urls: Vec<&str> = second
            .into_iter()
            .map(|url| if url == "/*" { "*" } else { url })
            .collect();
        return Some(json!({ "nonResourceURLs": urls, "verbs": verbs }));
    }
    let groups: Vec<&str> = second
        .into_iter()
        .map(|group| if group == "core" { "" } else { group })
        .collect();
    let resources: Vec<&str> = words.next()?.split(',').collect();
    let mut rule = json!({ "apiGroups": groups, "resources": resources, "verbs": verbs });
    if words.next() == Some("named") {
        rule["resourceNames"] = words.next()?.split(',').collect();
    }
    Some(rule)
}

/// Gives `admin`, `edit` and `view` the rules that they gather, as the controller manager does on a real cluster.
fn fill_gathering_roles(objects: &mut [(Gvr, Value)]) {
    let roles: Vec<Value> = objects.iter().map(|(_, object)| object.clone()).collect();
    for (_, object) in objects {
        if !object["aggregationRule"].is_null() {
            let mut rules = Vec::new();
            gather(&roles, object, &mut rules);
            object["rules"] = rules.into();
        }
    }
}

fn gather(roles: &[Value], role: &Value, rules: &mut Vec<Value>) {
    let wanted = role["aggregationRule"]["clusterRoleSelectors"][0]["matchLabels"].as_object();
    let Some(label) = wanted.and_then(|labels| labels.keys().next()) else {
        return;
    };
    for other in roles
        .iter()
        .filter(|other| other["metadata"]["labels"][label] == "true")
    {
        for rule in other["rules"].as_array().into_iter().flatten() {
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
        gather(roles, other, rules);
    }
}

fn object(kind: &str, name: &str) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": kind,
        "metadata": {
            "name": name,
            "labels": { "kubernetes.io/bootstrapping": "rbac-defaults" },
            "annotations": { "rbac.authorization.kubernetes.io/autoupdate": "true" },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::source::tests::Objects;
    use crate::access::{Attributes, Authorizer, User};

    fn cluster() -> (Objects, Authorizer) {
        let objects = Objects::default();
        for (resource, object) in bootstrap_objects(true) {
            objects.put(&format!("{}.{}", resource.plural, resource.group), object);
        }
        (objects.clone(), Authorizer::new(objects, true))
    }

    fn pods(verb: &'static str) -> Attributes<'static> {
        Attributes {
            verb,
            resource: "pods",
            namespace: "web",
            ..Attributes::default()
        }
    }

    #[test]
    fn authenticated_users_may_discover_and_anonymous_ones_may_see_health() {
        let (_, authorizer) = cluster();
        let ann = User::new("ann", [""; 0]);
        let decision = authorizer.decide(&ann, &Attributes::of_path("get", "/api"));
        assert_eq!(
            decision.reason,
            "RBAC: allowed by ClusterRoleBinding \"system:discovery\" of ClusterRole \"system:discovery\" to Group \
             \"system:authenticated\""
        );
        assert!(authorizer.authorize(&ann, &pods("get")).is_err());
        assert!(
            authorizer
                .authorize(&User::anonymous(), &Attributes::of_path("get", "/healthz"))
                .is_ok()
        );
        assert!(
            authorizer
                .authorize(&User::anonymous(), &Attributes::of_path("get", "/api"))
                .is_err()
        );
    }

    #[test]
    fn edit_gathers_what_view_may_see() {
        let (objects, authorizer) = cluster();
        objects.put(
            "rolebindings.rbac.authorization.k8s.io",
            json!({
                "metadata": { "namespace": "web", "name": "b" },
                "roleRef": { "kind": "ClusterRole", "name": "edit" },
                "subjects": [{ "kind": "User", "name": "ann" }],
            }),
        );
        let ann = User::new("ann", [""; 0]);
        assert!(authorizer.authorize(&ann, &pods("list")).is_ok());
        assert!(authorizer.authorize(&ann, &pods("create")).is_ok());
        assert!(
            authorizer
                .authorize(
                    &ann,
                    &Attributes {
                        namespace: "other",
                        ..pods("list")
                    }
                )
                .is_err()
        );
    }

    #[test]
    fn a_role_that_gathers_grants_what_later_roles_bring() {
        let (objects, authorizer) = cluster();
        objects.put(
            "clusterroles.rbac.authorization.k8s.io",
            json!({
                "metadata": { "name": "more", "labels": { "rbac.authorization.k8s.io/aggregate-to-view": "true" } },
                "rules": [{ "apiGroups": ["x.example"], "resources": ["things"], "verbs": ["get"] }],
            }),
        );
        let rules = authorizer.rules_of_role("ClusterRole", "", "admin").unwrap();
        assert!(rules.iter().any(|rule| rule.resources == ["things"]));
    }

    #[test]
    fn a_binding_to_a_role_that_nobody_made_is_named_in_the_refusal() {
        let (objects, authorizer) = cluster();
        objects.put(
            "clusterrolebindings.rbac.authorization.k8s.io",
            json!({
                "metadata": { "name": "b" },
                "roleRef": { "kind": "ClusterRole", "name": "none" },
                "subjects": [{ "kind": "User", "name": "ann" }],
            }),
        );
        let refused = authorizer.authorize(&User::new("ann", [""; 0]), &pods("get"));
        assert_eq!(
            refused.unwrap_err(),
            "RBAC: clusterrole.rbac.authorization.k8s.io \"none\" not found"
        );
    }
}
