//! Paths and queries of the Kubernetes API, from kinds and keys.

use std::fmt::Write;

use crate::key::ObjectKey;
use crate::kind::Kind;

/// The path of one object, or why there is none.
pub(crate) fn object_path(kind: &Kind, key: &ObjectKey, subresource: Option<&str>) -> Result<String, String> {
    if key.name.is_empty() {
        return Err("the object has no name; set metadata.name".to_owned());
    }
    let mut path = collection_path(kind, key.namespace())?;
    if kind.namespaced() && key.namespace.is_empty() {
        return Err(format!(
            "{} live in namespaces and the object names none; set metadata.namespace",
            kind.plural()
        ));
    }
    path.push('/');
    push_segment(&mut path, &key.name)?;
    if let Some(subresource) = subresource {
        path.push('/');
        path.push_str(subresource);
    }
    Ok(path)
}

/// The path of a collection; all namespaces where `namespace` is `None`.
pub(crate) fn collection_path(kind: &Kind, namespace: Option<&str>) -> Result<String, String> {
    if let Some(namespace) = namespace {
        let mut checked = String::new();
        push_segment(&mut checked, namespace)?;
        return Ok(kind.collection_path(Some(&checked)));
    }
    Ok(kind.collection_path(None))
}

/// A query string that grows by pairs.
#[derive(Debug, Default)]
pub(crate) struct Query(String);

impl Query {
    pub(crate) fn push(&mut self, key: &str, value: &str) -> &mut Self {
        if !self.0.is_empty() {
            self.0.push('&');
        }
        self.0.push_str(key);
        self.0.push('=');
        for byte in value.bytes() {
            push_byte(&mut self.0, byte, b"-._~");
        }
        self
    }

    pub(crate) fn push_some(&mut self, key: &str, value: Option<&str>) -> &mut Self {
        if let Some(value) = value {
            self.push(key, value);
        }
        self
    }

    /// `path?query`, or the path alone.
    pub(crate) fn onto(&self, path: String) -> String {
        if self.0.is_empty() {
            path
        } else {
            format!("{path}?{}", self.0)
        }
    }
}

/// The rule is the API server's (`path.IsValidPathSegmentName`): no `.`, `..`, `/` or `%`.
fn push_segment(path: &mut String, segment: &str) -> Result<(), String> {
    if matches!(segment, "." | "..") || segment.contains(['/', '%']) {
        return Err(format!(
            "`{segment}` cannot be a name: names hold no `/` or `%` and are not `.` or `..`"
        ));
    }
    for byte in segment.bytes() {
        push_byte(path, byte, b"-._~:@!$&'()*+,;=");
    }
    Ok(())
}

fn push_byte(out: &mut String, byte: u8, safe: &[u8]) {
    if byte.is_ascii_alphanumeric() || safe.contains(&byte) {
        out.push(char::from(byte));
    } else {
        // Writing to a String cannot fail.
        let _ = write!(out, "%{byte:02X}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployment() -> Kind {
        Kind::new("apps", "v1", "Deployment", "deployments", true)
    }

    #[test]
    fn paths_follow_group_namespace_and_subresource() {
        let path = object_path(&deployment(), &ObjectKey::new("shop", "web"), Some("status"));
        assert_eq!(
            path.as_deref(),
            Ok("/apis/apps/v1/namespaces/shop/deployments/web/status")
        );
        let role = Kind::new("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", false);
        let path = object_path(&role, &ObjectKey::cluster_scoped("system:node é"), None);
        assert_eq!(
            path.as_deref(),
            Ok("/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node%20%C3%A9")
        );
    }

    #[test]
    fn a_name_that_would_change_the_path_is_refused() {
        for name in ["..", "a/b", "a%2fb", ""] {
            assert!(object_path(&deployment(), &ObjectKey::new("shop", name), None).is_err());
        }
        assert!(object_path(&deployment(), &ObjectKey::new("", "web"), None).is_err());
    }

    #[test]
    fn query_values_are_escaped() {
        let mut query = Query::default();
        query.push("labelSelector", "a in (b,c)").push("limit", "5");
        assert_eq!(
            query.onto("/x".to_owned()),
            "/x?labelSelector=a%20in%20%28b%2Cc%29&limit=5"
        );
    }
}
