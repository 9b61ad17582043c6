//! RBAC compiled: every binding resolved to its rules, found by user and group.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::selector::selects;
use super::user::split_service_account;
use super::{Attributes, User};

/// `rbac.authorization.k8s.io/v1` PolicyRule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// API verbs; `*` is every verb.
    pub verbs: Vec<String>,
    /// API groups; `*` is every group.
    pub api_groups: Vec<String>,
    /// `resource`, `resource/subresource`, `*/subresource` or `*`.
    pub resources: Vec<String>,
    /// Names of objects; empty means all.
    pub resource_names: Vec<String>,
    /// Paths; a trailing `*` matches every path that starts so.
    pub non_resource_urls: Vec<String>,
}

impl Rule {
    /// Reads a rule; what is not a list of strings counts as empty.
    #[must_use]
    pub fn parse(rule: &Value) -> Self {
        Self {
            verbs: strings(&rule["verbs"]),
            api_groups: strings(&rule["apiGroups"]),
            resources: strings(&rule["resources"]),
            resource_names: strings(&rule["resourceNames"]),
            non_resource_urls: strings(&rule["nonResourceURLs"]),
        }
    }

    /// Whether the rule grants what is asked for.
    #[must_use]
    pub fn allows(&self, asked: &Attributes<'_>) -> bool {
        if !has_or_any(&self.verbs, asked.verb) {
            return false;
        }
        if let Some(path) = asked.path {
            return self.non_resource_urls.iter().any(|url| url_matches(url, path));
        }
        has_or_any(&self.api_groups, asked.group)
            && self
                .resources
                .iter()
                .any(|r| resource_matches(r, asked.resource, asked.subresource))
            && (self.resource_names.is_empty() || self.resource_names.iter().any(|n| n == asked.name))
    }
}

/// Reads `rules` of a role.
#[must_use]
pub(super) fn rules_of(role: &Value) -> Vec<Rule> {
    role["rules"]
        .as_array()
        .map(|rules| rules.iter().map(Rule::parse).collect())
        .unwrap_or_default()
}

/// A subject that grants apply to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    User(String),
    Group(String),
    ServiceAccount { namespace: String, name: String },
}

impl Subject {
    /// The subject as reasons name it.
    fn describe(&self) -> String {
        match self {
            Self::User(name) => format!("User {name:?}"),
            Self::Group(name) => format!("Group {name:?}"),
            Self::ServiceAccount { namespace, name } => format!("ServiceAccount {:?}", format!("{name}/{namespace}")),
        }
    }

    fn parse(subject: &Value, binding_namespace: &str) -> Option<Self> {
        let name = subject["name"].as_str()?.to_owned();
        match subject["kind"].as_str()? {
            "User" => Some(Self::User(name)),
            "Group" => Some(Self::Group(name)),
            "ServiceAccount" => {
                let namespace = subject["namespace"]
                    .as_str()
                    .filter(|n| !n.is_empty())
                    .unwrap_or(binding_namespace);
                (!namespace.is_empty()).then(|| Self::ServiceAccount {
                    namespace: namespace.to_owned(),
                    name,
                })
            }
            _ => None,
        }
    }

    fn is(&self, user: &User) -> bool {
        match self {
            Self::User(name) => user.name == *name,
            Self::Group(name) => user.is_in(name),
            Self::ServiceAccount { namespace, name } => user.as_service_account() == Some((namespace, name)),
        }
    }
}

/// A binding with its role resolved.
#[derive(Clone, Debug)]
pub(super) struct Binding {
    /// Empty for a ClusterRoleBinding.
    namespace: String,
    name: String,
    role_kind: String,
    role_name: String,
    subjects: Vec<Subject>,
    /// The role's rules; absent when the role does not exist.
    rules: Option<Arc<[Rule]>>,
}

impl Binding {
    /// The rules that the binding grants, or the words for the role that it does not find.
    pub(super) fn rules(&self) -> Result<&[Rule], String> {
        self.rules.as_deref().ok_or_else(|| {
            format!(
                "{}.rbac.authorization.k8s.io {:?} not found",
                self.role_kind.to_lowercase(),
                self.role_name
            )
        })
    }

