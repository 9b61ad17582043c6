//! Rights that are withdrawn and given back.

use http::{Method, Request, header};
use kubewright::Kind;
use kubewright::k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, Subject};
use serde_json::{Value, json};

use super::Verb;
use crate::cluster::TestCluster;
use crate::operator::Operator;

/// Rights that somebody has lost. Dropping it does not give them back.
#[derive(Debug)]
#[must_use = "`restore` gives the rights back"]
pub struct Withdrawn {
    cluster: TestCluster,
    what: String,
    /// Path of each role that was changed, and the rules that give back what it lost.
    roles: Vec<(String, Vec<PolicyRule>)>,
}

impl Withdrawn {
    /// Gives the rights back, as an administrator does who mends the roles; what else changed in them stays.
    ///
    /// # Panics
    ///
    /// When a role is gone meanwhile.
    pub async fn restore(self) {
        for (path, lost) in &self.roles {
            let mut rules = self.cluster.rules(path).await;
            rules.extend(lost.iter().cloned());
            self.cluster.set_rules(path, &rules).await;
        }
        self.cluster.story().fault(&self.what, "is given back");
    }
}

impl Operator {
    /// Takes a right from the operator: a verb on a resource (`deployments`, `apps/status`), in every role that it has.
    /// See [`TestCluster::withdraw`].
    ///
    /// # Panics
    ///
    /// When it has no such right, or has it by a `*`.
    pub async fn withdraw(&self, verb: Verb, resource: &str) -> Withdrawn {
        self.cluster().withdraw(self.user(), verb, resource).await
    }
}

impl TestCluster {
    /// Takes a right from a ServiceAccount (`system:serviceaccount:<namespace>:<name>`) or another user, as an
    /// administrator does who changes roles: from now on such requests are answered 403. Watches that are open stay
    /// open, as on a real server; break them ([`TestCluster::cut_watches`]) to see what happens then.
    ///
    /// # Panics
    ///
    /// When the user has no such right, or has it by a `*` in a role, which one verb cannot be taken out of.
    pub async fn withdraw(&self, user: &str, verb: Verb, resource: &str) -> Withdrawn {
        let what = format!("{verb} on {resource}, for {user}");
        let mut roles = Vec::new();
        for path in self.roles_of(user).await {
            let rules = self.rules(&path).await;
            let (mut left, mut lost) = (Vec::new(), Vec::new());
            for rule in &rules {
                let rest = without(rule, verb, resource);
                if rest != [rule.clone()] {
                    lost.push(PolicyRule {
                        resources: Some(vec![resource.to_owned()]),
                        verbs: vec![verb.to_string()],
                        ..rule.clone()
                    });
                }
                left.extend(rest);
            }
            if !lost.is_empty() {
                self.set_rules(&path, &left).await;
                roles.push((path, lost));
            }
        }
        assert!(
            !roles.is_empty(),
            "withdraw: {user} has no right to {verb} {resource}; `Manifests` and `kubectl get roles,clusterroles -A` \
             show what it has"
        );
        self.story().fault(&what, "is withdrawn");
        Withdrawn {
            cluster: self.clone(),
            what,
            roles,
        }
    }

    /// The paths of the roles that are bound to a user.
    async fn roles_of(&self, user: &str) -> Vec<String> {
        let cluster_role = |name: &str| format!("{}/{name}", Kind::of::<ClusterRole>().collection_path(None));
        let mut paths = Vec::new();
        for binding in self.list::<ClusterRoleBinding>().await {
            if binding.subjects.iter().flatten().any(|subject| is(subject, user)) {
                paths.push(cluster_role(&binding.role_ref.name));
            }
        }
        for binding in self.list::<RoleBinding>().await {
            if binding.subjects.iter().flatten().any(|subject| is(subject, user)) {
                let role = &binding.role_ref;
                let namespace = binding.metadata.namespace.as_deref();
                paths.push(match &*role.kind {
                    "Role" => format!("{}/{}", Kind::of::<Role>().collection_path(namespace), role.name),
                    _ => cluster_role(&role.name),
                });
            }
        }
        paths.sort();
        paths.dedup();
        paths
    }

