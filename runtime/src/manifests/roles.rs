//! The ServiceAccount, its roles and their bindings.

use serde_json::{Value, json};

use super::rights;
use crate::declaration::Declared;
use crate::kind::Kind;
use crate::rbac::PolicyRule;
use crate::webhook;

const RBAC: &str = "rbac.authorization.k8s.io/v1";
const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

/// Everything under RBAC for one operator, in the order in which it can be applied.
pub(super) fn objects(operator: &str, namespace: &str, watched: &[String], declared: &[Declared]) -> Vec<Value> {
    let names = Names { operator, namespace };
    let mut objects = vec![json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": names.meta(operator, Some(namespace)),
    })];
    if watched.is_empty() {
        objects.extend(names.cluster_wide(&rights::all(declared), declared));
    } else {
        let rights = rights::by_scope(declared);
        objects.extend(names.cluster_wide(&rights.cluster, declared));
        for place in watched {
            let mut within = names.within(place, operator, &rights.namespaced);
            within.first_mut().into_iter().for_each(|role| explain(role, declared));
            objects.extend(within);
        }
        // The API server wants events about cluster-scoped objects in this namespace.
        if declared.iter().any(|d| !d.primary.namespaced()) && !watched.iter().any(|place| place == "default") {
            objects.extend(names.within("default", &format!("{operator}-events"), &[events()]));
        }
    }
    objects.extend(names.within(
        namespace,
        &format!("{operator}-leader-election"),
        &leader_election(operator),
    ));
    objects
}

/// What asking the API server who may read the metrics needs, and what those need who read them.
pub(super) fn of_metrics(operator: &str, namespace: &str) -> Vec<Value> {
    let names = Names { operator, namespace };
    let review = format!("{operator}-metrics-access");
    let rules = [
        PolicyRule::new("authentication.k8s.io", ["tokenreviews"], ["create"]),
        PolicyRule::new("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
    ];
    vec![
        json!({ "apiVersion": RBAC, "kind": "ClusterRole", "metadata": names.meta(&review, None), "rules": rules }),
        json!({
            "apiVersion": RBAC,
            "kind": "ClusterRoleBinding",
            "metadata": names.meta(&review, None),
            "roleRef": { "apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": review },
            "subjects": names.subjects(),
        }),
        json!({
            "apiVersion": RBAC,
            "kind": "ClusterRole",
            "metadata": names.meta(&format!("{operator}-metrics-reader"), None),
            "rules": [{ "nonResourceURLs": ["/metrics"], "verbs": ["get"] }],
        }),
    ]
}

/// What issuing and injecting certificates needs, by name: the Secret of the authority, the configurations, the
/// definitions whose versions are converted. RBAC cannot restrict a create by name.
pub(super) fn of_webhooks(operator: &str, namespace: &str, webhooks: &[webhook::Declared]) -> Vec<Value> {
    if webhooks.is_empty() {
        return Vec::new();
    }
    let names = Names { operator, namespace };
    let rule = |group: &str, resource: &str, names: Vec<String>, verbs: &[&str]| PolicyRule {
        api_groups: vec![group.to_owned()],
        resources: vec![resource.to_owned()],
        resource_names: names,
        verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        non_resource_urls: Vec::new(),
    };
    let own = vec![operator.to_owned()];
    let definitions: Vec<String> = webhooks
        .iter()
        .filter(|webhook| webhook.conversion.is_some())
        .map(|webhook| webhook.kind.to_string())
        .collect();
    let mut cluster = Vec::new();
    for (resource, any) in [
        (
            "mutatingwebhookconfigurations",
            webhooks.iter().any(|webhook| webhook.mutates),
        ),
        (
            "validatingwebhookconfigurations",
            webhooks.iter().any(|webhook| webhook.validates),
        ),
    ] {
        if any {
            cluster.push(rule(
                "admissionregistration.k8s.io",
                resource,
                own.clone(),
                &["get", "patch"],
            ));
        }
    }
    if !definitions.is_empty() {
        let resource = "customresourcedefinitions";
        cluster.push(rule("apiextensions.k8s.io", resource, definitions, &["get", "patch"]));
    }
    let secret = vec![crate::webhook::certificates::secret_name(operator)];
    let within = [
        rule("", "secrets", Vec::new(), &["create"]),
        rule("", "secrets", secret, &["get", "update"]),
    ];
    let name = format!("{operator}-webhooks");
    let mut objects = names.bound_cluster_role(&name, &cluster);
    objects.extend(names.within(namespace, &name, &within));
    objects
}

/// What a storage migration needs: the objects, the definition by name, and the ConfigMap with its progress.
pub(super) fn of_migrations(operator: &str, namespace: &str, kinds: &[Kind]) -> Vec<Value> {
    if kinds.is_empty() {
        return Vec::new();
    }
    let names = Names { operator, namespace };
    let rule = |group: &str, resource: &str, names: &[String], verbs: &[&str]| PolicyRule {
        api_groups: vec![group.to_owned()],
        resources: vec![resource.to_owned()],
        resource_names: names.to_vec(),
        verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        non_resource_urls: Vec::new(),
    };
    let definitions: Vec<String> = kinds.iter().map(ToString::to_string).collect();
    let group = "apiextensions.k8s.io";
    let mut cluster: Vec<PolicyRule> = kinds
        .iter()
        .map(|kind| rule(kind.group(), kind.plural(), &[], &["list", "patch"]))
        .collect();
    cluster.push(rule(group, "customresourcedefinitions", &definitions, &["get"]));
    cluster.push(rule(
        group,
        "customresourcedefinitions/status",
        &definitions,
        &["patch"],
    ));
    let progress = [crate::webhook::progress_name(operator)];
    let within = [
        rule("", "configmaps", &[], &["create"]),
        rule("", "configmaps", &progress, &["get", "patch"]),
    ];
    let name = format!("{operator}-storage-migration");
    let mut objects = names.bound_cluster_role(&name, &cluster);
    objects.extend(names.within(namespace, &name, &within));
    objects
}

/// Leader election: any Lease may be created (RBAC cannot restrict a create by name), only our own read and renewed.
fn leader_election(operator: &str) -> [PolicyRule; 2] {
    let rule = |names: &[&str], verbs: &[&str]| PolicyRule {
        api_groups: vec!["coordination.k8s.io".to_owned()],
        resources: vec!["leases".to_owned()],
        resource_names: names.iter().map(|n| (*n).to_owned()).collect(),
        verbs: verbs.iter().map(|v| (*v).to_owned()).collect(),
        non_resource_urls: Vec::new(),
    };
    [rule(&[], &["create"]), rule(&[operator], &["get", "update"])]
}

/// Whoever reviews the rights should see where the checks of the compiler end, and why.
fn explain(role: &mut Value, declared: &[Declared]) {
    let reasons: Vec<String> = declared
        .iter()
        .filter_map(|d| Some(format!("{}: {}", d.name, d.ungranted_client.as_ref()?)))
        .collect();
    if !reasons.is_empty() {
        role["metadata"]["annotations"] = json!({ "kubewright.dev/ungranted-client": reasons.join("\n") });
    }
}

fn events() -> PolicyRule {
    PolicyRule::new("events.k8s.io", ["events"], ["create", "patch"])
}

/// Who it is about.
pub(super) struct Names<'a> {
    pub(super) operator: &'a str,
    pub(super) namespace: &'a str,
}