    /// Why a user whom this binding names was let in.
    pub(super) fn reason(&self, user: &User) -> String {
        let (kind, name) = if self.namespace.is_empty() {
            ("ClusterRoleBinding", self.name.clone())
        } else {
            ("RoleBinding", format!("{}/{}", self.name, self.namespace))
        };
        let subject = self
            .subjects
            .iter()
            .find(|s| s.is(user))
            .map(Subject::describe)
            .unwrap_or_default();
        format!(
            "RBAC: allowed by {kind} {name:?} of {} {:?} to {subject}",
            self.role_kind, self.role_name
        )
    }
}

/// All roles and bindings, compiled.
#[derive(Debug, Default)]
pub(super) struct Policy {
    /// Cluster-wide bindings first, then by namespace and name.
    bindings: Vec<Binding>,
    /// Bindings by namespace (empty: cluster-wide) and subject.
    by_subject: BTreeMap<String, BTreeMap<Subject, Vec<usize>>>,
    cluster_roles: BTreeMap<String, Arc<[Rule]>>,
    roles: BTreeMap<(String, String), Arc<[Rule]>>,
}

impl Policy {
    /// Compiles the objects of the four RBAC resources.
    pub(super) fn compile(
        cluster_roles: &[Arc<Value>],
        roles: &[Arc<Value>],
        cluster_bindings: &[Arc<Value>],
        bindings: &[Arc<Value>],
        gathers: bool,
    ) -> Self {
        let mut policy = Self::default();
        for role in cluster_roles {
            let rules = if gathers {
                with_gathered(role, cluster_roles)
            } else {
                rules_of(role)
            };
            policy.cluster_roles.insert(meta(role, "name"), rules.into());
        }
        for role in roles {
            policy
                .roles
                .insert((meta(role, "namespace"), meta(role, "name")), rules_of(role).into());
        }
        for binding in cluster_bindings.iter().chain(bindings) {
            policy.add(binding);
        }
        policy
    }

    /// The bindings that name the user, cluster-wide ones first, then those of the namespace.
    pub(super) fn bindings_of<'a>(
        &'a self,
        user: &User,
        namespace: &str,
    ) -> impl Iterator<Item = &'a Binding> + use<'a> {
        let mut found = BTreeSet::new();
        let scopes = ["", namespace];
        for scope in if namespace.is_empty() { &scopes[..1] } else { &scopes } {
            if let Some(by_subject) = self.by_subject.get(*scope) {
                let mut collect =
                    |subject: &Subject| found.extend(by_subject.get(subject).into_iter().flatten().copied());
                collect(&Subject::User(user.name.clone()));
                for group in &user.groups {
                    collect(&Subject::Group(group.clone()));
                }
                if let Some((namespace, name)) = split_service_account(&user.name) {
                    collect(&Subject::ServiceAccount {
                        namespace: namespace.to_owned(),
                        name: name.to_owned(),
                    });
                }
            }
        }
        found.into_iter().map(|index| &self.bindings[index])
    }

    /// The rules of a role; `namespace` is unused for a ClusterRole.
    pub(super) fn role(&self, kind: &str, namespace: &str, name: &str) -> Option<Arc<[Rule]>> {
        match kind {
            "ClusterRole" => self.cluster_roles.get(name).cloned(),
            "Role" => self.roles.get(&(namespace.to_owned(), name.to_owned())).cloned(),
            _ => None,
        }
    }

    fn add(&mut self, binding: &Value) {
        let namespace = meta(binding, "namespace");
        let role_kind = binding["roleRef"]["kind"].as_str().unwrap_or_default().to_owned();
        let role_name = binding["roleRef"]["name"].as_str().unwrap_or_default().to_owned();
        let subjects: Vec<Subject> = binding["subjects"]
            .as_array()
            .map(|all| all.iter().filter_map(|s| Subject::parse(s, &namespace)).collect())
            .unwrap_or_default();
        let index = self.bindings.len();
        let by_subject = self.by_subject.entry(namespace.clone()).or_default();
        for subject in &subjects {
            by_subject.entry(subject.clone()).or_default().push(index);
        }
        let rules = self.role(&role_kind, &namespace, &role_name);
        self.bindings.push(Binding {
            namespace,
            name: meta(binding, "name"),
            role_kind,
            role_name,
            subjects,
            rules,
        });
    }
}

