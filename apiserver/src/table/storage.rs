//! Volumes, claims and storage classes.

use serde_json::Value;

use super::column::{AGE, Column, NAME, Row, Table};
use super::format::{access_modes, plain};

const GROUP: &str = "storage.k8s.io";

pub(super) const TABLES: &[Table] = &[
    ("", "PersistentVolume", VOLUME),
    ("", "PersistentVolumeClaim", CLAIM),
    (GROUP, "StorageClass", CLASS),
    (GROUP, "VolumeAttachment", ATTACHMENT),
    (GROUP, "VolumeAttributesClass", ATTRIBUTES_CLASS),
    (GROUP, "CSINode", CSI_NODE),
    (GROUP, "CSIDriver", CSI_DRIVER),
    (GROUP, "CSIStorageCapacity", CSI_CAPACITY),
];

const VOLUME: &[Column] = &[
    NAME,
    Column::text("Capacity", "How much the volume holds.", |row| {
        quantity(row.at("/spec/capacity/storage"))
    }),
    Column::text("Access Modes", "How the volume can be mounted.", |row| {
        access_modes(row.list("/spec/accessModes")).into()
    }),
    Column::text(
        "Reclaim Policy",
        "What happens to the volume when its claim goes.",
        |row| row.text("/spec/persistentVolumeReclaimPolicy").into(),
    ),
    Column::text("Status", "Whether the volume is available, bound, released.", |row| {
        phase(row).into()
    }),
    Column::text("Claim", "The claim that the volume belongs to.", |row| {
        match row.at("/spec/claimRef") {
            Value::Null => "".into(),
            claim => format!(
                "{}/{}",
                claim["namespace"].as_str().unwrap_or_default(),
                claim["name"].as_str().unwrap_or_default()
            )
            .into(),
        }
    }),
    Column::text("StorageClass", "StorageClass of the pv", |row| {
        storage_class(row).into()
    }),
    Column::text("VolumeAttributesClass", "VolumeAttributesClass of the pv", |row| {
        row.text_or("/spec/volumeAttributesClassName", "<unset>").into()
    }),
    Column::text("Reason", "Why the volume is in its state.", |row| {
        row.text("/status/reason").into()
    }),
    AGE,
    Column::text("VolumeMode", "File system or block device.", |row| {
        row.text_or("/spec/volumeMode", "<unset>").into()
    })
    .wide(),
];

const CLAIM: &[Column] = &[
    NAME,
    Column::text("Status", "Whether the claim is pending, bound, lost.", |row| {
        phase(row).into()
    }),
    Column::text("Volume", "The volume that the claim is bound to.", |row| {
        row.text("/spec/volumeName").into()
    }),
    Column::text("Capacity", "How much the volume holds.", |row| {
        if is_bound(row) {
            quantity(row.at("/status/capacity/storage"))
        } else {
            "".into()
        }
    }),
    Column::text("Access Modes", "How the volume can be mounted.", |row| {
        if is_bound(row) {
            access_modes(row.list("/status/accessModes")).into()
        } else {
            "".into()
        }
    }),
    Column::text("StorageClass", "StorageClass of the pvc", |row| {
        storage_class(row).into()
    }),
    Column::text("VolumeAttributesClass", "VolumeAttributesClass of the pvc", |row| {
        row.text_or("/spec/volumeAttributesClassName", "<unset>").into()
    }),
    AGE,
    Column::text("VolumeMode", "File system or block device.", |row| {
        row.text_or("/spec/volumeMode", "<unset>").into()
    })
    .wide(),
];

const CLASS: &[Column] = &[
    Column::text("Name", super::column::NAME_TEXT, |row| {
        let default = |word: &str| row.at("/metadata/annotations")[word] == "true";
        let is_default = default("storageclass.kubernetes.io/is-default-class")
            || default("storageclass.beta.kubernetes.io/is-default-class");
        format!(
            "{}{}",
            row.text("/metadata/name"),
            if is_default { " (default)" } else { "" }
        )
        .into()
    })
    .naming(),
    Column::text("Provisioner", "Who makes volumes of the class.", |row| {
        row.text("/provisioner").into()
    }),
    Column::text(
        "ReclaimPolicy",
        "What happens to volumes when their claim goes.",
        |row| row.text_or("/reclaimPolicy", "Delete").into(),
    ),
    Column::text("VolumeBindingMode", "When claims are bound.", |row| {
        row.text_or("/volumeBindingMode", "Immediate").into()
    }),
    Column::text("AllowVolumeExpansion", "Whether volumes can grow.", |row| {
        is_true(row.at("/allowVolumeExpansion"))
    }),
    AGE,
];