impl Names<'_> {
    pub(super) fn meta(&self, name: &str, namespace: Option<&str>) -> Value {
        let mut meta = json!({
            "name": name,
            "labels": {
                "app.kubernetes.io/name": self.operator,
                "app.kubernetes.io/managed-by": "kubewright",
            },
        });
        if let Some(namespace) = namespace {
            meta["namespace"] = namespace.into();
        }
        meta
    }

    /// A ClusterRole with its binding; nothing when there is nothing to grant.
    fn cluster_wide(&self, rules: &[PolicyRule], declared: &[Declared]) -> Vec<Value> {
        if rules.is_empty() {
            return Vec::new();
        }
        let mut role = json!({
            "apiVersion": RBAC,
            "kind": "ClusterRole",
            "metadata": self.meta(self.operator, None),
            "rules": rules,
        });
        explain(&mut role, declared);
        let binding = json!({
            "apiVersion": RBAC,
            "kind": "ClusterRoleBinding",
            "metadata": self.meta(self.operator, None),
            "roleRef": { "apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": self.operator },
            "subjects": self.subjects(),
        });
        vec![role, binding]
    }

    /// A ClusterRole of that name with its binding.
    fn bound_cluster_role(&self, name: &str, rules: &[PolicyRule]) -> Vec<Value> {
        if rules.is_empty() {
            return Vec::new();
        }
        let role = json!({
            "apiVersion": RBAC,
            "kind": "ClusterRole",
            "metadata": self.meta(name, None),
            "rules": rules,
        });
        let binding = json!({
            "apiVersion": RBAC,
            "kind": "ClusterRoleBinding",
            "metadata": self.meta(name, None),
            "roleRef": { "apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": name },
            "subjects": self.subjects(),
        });
        vec![role, binding]
    }

    /// A Role in one namespace with its binding; nothing when there is nothing to grant.
    fn within(&self, place: &str, name: &str, rules: &[PolicyRule]) -> Vec<Value> {
        if rules.is_empty() {
            return Vec::new();
        }
        let role = json!({
            "apiVersion": RBAC,
            "kind": "Role",
            "metadata": self.meta(name, Some(place)),
            "rules": rules,
        });
        let binding = json!({
            "apiVersion": RBAC,
            "kind": "RoleBinding",
            "metadata": self.meta(name, Some(place)),
            "roleRef": { "apiGroup": RBAC_GROUP, "kind": "Role", "name": name },
            "subjects": self.subjects(),
        });
        vec![role, binding]
    }

    fn subjects(&self) -> Value {
        json!([{ "kind": "ServiceAccount", "name": self.operator, "namespace": self.namespace }])
    }
}
