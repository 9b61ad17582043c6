//! Custom resources of 1.5 KB: a spec of a few levels, a status with conditions, two field managers.

use std::fmt::Write;

use kubewright::k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::Deserialize;

use super::{Chance, SIBLINGS};

/// The API group of the custom kind.
pub(crate) const GROUP: &str = "bench.kubewright.dev";
/// The plural of the custom kind.
pub(crate) const PLURAL: &str = "databases";

/// Custom resource number `index`.
pub(crate) fn custom(seed: u64, index: usize) -> String {
    let mut chance = Chance::of(seed, "custom", index);
    let group = index / SIBLINGS;
    let mut owners = Chance::of(seed, "tenant", group);
    let tenant = owners.suffix(8);
    let name = format!(
        "{}-{}",
        chance.one(&["orders", "users", "events", "billing", "audit"]),
        chance.suffix(8)
    );
    let (created, changed) = (chance.time(), chance.time());
    let mut text = String::with_capacity(2 << 10);
    let _ = write!(
        text,
        "{{\"apiVersion\":\"{GROUP}/v1\",\"kind\":\"Database\",\"metadata\":{{\"annotations\":{{\"{GROUP}/change\":\"{}\"}},\"creationTimestamp\":\"{created}\",\"generation\":{generation},\"labels\":{{\"engine\":\"{engine}\",\"tenant\":\"{tenant}\"}},\"managedFields\":[{{\"apiVersion\":\"{GROUP}/v1\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{{\"f:metadata\":{{\"f:labels\":{{\".\":{{}},\"f:engine\":{{}},\"f:tenant\":{{}}}}}},\"f:spec\":{{\".\":{{}},\"f:backup\":{{}},\"f:engine\":{{}},\"f:storage\":{{}},\"f:users\":{{}}}}}},\"manager\":\"argocd-controller\",\"operation\":\"Apply\",\"time\":\"{created}\"}},{{\"apiVersion\":\"{GROUP}/v1\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{{\"f:status\":{{\".\":{{}},\"f:conditions\":{{}},\"f:endpoint\":{{}},\"f:phase\":{{}}}}}},\"manager\":\"database-operator\",\"operation\":\"Update\",\"subresource\":\"status\",\"time\":\"{changed}\"}}],\"name\":\"{name}\",\"namespace\":\"tenant-{}\",\"ownerReferences\":[{{\"apiVersion\":\"{GROUP}/v1\",\"controller\":true,\"kind\":\"Tenant\",\"name\":\"{tenant}\",\"uid\":\"{}\"}}],\"resourceVersion\":\"{}\",\"uid\":\"{}\"}}",
        chance.hex(12),
        group % 100,
        owners.uid(),
        1000 + index,
        chance.uid(),
        generation = 1 + index % 9,
        engine = ["postgres", "mysql", "redis"][index % 3],
    );
    let _ = write!(
        text,
        ",\"spec\":{{\"backup\":{{\"bucket\":\"s3://backups-{}/{name}\",\"retention\":{},\"schedule\":\"{} {} * * *\"}},\"engine\":\"{}\",\"replicas\":{},\"storage\":{{\"class\":\"{}\",\"size\":\"{}Gi\"}},\"users\":[{{\"grants\":[\"read\",\"write\"],\"name\":\"{}\",\"secretRef\":\"{name}-{}\"}}]}}",
        chance.hex(6),
        1 + chance.below(60),
        chance.below(60),
        chance.below(24),
        ["postgres", "mysql", "redis"][index % 3],
        1 + chance.below(5),
        chance.one(&["gp3", "io2", "standard"]),
        10 * (1 + chance.below(200)),
        chance.suffix(10),
        chance.suffix(5),
    );
    let _ = write!(
        text,
        ",\"status\":{{\"conditions\":[{{\"lastTransitionTime\":\"{changed}\",\"message\":\"{} of {0} replicas are in sync with {name}-0\",\"observedGeneration\":{1},\"reason\":\"InSync\",\"status\":\"True\",\"type\":\"Ready\"}}],\"endpoint\":\"{name}.tenant-{2}.svc.cluster.local:{3}\",\"phase\":\"Running\"}}}}",
        1 + chance.below(5),
        1 + index % 9,
        group % 100,
        1024 + chance.below(60_000),
    );
    text
}

/// The spec, as its author would have it.
#[derive(Clone, Debug, Deserialize)]
#[allow(dead_code, reason = "held in memory is all that it is for")]
pub(crate) struct DatabaseSpec {
    backup: Backup,
    engine: String,
    replicas: i32,
    storage: Storage,
    users: Vec<User>,
}

#[derive(Clone, Debug, Deserialize)]
#[allow(dead_code, reason = "as above")]
struct Backup {
    bucket: String,
    retention: i32,
    schedule: String,
}

#[derive(Clone, Debug, Deserialize)]
#[allow(dead_code, reason = "as above")]
struct Storage {
    class: String,
    size: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code, reason = "as above")]
struct User {
    grants: Vec<String>,
    name: String,
    secret_ref: String,
}

/// The status.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(dead_code, reason = "as above")]
pub(crate) struct DatabaseStatus {
    conditions: Vec<Condition>,
    endpoint: String,
    phase: String,
}