const ATTACHMENT: &[Column] = &[
    NAME,
    Column::text("Attacher", "Who attaches the volume.", |row| {
        row.text("/spec/attacher").into()
    })
    .naming(),
    Column::text("PV", "The volume.", |row| {
        row.text("/spec/source/persistentVolumeName").into()
    }),
    Column::text("Node", "The node.", |row| row.text("/spec/nodeName").into()),
    Column::boolean("Attached", "Whether the volume is attached.", |row| {
        is_true(row.at("/status/attached"))
    }),
    AGE,
];

const ATTRIBUTES_CLASS: &[Column] = &[
    NAME,
    Column::text("DriverName", "The driver of the class.", |row| {
        row.text("/driverName").into()
    }),
    AGE,
];

const CSI_NODE: &[Column] = &[
    NAME,
    Column::integer(
        "Drivers",
        "Drivers indicates the number of CSI drivers registered on the node",
        |row| row.count("/spec/drivers").into(),
    ),
    AGE,
];

const CSI_DRIVER: &[Column] = &[
    NAME,
    Column::boolean("AttachRequired", "Whether volumes have to be attached.", |row| {
        (row.at("/spec/attachRequired") != false).into()
    }),
    Column::boolean("PodInfoOnMount", "Whether the driver is told about the pod.", |row| {
        is_true(row.at("/spec/podInfoOnMount"))
    }),
    Column::boolean("StorageCapacity", "Whether scheduling looks at capacity.", |row| {
        is_true(row.at("/spec/storageCapacity"))
    }),
    Column::text("TokenRequests", "The audiences of tokens for the driver.", |row| {
        if row.at("/spec/tokenRequests").is_null() {
            return "<unset>".into();
        }
        let audiences = row
            .list("/spec/tokenRequests")
            .iter()
            .filter_map(|t| t["audience"].as_str());
        audiences.collect::<Vec<_>>().join(",").into()
    }),
    Column::boolean(
        "RequiresRepublish",
        "Whether volumes are published again and again.",
        |row| is_true(row.at("/spec/requiresRepublish")),
    ),
    Column::text("Modes", "The lifetimes of volumes that the driver knows.", |row| {
        let modes: Vec<&str> = row
            .list("/spec/volumeLifecycleModes")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        if modes.is_empty() {
            "<none>".into()
        } else {
            modes.join(",").into()
        }
    }),
    AGE,
];

const CSI_CAPACITY: &[Column] = &[
    NAME,
    Column::text("StorageClassName", "The class that the capacity is for.", |row| {
        row.text("/storageClassName").into()
    }),
    Column::text("Capacity", "How much can be stored.", |row| {
        if row.at("/capacity").is_null() {
            "<unset>".into()
        } else {
            plain(row.at("/capacity")).into()
        }
    }),
];

fn phase<'a>(row: &Row<'a>) -> &'a str {
    if row.is_deleting() {
        "Terminating"
    } else {
        row.text("/status/phase")
    }
}

fn is_bound(row: &Row<'_>) -> bool {
    !row.text("/spec/volumeName").is_empty()
}

fn storage_class<'a>(row: &Row<'a>) -> &'a str {
    let annotated = row.at("/metadata/annotations")["volume.beta.kubernetes.io/storage-class"].as_str();
    annotated.unwrap_or(row.text("/spec/storageClassName"))
}

/// A quantity; one that is missing is zero.
fn quantity(value: &Value) -> Value {
    if value.is_null() {
        "0".into()
    } else {
        plain(value).into()
    }
}

fn is_true(value: &Value) -> Value {
    (value == true).into()
}
