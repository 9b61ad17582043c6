//! What a request is about, as error messages, records and the overlay name it.

use std::fmt;

use http::Method;

use crate::key::ObjectKey;
use crate::kind::Kind;

/// Verb, kind and object of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The verb as RBAC names it: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verb: &'static str,
    /// Kind of the object.
    pub kind: Kind,
    /// The object; of a collection, the namespace with an empty name.
    pub key: ObjectKey,
    /// `status`, `scale`, …
    pub subresource: Option<&'static str>,
}

impl Target {
    /// A request for one object.
    #[must_use]
    pub fn object(verb: &'static str, kind: &Kind, key: &ObjectKey, subresource: Option<&'static str>) -> Self {
        Self {
            verb,
            kind: kind.clone(),
            key: key.clone(),
            subresource,
        }
    }

    /// A request for a collection.
    #[must_use]
    pub fn collection(verb: &'static str, kind: &Kind, namespace: Option<&str>) -> Self {
        Self {
            verb,
            kind: kind.clone(),
            key: ObjectKey::new(namespace.unwrap_or_default(), ""),
            subresource: None,
        }
    }

    /// Whether the request changes something.
    #[must_use]
    pub fn is_write(&self) -> bool {
        !matches!(self.verb, "get" | "list" | "watch")
    }

    /// Reads a target out of method and path, for requests that were not made by this crate.
    ///
    /// The kind's singular name is unknown from a path; the plural stands in for it.
    #[must_use]
    pub fn from_request(method: &Method, path: &str, query: Option<&str>) -> Option<Self> {
        let mut parts = path.trim_matches('/').split('/').filter(|part| !part.is_empty());
        let (group, version) = match parts.next()? {
            "api" => ("", parts.next()?),
            "apis" => (parts.next()?, parts.next()?),
            _ => return None,
        };
        let rest: Vec<&str> = parts.collect();
        let (namespace, plural, name, subresource) = match rest.as_slice() {
            ["namespaces", name, sub @ ("status" | "finalize")] => ("", "namespaces", Some(*name), Some(*sub)),
            ["namespaces", namespace, plural, rest @ ..] => {
                (*namespace, *plural, rest.first().copied(), rest.get(1).copied())
            }
            [plural, rest @ ..] => ("", *plural, rest.first().copied(), rest.get(1).copied()),
            [] => return None,
        };
        let watching = query.is_some_and(|query| query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1")));
        let verb = match (method.as_str(), name) {
            ("GET", _) if watching => "watch",
            ("GET", Some(_)) => "get",
            ("GET", None) => "list",
            ("POST", _) => "create",
            ("PUT", _) => "update",
            ("PATCH", _) => "patch",
            ("DELETE", Some(_)) => "delete",
            ("DELETE", None) => "deletecollection",
            _ => return None,
        };
        let subresource = subresource.map(|sub| match sub {
            "status" => "status",
            "scale" => "scale",
            "finalize" => "finalize",
            "eviction" => "eviction",
            "binding" => "binding",
            "token" => "token",
            _ => "(other)",
        });
        Some(Self {
            verb,
            kind: Kind::new(group, version, plural, plural, !namespace.is_empty()),
            key: ObjectKey::new(namespace, name.unwrap_or_default()),
            subresource,
        })
    }
}

/// `patch deployments.apps/status shop/web`; of a collection, `list deployments.apps in shop`.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.kind)?;
        if let Some(subresource) = self.subresource {
            write!(f, "/{subresource}")?;
        }
        match (self.key.name.is_empty(), self.key.namespace.is_empty()) {
            (false, _) => write!(f, " {}", self.key),
            (true, false) => write!(f, " in {}", self.key.namespace),
            (true, true) if self.kind.namespaced() => f.write_str(" in all namespaces"),
            (true, true) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(method: &Method, path: &str, query: Option<&str>) -> String {
        Target::from_request(method, path, query).map_or_else(|| "none".to_owned(), |target| target.to_string())
    }

    #[test]
    fn a_target_is_read_out_of_method_and_path() {
        let read = |method: Method, path, query| read(&method, path, query);
        assert_eq!(
            read(
                Method::PATCH,
                "/apis/apps/v1/namespaces/shop/deployments/web/status",
                None
            ),
            "patch deployments.apps/status shop/web"
        );
        assert_eq!(
            read(Method::GET, "/api/v1/namespaces/shop", None),
            "get namespaces shop"
        );
        assert_eq!(
            read(Method::PUT, "/api/v1/namespaces/shop/finalize", None),
            "update namespaces/finalize shop"
        );
        assert_eq!(
            read(Method::GET, "/api/v1/configmaps", Some("limit=5&watch=true")),
            "watch configmaps"
        );
        assert_eq!(
            read(Method::DELETE, "/api/v1/namespaces/shop/pods", None),
            "deletecollection pods in shop"
        );
        assert_eq!(read(Method::GET, "/version", None), "none");
    }
}
