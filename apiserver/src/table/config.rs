//! Configuration kinds: config maps, secrets, accounts, quotas, leases, classes.

use super::column::{AGE, Column, NAME, Row, Table};
use super::format::plain;

pub(super) const TABLES: &[Table] = &[
    ("", "ConfigMap", CONFIG_MAP),
    ("", "Secret", SECRET),
    ("", "ServiceAccount", &[NAME, AGE]),
    ("", "ResourceQuota", RESOURCE_QUOTA),
    ("coordination.k8s.io", "Lease", LEASE),
    ("scheduling.k8s.io", "PriorityClass", PRIORITY_CLASS),
    ("node.k8s.io", "RuntimeClass", RUNTIME_CLASS),
];

const CONFIG_MAP: &[Column] = &[
    NAME,
    Column::text(
        "Data",
        "Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_' or '.'. Values with non-UTF-8 byte sequences must use the BinaryData field. The keys stored in Data must not overlap with the keys in the BinaryData field, this is enforced during validation process.",
        |row| (row.count("/data") + row.count("/binaryData")).into(),
    ),
    AGE,
];

const SECRET: &[Column] = &[
    NAME,
    Column::text(
        "Type",
        "Used to facilitate programmatic handling of secret data. More info: https://kubernetes.io/docs/concepts/configuration/secret/#secret-types",
        |row| row.text("/type").into(),
    ),
    Column::text(
        "Data",
        "Data contains the secret data. Each key must consist of alphanumeric characters, '-', '_' or '.'. The serialized form of the secret data is a base64 encoded string, representing the arbitrary (possibly non-string) data value here. Described in https://tools.ietf.org/html/rfc4648#section-4",
        |row| row.count("/data").into(),
    ),
    AGE,
];

const RESOURCE_QUOTA: &[Column] = &[
    NAME,
    Column::text(
        "Request",
        "Request represents a minimum amount of cpu/memory that a container may consume.",
        |row| used_of_hard(row, false).into(),
    ),
    Column::text(
        "Limit",
        "Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node.",
        |row| used_of_hard(row, true).into(),
    ),
    AGE,
];

const LEASE: &[Column] = &[
    NAME,
    Column::text("Holder", "Who holds the lease.", |row| {
        row.text("/spec/holderIdentity").into()
    }),
    AGE,
];

const PRIORITY_CLASS: &[Column] = &[
    NAME,
    Column::integer("Value", "The priority of pods of the class.", |row| {
        row.number("/value").into()
    }),
    Column::boolean(
        "Global-Default",
        "Whether pods without a class are of this one.",
        |row| (row.at("/globalDefault") == true).into(),
    ),
    AGE,
    Column::text(
        "PreemptionPolicy",
        "Whether pods of the class push others out.",
        |row| row.text("/preemptionPolicy").into(),
    ),
];

const RUNTIME_CLASS: &[Column] = &[
    NAME,
    Column::text("Handler", "", |row| row.text("/handler").into()),
    AGE,
];

/// `pods: 1/10, …` of the limits or of everything else.
fn used_of_hard(row: &Row<'_>, limits: bool) -> String {
    let (hard, used) = (row.at("/status/hard"), row.at("/status/used"));
    let texts: Vec<String> = hard
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(resource, _)| resource.starts_with("limits.") == limits)
        .map(|(resource, hard)| {
            let used = if used[resource].is_null() {
                "0".to_owned()
            } else {
                plain(&used[resource])
            };
            format!("{resource}: {used}/{}", plain(hard))
        })
        .collect();
    texts.join(", ")
}
