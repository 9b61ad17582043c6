//! Bindings, signing requests and admission configuration.

use jiff::SignedDuration;
use serde_json::Value;

use super::column::{AGE, Column, NAME, Row, Table};
use super::duration;

pub(super) const TABLES: &[Table] = &[
    ("rbac.authorization.k8s.io", "RoleBinding", ROLE_BINDING),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", CLUSTER_ROLE_BINDING),
    ("certificates.k8s.io", "CertificateSigningRequest", SIGNING_REQUEST),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration", WEBHOOKS),
    (
        "admissionregistration.k8s.io",
        "ValidatingWebhookConfiguration",
        WEBHOOKS,
    ),
    (
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicy",
        VALIDATING_POLICY,
    ),
    (
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicyBinding",
        POLICY_BINDING,
    ),
    (
        "admissionregistration.k8s.io",
        "MutatingAdmissionPolicy",
        MUTATING_POLICY,
    ),
    (
        "admissionregistration.k8s.io",
        "MutatingAdmissionPolicyBinding",
        POLICY_BINDING,
    ),
];

const ROLE: Column = Column::text("Role", "The role that is granted.", |row| {
    format!("{}/{}", row.text("/roleRef/kind"), row.text("/roleRef/name")).into()
});

const ROLE_BINDING: &[Column] = &[
    NAME,
    ROLE,
    AGE,
    Column::text("Users", "Users in the roleBinding", |row| subjects(row, "User").into()).wide(),
    Column::text("Groups", "Groups in the roleBinding", |row| {
        subjects(row, "Group").into()
    })
    .wide(),
    Column::text("ServiceAccounts", "ServiceAccounts in the roleBinding", |row| {
        subjects(row, "ServiceAccount").into()
    })
    .wide(),
];

const CLUSTER_ROLE_BINDING: &[Column] = &[
    NAME,
    ROLE,
    AGE,
    Column::text("Users", "Users in the clusterRoleBinding", |row| {
        subjects(row, "User").into()
    })
    .wide(),
    Column::text("Groups", "Groups in the clusterRoleBinding", |row| {
        subjects(row, "Group").into()
    })
    .wide(),
    Column::text("ServiceAccounts", "ServiceAccounts in the clusterRoleBinding", |row| {
        subjects(row, "ServiceAccount").into()
    })
    .wide(),
];

const SIGNING_REQUEST: &[Column] = &[
    NAME,
    AGE,
    Column::text("SignerName", "Who is asked to sign.", |row| {
        row.text_or("/spec/signerName", "<none>").into()
    }),
    Column::text("Requestor", "Who asks.", |row| row.text("/spec/username").into()),
    Column::text(
        "RequestedDuration",
        "How long the certificate is to be good.",
        |row| match row.at("/spec/expirationSeconds").as_i64() {
            Some(seconds) => duration::human(SignedDuration::from_secs(seconds)).into(),
            None => "<none>".into(),
        },
    ),
    Column::text("Condition", "What became of the request.", |row| {
        let has = |kind: &str| row.list("/status/conditions").iter().any(|c| c["type"] == kind);
        let mut words = vec![if has("Denied") {
            "Denied"
        } else if has("Approved") {
            "Approved"
        } else {
            "Pending"
        }];
        if has("Failed") {
            words.push("Failed");
        }
        if !row.text("/status/certificate").is_empty() {
            words.push("Issued");
        }
        words.join(",").into()
    }),
];

const WEBHOOKS: &[Column] = &[
    NAME,
    Column::integer(
        "Webhooks",
        "Webhooks indicates the number of webhooks registered in this configuration",
        |row| row.count("/webhooks").into(),
    ),
    AGE,
];

const PARAM_KIND: Column = Column::text(
    "ParamKind",
    "ParamKind specifies the kind of resources used to parameterize this policy",
    |row| match row.at("/spec/paramKind") {
        Value::Null => "<unset>".into(),
        kind => format!(
            "{}/{}",
            kind["apiVersion"].as_str().unwrap_or_default(),
            kind["kind"].as_str().unwrap_or_default()
        )
        .into(),
    },
);

const VALIDATING_POLICY: &[Column] = &[
    NAME,
    Column::integer(
        "Validations",
        "Validations indicates the number of validation rules defined in this configuration",
        |row| row.count("/spec/validations").into(),
    ),
    PARAM_KIND,
    AGE,
];

const MUTATING_POLICY: &[Column] = &[
    NAME,
    Column::integer(
        "Mutations",
        "Mutation indicates the number of mutations rules defined in this configuration",
        |row| row.count("/spec/mutations").into(),
    ),
    PARAM_KIND,
    AGE,
];

const POLICY_BINDING: &[Column] = &[
    NAME,
    Column::text("PolicyName", "The policy that the binding puts in force.", |row| {
        row.text("/spec/policyName").into()
    }),
    Column::text("ParamRef", "The parameters of the policy.", |row| {
        match row.at("/spec/paramRef") {
            Value::Null => "<unset>".into(),
            reference => match (reference["name"].as_str(), reference["namespace"].as_str()) {
                (Some(name), Some(namespace)) => format!("{namespace}/{name}").into(),
                (Some(name), None) => format!("*/{name}").into(),
                (None, Some(namespace)) => format!("{namespace}/*").into(),
                (None, None) => "*/*".into(),
            },
        }
    }),
    AGE,
];

/// The subjects of one kind, joined by commas; service accounts with their namespace.
fn subjects(row: &Row<'_>, kind: &str) -> String {
    let named = row
        .list("/subjects")
        .iter()
        .filter(|s| s["kind"] == kind)
        .map(|subject| {
            let name = subject["name"].as_str().unwrap_or_default();
            match subject["namespace"].as_str() {
                Some(namespace) if kind == "ServiceAccount" => format!("{namespace}/{name}"),
                _ => name.to_owned(),
            }
        });
    named.collect::<Vec<_>>().join(", ")
}
