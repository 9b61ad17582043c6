//! What a path and a method ask for, before anything is known of what is served.

use super::query::{Query, unescape};

/// A request as authorization and dispatch see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Route {
    /// Whether the path lies under `/api/<version>/` or `/apis/<group>/<version>/` and names a resource.
    pub(crate) is_resource: bool,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`; else the method in lower case.
    pub(crate) verb: String,
    /// API group; empty for the core group.
    pub(crate) group: String,
    /// API version.
    pub(crate) version: String,
    /// Plural.
    pub(crate) resource: String,
    /// What follows the name.
    pub(crate) subresource: String,
    /// What follows the subresource: the rest of a proxy path.
    pub(crate) rest: Vec<String>,
    /// Namespace, or empty.
    pub(crate) namespace: String,
    /// Name, or empty.
    pub(crate) name: String,
    /// Whether the old prefix `/watch/` was used.
    pub(crate) old_watch: bool,
}

impl Route {
    /// Reads a path. `None` if its percent-encoding is malformed.
    ///
    /// The rules are those of `RequestInfoFactory` in k8s.io/apiserver.
    pub(crate) fn parse(method: &str, path: &str, query: &Query) -> Option<Self> {
        let lower = method.to_ascii_lowercase();
        let mut route = Self {
            verb: lower.clone(),
            ..Self::default()
        };
        let mut parts: Vec<String> = Vec::new();
        for part in path.trim_matches('/').split('/') {
            parts.push(unescape(part, false)?.into_owned());
        }
        let mut parts = parts.into_iter().peekable();
        match parts.next().as_deref() {
            Some("api") => route.version = parts.next().unwrap_or_default(),
            Some("apis") => {
                route.group = parts.next().unwrap_or_default();
                route.version = parts.next().unwrap_or_default();
            }
            _ => return Some(route),
        }
        if parts.peek().is_some_and(|part| part == "watch") {
            route.old_watch = true;
            parts.next();
        }
        let mut parts: Vec<String> = parts.collect();
        if parts.is_empty() {
            return Some(route);
        }
        route.is_resource = true;
        if parts[0] == "namespaces" && parts.len() > 1 {
            route.namespace.clone_from(&parts[1]);
            // `/namespaces/x/status` is a subresource of the namespace itself, not a resource called status.
            if parts.len() > 2 && !matches!(parts[2].as_str(), "status" | "finalize") {
                parts.drain(..2);
            }
        }
        let mut parts = parts.into_iter();
        route.resource = parts.next().unwrap_or_default();
        route.name = parts.next().unwrap_or_default();
        route.subresource = parts.next().unwrap_or_default();
        route.rest = parts.collect();
        if route.resource == "namespaces" {
            route.namespace.clone_from(&route.name);
        }
        let whole = route.name.is_empty();
        let verb = match lower.as_str() {
            "post" => "create",
            "get" | "head" if route.old_watch => "watch",
            "get" | "head" if !whole => "get",
            "get" | "head" if query.flag("watch") == Some(true) => "watch",
            "get" | "head" => "list",
            "put" => "update",
            "patch" => "patch",
            "delete" if whole => "deletecollection",
            "delete" => "delete",
            other => other,
        };
        route.verb = verb.to_owned();
        Some(route)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(method: &str, path: &str) -> Route {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        Route::parse(method, path, &Query::parse(query)).unwrap()
    }

    #[test]
    fn namespaced_paths_name_all_their_parts() {
        let r = route("PATCH", "/apis/apps/v1/namespaces/x/deployments/a/scale");
        let shown = (
            &*r.verb,
            &*r.group,
            &*r.version,
            &*r.resource,
            &*r.subresource,
            &*r.namespace,
            &*r.name,
        );
        assert_eq!(shown, ("patch", "apps", "v1", "deployments", "scale", "x", "a"));
    }

    #[test]
    fn a_namespace_is_its_own_namespace() {
        let r = route("PUT", "/api/v1/namespaces/x/finalize");
        assert_eq!(
            (&*r.resource, &*r.name, &*r.subresource, &*r.namespace),
            ("namespaces", "x", "finalize", "x")
        );
        let r = route("GET", "/api/v1/namespaces/x");
        assert_eq!(
            (&*r.verb, &*r.resource, &*r.name, &*r.namespace),
            ("get", "namespaces", "x", "x")
        );
    }

    #[test]
    fn reading_a_collection_is_list_or_watch() {
        assert_eq!(route("GET", "/api/v1/pods").verb, "list");
        assert_eq!(route("GET", "/api/v1/pods?watch=").verb, "watch");
        assert_eq!(route("GET", "/api/v1/pods?watch=0").verb, "list");
        assert_eq!(route("GET", "/api/v1/watch/pods").verb, "watch");
        assert_eq!(route("GET", "/api/v1/namespaces/x/pods/a?watch=1").verb, "get");
        assert_eq!(route("DELETE", "/api/v1/namespaces/x/pods").verb, "deletecollection");
    }

    #[test]
    fn other_paths_are_no_resources() {
        assert_eq!(route("GET", "/healthz").verb, "get");
        assert!(!route("GET", "/apis/apps/v1").is_resource);
        assert!(!route("GET", "/").is_resource);
        assert_eq!(Route::parse("GET", "/api/v1/pods/%zz", &Query::default()), None);
    }
}
