//! What the volumes of pods must be.

use std::collections::BTreeSet;

use super::check_containers::{descending, no_backsteps};
use super::checks::At;
use super::checks::Check::{self, Below, Named, OneOf, Required, With};
use super::names;
use crate::error::Cause;

pub(super) const TABLE: &[(&str, &[Check])] = &[
    ("Volume", &[With(source)]),
    ("EmptyDirVolumeSource", &[With(size_limit)]),
    (
        "HostPathVolumeSource",
        &[Required("path"), With(host_path), OneOf("type", HOST_PATH_TYPES)],
    ),
    (
        "SecretVolumeSource",
        &[Required("secretName"), With(default_mode), Below("items")],
    ),
    (
        "ConfigMapVolumeSource",
        &[Required("name"), With(default_mode), Below("items")],
    ),
    ("DownwardAPIVolumeSource", &[With(default_mode), Below("items")]),
    ("ProjectedVolumeSource", &[With(default_mode), Below("sources")]),
    ("VolumeProjection", &[With(projection)]),
    ("SecretProjection", &[Required("name"), Below("items")]),
    ("ConfigMapProjection", &[Required("name"), Below("items")]),
    ("DownwardAPIProjection", &[Below("items")]),
    ("ServiceAccountTokenProjection", &[With(token)]),
    (
        "KeyToPath",
        &[Required("key"), Required("path"), With(file_path), With(mode)],
    ),
    (
        "DownwardAPIVolumeFile",
        &[Required("path"), With(file_path), With(file_source), With(mode)],
    ),
    ("PersistentVolumeClaimVolumeSource", &[Required("claimName")]),
    (
        "NFSVolumeSource",
        &[Required("server"), Required("path"), With(absolute)],
    ),
    (
        "CSIVolumeSource",
        &[
            Required("driver"),
            Named("driver", names::subdomain),
            With(publish_secret),
        ],
    ),
    (
        "EphemeralVolumeSource",
        &[Required("volumeClaimTemplate"), Below("volumeClaimTemplate")],
    ),
    ("PersistentVolumeClaimTemplate", &[Below("spec")]),
    ("GitRepoVolumeSource", &[Required("repository"), With(directory)]),
    (
        "ImageVolumeSource",
        &[Required("reference"), OneOf("pullPolicy", PULL_POLICIES)],
    ),
    (
        "ISCSIVolumeSource",
        &[Required("targetPortal"), Required("iqn"), With(initiator_target)],
    ),
];

const PULL_POLICIES: &[&str] = &["Always", "IfNotPresent", "Never"];

const HOST_PATH_TYPES: &[&str] = &[
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
];

/// The volumes of a pod, each with one source and a name of its own.
pub(super) fn volumes(at: &At<'_>, causes: &mut Vec<Cause>) {
    let mut seen = BTreeSet::new();
    for (index, volume) in at.list("volumes").iter().enumerate() {
        let path = at.field(&format!("volumes[{index}]"));
        let mut sources = volume
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(key, _)| *key != "name");
        sources.next();
        for (key, _) in sources {
            causes.push(Cause::forbidden(
                format!("{path}.{key}"),
                "may not specify more than 1 volume type",
            ));
        }
        let projected = volume["projected"]["sources"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate();
        for (source, _) in projected.filter(|(_, s)| s.get("serviceAccountToken").is_some()) {
            if at.text("serviceAccountName").is_empty() && at.root["kind"] == "Pod" {
                let why = "must not be specified when serviceAccountName is not set";
                causes.push(Cause::forbidden(
                    format!("{path}.projected.sources[{source}].serviceAccountToken"),
                    why,
                ));
            }
        }
        at.below_item("volumes", index, causes);
        let name = volume["name"].as_str().unwrap_or_default();
        if name.is_empty() {
            causes.push(Cause::required(format!("{path}.name"), ""));
            continue;
        }
        let faults = names::label(name);
        causes.extend(
            faults
                .iter()
                .map(|why| Cause::invalid(format!("{path}.name"), &name.into(), why)),
        );
        if !seen.insert(name) {
            causes.push(Cause::duplicate(format!("{path}.name"), &name.into()));
        }
    }
}

fn source(at: &At<'_>, causes: &mut Vec<Cause>) {
    if let Some(source) = at.map.keys().find(|key| *key != "name") {
        at.below(source, causes);
    }
}

fn size_limit(at: &At<'_>, causes: &mut Vec<Cause>) {
    if at.text("sizeLimit").starts_with('-') {
        let why = "SizeLimit field must be a valid resource quantity";
        causes.push(Cause::forbidden(at.field("sizeLimit"), why));
    }
}

fn host_path(at: &At<'_>, causes: &mut Vec<Cause>) {
    causes.extend(no_backsteps(at.text("path"), &at.field("path")));
}

fn default_mode(at: &At<'_>, causes: &mut Vec<Cause>) {
    causes.extend(file_mode(at, "defaultMode"));
}

fn mode(at: &At<'_>, causes: &mut Vec<Cause>) {
    causes.extend(file_mode(at, "mode"));
}