/// The role's rules and those that its `aggregationRule` gathers.
///
/// On a real cluster the controller manager writes the gathered rules into the role; here they count without being
/// written.
fn with_gathered(role: &Value, all: &[Arc<Value>]) -> Vec<Rule> {
    let mut rules = rules_of(role);
    let mut seen = BTreeSet::from([meta(role, "name")]);
    let mut open = vec![role];
    while let Some(gathering) = open.pop() {
        let selectors = gathering["aggregationRule"]["clusterRoleSelectors"].as_array();
        for selector in selectors.into_iter().flatten() {
            for other in all
                .iter()
                .filter(|other| selects(selector, &other["metadata"]["labels"]))
            {
                if seen.insert(meta(other, "name")) {
                    rules.extend(
                        rules_of(other)
                            .into_iter()
                            .filter(|rule| !rules.contains(rule))
                            .collect::<Vec<_>>(),
                    );
                    open.push(other);
                }
            }
        }
    }
    rules
}

fn meta(object: &Value, field: &str) -> String {
    object["metadata"][field].as_str().unwrap_or_default().to_owned()
}

fn strings(list: &Value) -> Vec<String> {
    list.as_array()
        .map(|l| l.iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect())
        .unwrap_or_default()
}

fn has_or_any(list: &[String], wanted: &str) -> bool {
    list.iter().any(|entry| entry == "*" || entry == wanted)
}

fn resource_matches(rule: &str, resource: &str, subresource: &str) -> bool {
    if rule == "*" {
        return true;
    }
    match rule.split_once('/') {
        None => subresource.is_empty() && rule == resource,
        Some((of, sub)) => !subresource.is_empty() && sub == subresource && (of == "*" || of == resource),
    }
}

fn url_matches(rule: &str, path: &str) -> bool {
    rule == path || rule.strip_suffix('*').is_some_and(|prefix| path.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked<'a>(verb: &'a str, resource: &'a str, subresource: &'a str, name: &'a str) -> Attributes<'a> {
        Attributes {
            verb,
            resource,
            subresource,
            name,
            namespace: "web",
            ..Attributes::default()
        }
    }

    #[test]
    fn a_rule_grants_its_verbs_on_its_resources_only() {
        let rule = Rule::parse(&json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}));
        assert!(rule.allows(&asked("get", "pods", "", "a")));
        assert!(!rule.allows(&asked("list", "pods", "", "")));
        assert!(!rule.allows(&asked("get", "pods", "log", "a")));
        assert!(!rule.allows(&Attributes {
            group: "apps",
            ..asked("get", "pods", "", "a")
        }));
    }

    #[test]
    fn wildcards_stand_for_groups_resources_subresources_and_verbs() {
        let all = Rule::parse(&json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}));
        assert!(all.allows(&asked("any", "pods", "log", "")));
        let status = Rule::parse(&json!({"apiGroups": [""], "resources": ["*/status"], "verbs": ["get"]}));
        assert!(status.allows(&asked("get", "pods", "status", "a")));
        assert!(!status.allows(&asked("get", "pods", "", "a")));
    }

    #[test]
    fn resource_names_never_grant_what_carries_no_name() {
        let rule = Rule::parse(
            &json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "create"], "resourceNames": ["a"]}),
        );
        assert!(rule.allows(&asked("get", "pods", "", "a")));
        assert!(!rule.allows(&asked("get", "pods", "", "b")));
        assert!(!rule.allows(&asked("create", "pods", "", "")));
    }

    #[test]
    fn a_path_pattern_matches_by_prefix_only_with_a_trailing_star() {
        let rule = Rule::parse(&json!({"nonResourceURLs": ["/metrics", "/debug/*"], "verbs": ["get"]}));
        assert!(rule.allows(&Attributes::of_path("get", "/metrics")));
        assert!(rule.allows(&Attributes::of_path("get", "/debug/x")));
        assert!(!rule.allows(&Attributes::of_path("get", "/metrics/slis")));
        assert!(!rule.allows(&Attributes::of_path("get", "/debug")));
        assert!(!rule.allows(&Attributes::of_path("post", "/metrics")));
    }
}
