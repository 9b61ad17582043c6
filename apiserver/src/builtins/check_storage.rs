//! What volumes, claims and classes of storage must be.

use serde_json::Value;

use super::checks::At;
use super::checks::Check::{self, Below, Named, NotNegative, OneOf, Required, Selector, With};
use super::names;
use crate::error::Cause;
use crate::schema::quantity::Quantity;

const ACCESS_MODES: &[&str] = &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

pub(super) const TABLE: &[(&str, &[Check])] = &[
    ("PersistentVolumeClaim", &[Below("spec")]),
    (
        "PersistentVolumeClaimSpec",
        &[
            With(claim_modes),
            Selector("selector"),
            With(claim_size),
            Named("storageClassName", names::subdomain),
            OneOf("volumeMode", &["Block", "Filesystem"]),
        ],
    ),
    ("PersistentVolume", &[Below("spec")]),
    (
        "PersistentVolumeSpec",
        &[
            With(volume_modes),
            With(capacity),
            OneOf("persistentVolumeReclaimPolicy", &["Delete", "Recycle", "Retain"]),
            With(volume_source),
            Named("storageClassName", names::subdomain),
            OneOf("volumeMode", &["Block", "Filesystem"]),
        ],
    ),
    (
        "StorageClass",
        &[
            Required("provisioner"),
            OneOf("reclaimPolicy", &["Delete", "Retain"]),
            OneOf("volumeBindingMode", &["Immediate", "WaitForFirstConsumer"]),
        ],
    ),
    ("CSIDriver", &[Below("spec")]),
    (
        "CSIDriverSpec",
        &[OneOf("fsGroupPolicy", &["File", "None", "ReadWriteOnceWithFSType"])],
    ),
    (
        "CSIStorageCapacity",
        &[Required("storageClassName"), NotNegative("capacity")],
    ),
];

fn claim_modes(at: &At<'_>, causes: &mut Vec<Cause>) {
    if at.list("accessModes").is_empty() {
        causes.push(Cause::required(
            at.field("accessModes"),
            "at least 1 access mode is required",
        ));
    }
    modes(at, causes);
}

fn volume_modes(at: &At<'_>, causes: &mut Vec<Cause>) {
    if at.list("accessModes").is_empty() {
        causes.push(Cause::required(at.field("accessModes"), ""));
    }
    modes(at, causes);
}

fn modes(at: &At<'_>, causes: &mut Vec<Cause>) {
    for mode in at.list("accessModes") {
        if !mode.as_str().is_some_and(|m| ACCESS_MODES.contains(&m)) {
            causes.push(Cause::unsupported(at.field("accessModes"), mode, ACCESS_MODES));
        }
    }
}

fn claim_size(at: &At<'_>, causes: &mut Vec<Cause>) {
    let path = at.field("resources[storage]");
    match at.get("resources.requests.storage") {
        Value::Null => causes.push(Cause::required(path, "")),
        amount => {
            if amount
                .as_str()
                .and_then(Quantity::parse)
                .is_some_and(|q| q.nanos() <= 0)
            {
                causes.push(Cause::invalid(path, amount, "must be greater than zero"));
            }
        }
    }
}

fn capacity(at: &At<'_>, causes: &mut Vec<Cause>) {
    let path = at.field("capacity");
    let given = at.get("capacity");
    if given.is_null() {
        causes.push(Cause::required(path.as_str(), ""));
    }
    if given.get("storage").is_none() || given.as_object().is_some_and(|c| c.len() > 1) {
        causes.push(Cause::unsupported(path.as_str(), given, &["storage"]));
    }
    if given["storage"]
        .as_str()
        .and_then(Quantity::parse)
        .is_some_and(|q| q.nanos() <= 0)
    {
        causes.push(Cause::invalid(
            format!("{path}[storage]"),
            &given["storage"],
            "must be greater than zero",
        ));
    }
}

/// The ways to provide a volume, in the order in which they are looked at.
const VOLUME_SOURCES: [&str; 22] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];

fn volume_source(at: &At<'_>, causes: &mut Vec<Cause>) {
    let mut given = VOLUME_SOURCES.iter().filter(|source| at.map.contains_key(**source));
    if given.next().is_none() {
        causes.push(Cause::required(at.path, "must specify a volume type"));
    }
    for extra in given {
        causes.push(Cause::forbidden(
            at.field(extra),
            "may not specify more than 1 volume type",
        ));
    }
}
