//! The plain form: one document per path.

use serde_json::{Value, json};

use super::answer::storage_version_hash;
use super::groups::{Group, Groups, Version};
use crate::resource::{Resource, Subresource};

/// The release whose behaviour the server shows.
pub(crate) const RELEASE: &str = "1.36.0";
const MAJOR: &str = "1";
const MINOR: &str = "36";

/// `/version`.
fn version() -> Value {
    json!({
        "major": MAJOR,
        "minor": MINOR,
        "emulationMajor": MAJOR,
        "emulationMinor": MINOR,
        "minCompatibilityMajor": MAJOR,
        "minCompatibilityMinor": "35",
        "gitVersion": format!("v{RELEASE}+kubewright-{}", env!("CARGO_PKG_VERSION")),
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

/// `/version` as the real server writes it: one field a line, in the order of their declaration.
pub(super) fn version_text() -> String {
    const FIELDS: [&str; 13] = [
        "major",
        "minor",
        "emulationMajor",
        "emulationMinor",
        "minCompatibilityMajor",
        "minCompatibilityMinor",
        "gitVersion",
        "gitCommit",
        "gitTreeState",
        "buildDate",
        "goVersion",
        "compiler",
        "platform",
    ];
    let version = version();
    let lines = FIELDS.map(|field| format!("  \"{field}\": {}", version[field]));
    format!("{{\n{}\n}}", lines.join(",\n"))
}

/// `/`: what there is to ask for.
pub(super) fn paths(groups: &Groups) -> Value {
    let mut paths: Vec<String> = [
        "/api",
        "/apis",
        "/healthz",
        "/livez",
        "/openapi/v2",
        "/openapi/v3",
        "/readyz",
        "/version",
    ]
    .map(ToOwned::to_owned)
    .to_vec();
    for group in &groups.0 {
        let base = if group.name.is_empty() {
            "/api".to_owned()
        } else {
            format!("/apis/{}", group.name)
        };
        paths.extend(group.versions.iter().map(|version| format!("{base}/{}", version.name)));
        paths.push(base);
    }
    paths.sort_unstable();
    paths.dedup();
    json!({ "paths": paths })
}

/// `/api`.
pub(super) fn core_versions() -> Value {
    // Nobody has gone by the address for years; it is that of a server's default port.
    let address = json!({ "clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:6443" });
    json!({ "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [address] })
}

/// `/apis`.
pub(super) fn groups(groups: &Groups) -> Value {
    let named: Vec<Value> = groups.0.iter().filter(|g| !g.name.is_empty()).map(entry).collect();
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": named })
}

/// `/apis/<group>`.
pub(super) fn group(groups: &Groups, name: &str) -> Option<Value> {
    let mut group = entry(groups.get(name).filter(|g| !g.name.is_empty())?);
    group["kind"] = "APIGroup".into();
    group["apiVersion"] = "v1".into();
    Some(group)
}

/// `/api/<version>` and `/apis/<group>/<version>`.
pub(super) fn resources(groups: &Groups, group: &str, version: &str) -> Option<Value> {
    let version = groups.get(group)?.versions.iter().find(|v| v.name == version)?;
    let mut list = json!({
        "kind": "APIResourceList",
        "groupVersion": version.group_version,
        "resources": version.resources.iter().flat_map(|r| lines(r)).collect::<Vec<_>>(),
    });
    if !group.is_empty() {
        // The real server leaves it out for the core group.
        list["apiVersion"] = "v1".into();
    }
    Some(list)
}

fn entry(group: &Group) -> Value {
    let name = |v: &Version| json!({ "groupVersion": v.group_version, "version": v.name });
    json!({
        "name": group.name,
        "versions": group.versions.iter().map(name).collect::<Vec<_>>(),
        "preferredVersion": group.versions.first().map(name),
    })
}

/// The resource and its subresources.
fn lines(resource: &Resource) -> Vec<Value> {
    let mut line = json!({
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": resource.verbs,
    });
    if !resource.short_names.is_empty() {
        line["shortNames"] = resource.short_names.clone().into();
    }
    if !resource.categories.is_empty() {
        line["categories"] = resource.categories.clone().into();
    }
    if resource.verbs.iter().any(|verb| verb == "watch") {
        line["storageVersionHash"] =
            storage_version_hash(&resource.group, &resource.storage_version, &resource.kind).into();
    }
    let mut lines = vec![line];
    lines.extend(resource.subresources.iter().map(|sub| subresource(resource, sub)));
    lines
}

fn subresource(resource: &Resource, sub: &Subresource) -> Value {
    let mut line = json!({
        "name": format!("{}/{}", resource.plural, sub.name),
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": sub.kind,
        "verbs": sub.verbs,
    });
    if let Some((group, version)) = &sub.group_version {
        line["group"] = group.clone().into();
        line["version"] = version.clone().into();
    }
    line
}
