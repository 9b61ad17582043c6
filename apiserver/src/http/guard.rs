//! Who asks, and whether they may.

use std::sync::Arc;

use http::header;

use super::incoming::Incoming;
use super::route::Route;
use crate::access::{Attributes, User};
use crate::error::ApiError;
use crate::server::Core;

/// The user that the request is made as. `told` learns who asks as soon as that is known, also if it is refused.
///
/// # Errors
/// 401 for credentials that are not good, 403 for what the user may not do.
pub(crate) fn admit(core: &Core, incoming: &Incoming, route: &Route, told: &mut String) -> Result<Arc<User>, ApiError> {
    let requester = authenticate(core, incoming)?;
    told.clone_from(&requester.name);
    let method = incoming.method.as_str().to_ascii_lowercase();
    let attributes = attributes(incoming, route, &method);
    let user = core.access.impersonate(requester, &incoming.headers, &attributes)?;
    told.clone_from(&user.name);
    core.access.authorize(&user, &attributes)?;
    Ok(user)
}

fn authenticate(core: &Core, incoming: &Incoming) -> Result<Arc<User>, ApiError> {
    if !incoming.headers.contains_key(header::AUTHORIZATION) {
        return Ok(Arc::new(User::anonymous()));
    }
    let credentials = incoming.header(&header::AUTHORIZATION).trim();
    let (scheme, token) = credentials.split_once(' ').unwrap_or((credentials, ""));
    if !scheme.eq_ignore_ascii_case("bearer") || token.trim().is_empty() {
        // As on the real server, what is no bearer token counts as no credentials at all.
        return Ok(Arc::new(User::anonymous()));
    }
    core.access
        .authenticate(token.trim())
        .ok_or_else(|| ApiError::new(401, "Unauthorized", "Unauthorized"))
}

fn attributes<'a>(incoming: &'a Incoming, route: &'a Route, method: &'a str) -> Attributes<'a> {
    if !route.is_resource {
        return Attributes::of_path(method, &incoming.path);
    }
    let mut name = route.name.as_str();
    // A list or watch of one name is authorized as a request for that name.
    if name.is_empty() && matches!(route.verb.as_str(), "list" | "watch" | "deletecollection") {
        name = incoming
            .query
            .get("fieldSelector")
            .and_then(selected_name)
            .unwrap_or_default();
    }
    Attributes {
        verb: &route.verb,
        group: &route.group,
        version: &route.version,
        resource: &route.resource,
        subresource: &route.subresource,
        namespace: &route.namespace,
        name,
        path: None,
    }
}

fn selected_name(selector: &str) -> Option<&str> {
    selector.split(',').find_map(|term| {
        let value = term.strip_prefix("metadata.name=")?;
        Some(value.strip_prefix('=').unwrap_or(value))
    })
}