fn file_mode(at: &At<'_>, field: &str) -> Option<Cause> {
    let mode = at.get(field);
    let bad = mode.as_i64().is_some_and(|mode| !(0..=0o777).contains(&mode));
    let why = "must be a number between 0 and 0777 (octal), both inclusive";
    bad.then(|| Cause::invalid(at.field(field), mode, why))
}

/// A file in a volume: a relative path that the kubelet does not use itself.
fn file_path(at: &At<'_>, causes: &mut Vec<Cause>) {
    let path = at.text("path");
    causes.extend(descending(path, &at.field("path")));
    if path.starts_with("..") && !path.split('/').any(|step| step == "..") {
        let why = "must not start with '..'";
        causes.push(Cause::invalid(at.field("path"), &path.into(), why));
    }
}

/// The fields of a pod that a file may show.
const FILE_FIELDS: &[&str] = &[
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
];

/// Fields that have a label, but can only be shown by variables, or by nothing.
fn shown_elsewhere(field: &str) -> bool {
    matches!(
        field,
        "spec.nodeName"
            | "spec.restartPolicy"
            | "spec.schedulerName"
            | "spec.serviceAccountName"
            | "status.hostIP"
            | "status.hostIPs"
            | "status.nominatedNodeName"
            | "status.phase"
            | "status.podIP"
            | "status.podIPs"
    )
}

fn publish_secret(at: &At<'_>, causes: &mut Vec<Cause>) {
    if !at.get("nodePublishSecretRef").is_null() && at.text("nodePublishSecretRef.name").is_empty() {
        causes.push(Cause::required(at.field("nodePublishSecretRef.name"), ""));
    }
}

fn directory(at: &At<'_>, causes: &mut Vec<Cause>) {
    causes.extend(descending(at.text("directory"), &at.field("directory")));
}

fn initiator_target(at: &At<'_>, causes: &mut Vec<Cause>) {
    let lun = at.get("lun");
    if lun.as_i64().is_some_and(|lun| !(0..=255).contains(&lun)) {
        causes.push(Cause::invalid(
            at.field("lun"),
            lun,
            "must be between 0 and 255, inclusive",
        ));
    }
    let logs_in = at.get("chapAuthDiscovery") == true || at.get("chapAuthSession") == true;
    if logs_in && at.text("secretRef.name").is_empty() {
        causes.push(Cause::required(at.field("secretRef"), ""));
    }
}

fn file_source(at: &At<'_>, causes: &mut Vec<Cause>) {
    match (at.get("fieldRef").is_null(), at.get("resourceFieldRef").is_null()) {
        (true, true) => {
            let why = "one of fieldRef and resourceFieldRef is required";
            causes.push(Cause::required(at.path, why));
        }
        (false, false) => {
            let why = "fieldRef and resourceFieldRef can not be specified simultaneously";
            causes.push(Cause::invalid(at.path, &"resource".into(), why));
        }
        (true, false) => at.below("resourceFieldRef", causes),
        (false, true) => {
            let (field, place) = (at.text("fieldRef.fieldPath"), at.field("fieldRef.fieldPath"));
            let subscript = ["metadata.labels['", "metadata.annotations['"];
            if field.is_empty() {
                causes.push(Cause::required(place, ""));
            } else if !FILE_FIELDS.contains(&field) && !subscript.iter().any(|start| field.starts_with(start)) {
                if shown_elsewhere(field) {
                    causes.push(Cause::unsupported(place, &field.into(), FILE_FIELDS));
                } else {
                    let why = format!("error converting fieldPath: field label not supported: {field}");
                    causes.push(Cause::invalid(place, &field.into(), why));
                }
            }
        }
    }
}

fn projection(at: &At<'_>, causes: &mut Vec<Cause>) {
    let mut given = at.map.keys();
    match given.next() {
        None => causes.push(Cause::required(at.path, "must specify at least one source type")),
        Some(source) => at.below(source, causes),
    }
    for extra in given {
        let why = "may not specify more than 1 volume type";
        causes.push(Cause::forbidden(at.field(extra), why));
    }
}

fn token(at: &At<'_>, causes: &mut Vec<Cause>) {
    let seconds = at.get("expirationSeconds");
    let why = match seconds.as_i64() {
        Some(n) if n < 600 => "may not specify a duration less than 10 minutes",
        Some(n) if n > 1 << 32 => "may not specify a duration larger than 2^32 seconds",
        _ => "",
    };
    if !why.is_empty() {
        causes.push(Cause::invalid(at.field("expirationSeconds"), seconds, why));
    }
    if at.text("path").is_empty() {
        causes.push(Cause::required(at.field("path"), ""));
    }
    file_path(at, causes);
}

fn absolute(at: &At<'_>, causes: &mut Vec<Cause>) {
    let path = at.text("path");
    if !path.is_empty() && !path.starts_with('/') {
        causes.push(Cause::invalid(
            at.field("path"),
            &path.into(),
            "must be an absolute path",
        ));
    }
}
