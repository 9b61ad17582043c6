//! The parameters that a binding brings to its policy.

use serde_json::Value;

use crate::access::selector::selects;
use crate::admission::{Inner, Request};

/// What a binding is judged with.
pub(super) enum Params {
    /// One evaluation for each; null where the policy takes none.
    Some(Vec<Value>),
    /// Nothing was found, and the binding says that it then does not count.
    Skip,
}

/// The parameters of a binding.
///
/// # Errors
///
/// Why the binding cannot be judged.
pub(super) fn of_binding(
    inner: &Inner,
    policy: &Value,
    binding: &Value,
    request: &Request<'_>,
) -> Result<Params, String> {
    let (kind, reference) = (&policy["paramKind"], &binding["paramRef"]);
    if kind.is_null() || reference.is_null() {
        return Ok(Params::Some(vec![Value::Null]));
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (text(&kind["apiVersion"]), text(&kind["kind"]));
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", &api_version));
    let Some(resource) = request.catalog.by_kind(group, version, &kind) else {
        return Err(format!(
            "failed to configure policy: failed to find resource referenced by paramKind: '{group}/{version}, Kind={kind}'"
        ));
    };
    let mut namespace = text(&reference["namespace"]);
    if resource.namespaced && namespace.is_empty() {
        request.namespace.clone_into(&mut namespace);
        if namespace.is_empty() {
            return Err(
                "failed to configure binding: cannot use namespaced paramRef in policy binding that matches \
                        cluster-scoped resources"
                    .to_owned(),
            );
        }
    }
    let namespace = if resource.namespaced { namespace } else { String::new() };
    let found: Vec<Value> = match reference["name"].as_str().filter(|name| !name.is_empty()) {
        Some(name) => inner
            .store
            .find(&resource.stored_under, &namespace, name)
            .map(|stored| stored.value())
            .into_iter()
            .collect(),
        None => {
            let all = inner.store.list(&resource.stored_under, Some(&namespace));
            let all = all.iter().map(|stored| stored.value());
            all.filter(|object| selects(&reference["selector"], &object["metadata"]["labels"]))
                .collect()
        }
    };
    match (found.is_empty(), reference["parameterNotFoundAction"].as_str()) {
        (false, _) => Ok(Params::Some(found)),
        (true, Some("Allow")) => Ok(Params::Skip),
        (true, _) => Err(
            "failed to configure binding: no params found for policy binding with `Deny` \
                          parameterNotFoundAction"
                .to_owned(),
        ),
    }
}
