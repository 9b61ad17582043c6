//! What a request asks for, as the authorizer sees it, and the words with which it is refused.

use serde_json::{Map, Value};

use super::User;
use crate::error::ApiError;

/// What a request asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes<'a> {
    /// API verb (`get`, `list`, `watch`, `create`, …), or the HTTP method in lower case for a non-resource path.
    pub verb: &'a str,
    /// API group; empty for the core group.
    pub group: &'a str,
    /// API version; RBAC does not look at it.
    pub version: &'a str,
    /// Plural of the resource.
    pub resource: &'a str,
    /// Subresource, or empty.
    pub subresource: &'a str,
    /// Namespace of the request; empty at the cluster scope.
    pub namespace: &'a str,
    /// Name of the object; empty for collections and creates.
    pub name: &'a str,
    /// Set for requests that name no resource, such as `/metrics`; the fields from `group` on are then unused.
    pub path: Option<&'a str>,
}

impl<'a> Attributes<'a> {
    /// A request to a non-resource path.
    #[must_use]
    pub fn of_path(verb: &'a str, path: &'a str) -> Self {
        Self {
            verb,
            path: Some(path),
            ..Self::default()
        }
    }
}

/// The 403 that a refused request answers.
///
/// `reason` is what [`super::Authorizer::authorize`] returned: usually empty, else it names broken bindings.
#[must_use]
pub fn forbidden(user: &User, attributes: &Attributes<'_>, reason: &str) -> ApiError {
    let sentence = sentence(user, attributes);
    let sentence = if reason.is_empty() {
        sentence
    } else {
        format!("{sentence}: {reason}")
    };
    if attributes.path.is_some() {
        let mut error = ApiError::new(403, "Forbidden", format!("forbidden: {sentence}"));
        error.details = Some(Box::new(Value::Object(Map::new())));
        return error;
    }
    let qualified = if attributes.group.is_empty() {
        attributes.resource.to_owned()
    } else {
        format!("{}.{}", attributes.resource, attributes.group)
    };
    let subject = if attributes.name.is_empty() {
        qualified
    } else {
        format!("{qualified} {:?}", attributes.name)
    };
    let mut error = ApiError::new(403, "Forbidden", format!("{subject} is forbidden: {sentence}"));
    let details = [
        ("name", attributes.name),
        ("group", attributes.group),
        ("kind", attributes.resource),
    ];
    error.details = Some(Box::new(Value::Object(
        details
            .into_iter()
            .filter(|(_, v)| !v.is_empty())
            .map(|(k, v)| (k.to_owned(), v.into()))
            .collect(),
    )));
    error
}

/// `User "x" cannot get resource "pods/log" in API group "" in the namespace "ns"`.
fn sentence(user: &User, attributes: &Attributes<'_>) -> String {
    let (name, verb) = (&user.name, attributes.verb);
    if let Some(path) = attributes.path {
        return format!("User {name:?} cannot {verb} path {path:?}");
    }
    let resource = if attributes.subresource.is_empty() {
        attributes.resource.to_owned()
    } else {
        format!("{}/{}", attributes.resource, attributes.subresource)
    };
    let scope = if attributes.namespace.is_empty() {
        "at the cluster scope".to_owned()
    } else {
        format!("in the namespace {:?}", attributes.namespace)
    };
    format!(
        "User {name:?} cannot {verb} resource {resource:?} in API group {:?} {scope}",
        attributes.group
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(attributes: &Attributes<'_>) -> (String, Option<Value>) {
        let error = forbidden(&User::new("ann", [""; 0]), attributes, "");
        assert_eq!((error.code, &*error.reason), (403, "Forbidden"));
        (error.message, error.details.map(|details| *details))
    }

    #[test]
    fn a_subresource_in_a_namespace_is_refused_with_its_object_in_the_details() {
        let (message, details) = refused(&Attributes {
            verb: "get",
            group: "apps",
            resource: "deployments",
            subresource: "scale",
            namespace: "web",
            name: "x",
            ..Attributes::default()
        });
        assert_eq!(
            message,
            "deployments.apps \"x\" is forbidden: User \"ann\" cannot get resource \"deployments/scale\" in API group \
             \"apps\" in the namespace \"web\""
        );
        assert_eq!(
            details,
            Some(json!({"name": "x", "group": "apps", "kind": "deployments"}))
        );
    }

    #[test]
    fn a_collection_at_the_cluster_scope_is_refused_without_a_name() {
        let (message, details) = refused(&Attributes {
            verb: "list",
            resource: "nodes",
            ..Attributes::default()
        });
        assert_eq!(
            message,
            "nodes is forbidden: User \"ann\" cannot list resource \"nodes\" in API group \"\" at the cluster scope"
        );
        assert_eq!(details, Some(json!({"kind": "nodes"})));
    }

    #[test]
    fn a_path_is_refused_with_empty_details() {
        let (message, details) = refused(&Attributes::of_path("get", "/metrics"));
        assert_eq!(message, "forbidden: User \"ann\" cannot get path \"/metrics\"");
        assert_eq!(details, Some(json!({})));
    }

    #[test]
    fn a_broken_binding_is_named_after_the_refusal() {
        let error = forbidden(
            &User::new("ann", [""; 0]),
            &Attributes::of_path("get", "/"),
            "RBAC: x not found",
        );
        assert_eq!(
            error.message,
            "forbidden: User \"ann\" cannot get path \"/\": RBAC: x not found"
        );
    }
}