    async fn rules(&self, path: &str) -> Vec<PolicyRule> {
        let role = self.send_raw(Method::GET, path, None).await;
        serde_json::from_value(role["rules"].clone()).unwrap_or_default()
    }

    async fn set_rules(&self, path: &str, rules: &[PolicyRule]) {
        let _: Value = self
            .send_raw(Method::PATCH, path, Some(json!({ "rules": rules })))
            .await;
    }

    async fn send_raw(&self, method: Method, path: &str, patch: Option<Value>) -> Value {
        let request = Request::builder()
            .method(&method)
            .uri(path)
            .header(header::CONTENT_TYPE, "application/merge-patch+json")
            .body(patch.map(|patch| patch.to_string().into_bytes()).unwrap_or_default())
            .expect("the path of a role is a URL");
        match self.own_client().request(request).await {
            Ok(answer) => answer,
            Err(error) => panic!("{method} {path}: {error}"),
        }
    }
}

fn is(subject: &Subject, user: &str) -> bool {
    match &*subject.kind {
        "ServiceAccount" => {
            let namespace = subject.namespace.as_deref().unwrap_or_default();
            user == format!("system:serviceaccount:{namespace}:{}", subject.name)
        }
        "User" => subject.name == user,
        _ => false,
    }
}

/// A rule without one verb on one resource: what is left of it, in up to two rules.
fn without(rule: &PolicyRule, verb: Verb, resource: &str) -> Vec<PolicyRule> {
    let resources = rule.resources.clone().unwrap_or_default();
    let gives = |given: &str| given == resource || given == "*";
    if !resources.iter().any(|given| gives(given))
        || !rule.verbs.iter().any(|given| given == verb.as_str() || given == "*")
    {
        return vec![rule.clone()];
    }
    assert!(
        resources.iter().all(|given| given != "*") && rule.verbs.iter().all(|given| given != "*"),
        "withdraw: a rule gives {verb} on {resource} by `*`, and one verb cannot be taken out of that"
    );
    let (these, others): (Vec<_>, Vec<_>) = resources.into_iter().partition(|given| gives(given));
    let narrowed = PolicyRule {
        resources: Some(these),
        verbs: rule
            .verbs
            .iter()
            .filter(|given| *given != verb.as_str())
            .cloned()
            .collect(),
        ..rule.clone()
    };
    let rest = PolicyRule {
        resources: Some(others),
        ..rule.clone()
    };
    let says_something =
        |rule: &PolicyRule| !rule.verbs.is_empty() && rule.resources.as_ref().is_some_and(|given| !given.is_empty());
    [rest, narrowed].into_iter().filter(says_something).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(resources: &[&str], verbs: &[&str]) -> PolicyRule {
        let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        PolicyRule {
            api_groups: Some(vec![String::new()]),
            resources: Some(owned(resources)),
            verbs: owned(verbs),
            ..PolicyRule::default()
        }
    }

    #[test]
    fn one_verb_on_one_resource_goes_and_the_rest_stays() {
        let before = rule(&["pods", "secrets"], &["get", "list"]);
        assert_eq!(
            without(&before, Verb::List, "secrets"),
            [rule(&["pods"], &["get", "list"]), rule(&["secrets"], &["get"])]
        );
        assert_eq!(without(&before, Verb::Patch, "secrets"), std::slice::from_ref(&before));
        assert_eq!(without(&rule(&["pods"], &["get"]), Verb::Get, "pods"), []);
        assert_eq!(without(&before, Verb::List, "nodes"), std::slice::from_ref(&before));
    }

    #[test]
    #[should_panic(expected = "by `*`")]
    fn a_star_is_refused() {
        without(&rule(&["*"], &["get"]), Verb::Get, "pods");
    }
}
