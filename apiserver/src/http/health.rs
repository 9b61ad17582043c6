//! What a server says of itself: probes, metrics, the list of its paths.

use std::fmt::Write as _;

use serde_json::json;

use super::query::Query;
use crate::catalog::Catalog;
use crate::server::Core;

/// What the probes check: the names of the real server's checks for what this one has.
const CHECKS: [&str; 3] = ["ping", "log", "etcd"];

/// The body of a probe: `/healthz`, `/livez`, `/readyz`, or one check below them. `None` if there is no such check.
///
/// A server that answers is healthy: its storage is memory of the same process.
pub(crate) fn probe(path: &str, query: &Query) -> Option<String> {
    let (probe, check) = match path.trim_start_matches('/').split_once('/') {
        Some((probe, check)) => (probe, Some(check)),
        None => (path.trim_start_matches('/'), None),
    };
    if !matches!(probe, "healthz" | "livez" | "readyz") {
        return None;
    }
    if let Some(check) = check {
        return CHECKS.contains(&check).then(|| "ok".to_owned());
    }
    if query.get("verbose").is_none() {
        return Some("ok".to_owned());
    }
    let excluded = query.all("exclude");
    let mut text = String::new();
    for check in CHECKS {
        let state = if excluded.contains(&check) {
            "excluded: ok"
        } else {
            "ok"
        };
        let _ = writeln!(text, "[+]{check} {state}");
    }
    let _ = writeln!(text, "{probe} check passed");
    Some(text)
}

/// The server's figures in Prometheus' text format.
pub(crate) fn metrics(core: &Core, catalog: &Catalog) -> String {
    let mut text = String::from(
        "# HELP apiserver_storage_objects Number of stored objects, by kind.\n# TYPE apiserver_storage_objects gauge\n",
    );
    for resource in catalog.iter() {
        if resource.version == resource.storage_version && *resource.stored_under == *resource.group_resource() {
            let count = core.store.count(&resource.stored_under);
            let _ = writeln!(
                text,
                "apiserver_storage_objects{{resource=\"{}\"}} {count}",
                resource.stored_under
            );
        }
    }
    let _ = write!(
        text,
        "# HELP kubewright_storage_revision Revision of the last write.\n# TYPE kubewright_storage_revision \
         counter\nkubewright_storage_revision {}\n",
        core.store.revision()
    );
    text
}

/// The paths that are served, as `/` lists them.
pub(crate) fn paths(catalog: &Catalog) -> String {
    let mut paths: Vec<String> = [
        "/api",
        "/apis",
        "/healthz",
        "/livez",
        "/metrics",
        "/openapi/v3",
        "/readyz",
        "/version",
    ]
    .map(str::to_owned)
    .to_vec();
    for resource in catalog.iter() {
        paths.push(resource.gvr().prefix());
        if !resource.group.is_empty() {
            paths.push(format!("/apis/{}", resource.group));
        }
    }
    paths.sort();
    paths.dedup();
    json!({ "paths": paths }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_have_checks_of_their_own() {
        let probe = |path: &str, query: &str| probe(path, &Query::parse(query));
        assert_eq!(probe("/readyz/etcd", "").as_deref(), Some("ok"));
        assert_eq!(probe("/livez", "exclude=etcd").as_deref(), Some("ok"));
        assert_eq!(probe("/readyz/none", ""), None);
        assert_eq!(probe("/health", ""), None);
        let verbose = probe("/healthz", "verbose=&exclude=etcd").unwrap();
        assert!(verbose.contains("[+]etcd excluded: ok\n"), "{verbose}");
    }
}
