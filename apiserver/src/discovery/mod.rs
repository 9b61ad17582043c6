//! Discovery: which groups, versions and resources are served, in the plain and the aggregated form.
//!
//! `/api` and `/apis` answer the aggregated form (`apidiscovery.k8s.io/v2`) to clients that ask for it, with an ETag;
//! everything else is the plain form. The documents follow from the [`Resource`]s that are served.

mod accept;
mod aggregated;
mod answer;
mod groups;
mod order;
mod plain;

use std::sync::Arc;

pub(crate) use answer::hash;
pub use answer::{Answer, Ask};
pub(crate) use plain::RELEASE;

use crate::error::ApiError;
use crate::resource::Resource;
use accept::Form;
use groups::Groups;
pub(crate) use groups::by_preference;

/// Answers a discovery path (`/api`, `/api/v1`, `/apis`, `/apis/<group>`, `/apis/<group>/<version>`, `/version`).
///
/// `resources` are those that are served now, in the order in which discovery shows them; groups that only custom
/// resources make come last, by name. `None` means that there is no such path.
///
/// # Errors
///
/// 406 when no form that the client accepts fits the path.
pub fn respond(resources: &[Arc<Resource>], ask: &Ask<'_>) -> Option<Result<Answer, ApiError>> {
    let path = ask
        .path
        .strip_suffix('/')
        .filter(|path| !path.is_empty())
        .unwrap_or(ask.path);
    let parts: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
    let groups = || Groups::of(resources);
    let (plain, aggregated) = match parts.as_slice() {
        [""] => (plain::paths(&groups()), None),
        ["version"] => return Some(Ok(Answer::new(200, "application/json", plain::version_text()))),
        ["api"] => (plain::core_versions(), Some(true)),
        ["apis"] => (plain::groups(&groups()), Some(false)),
        ["api", version] => (plain::resources(&groups(), "", version)?, None),
        ["apis", group] => (plain::group(&groups(), group)?, None),
        ["apis", group, version] => (plain::resources(&groups(), group, version)?, None),
        _ => return None,
    };
    if parts == [""] {
        // This one is always JSON.
        return Some(Ok(Answer::json(&plain)));
    }
    Some(accept::choose(ask.accept, aggregated.is_some()).map(|(media, form)| {
        let content_type = accept::content_type(media, form);
        match aggregated.filter(|_| form == Form::Aggregated) {
            Some(core) => Answer::tagged(media, content_type, &aggregated::document(&groups(), core), ask),
            None => Answer::of(media, content_type, &plain),
        }
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::builtins;
    use crate::schema::data;

    fn served() -> Vec<Arc<Resource>> {
        builtins::resources().into_iter().map(Arc::new).collect()
    }

    fn get(path: &str, accept: &str) -> Option<Answer> {
        respond(
            &served(),
            &Ask {
                path,
                accept,
                ..Ask::default()
            },
        )
        .map(Result::unwrap)
    }

    fn body(path: &str, accept: &str) -> Value {
        serde_json::from_slice(&get(path, accept).unwrap().body).unwrap()
    }

    /// Some kinds are stored in another version by the real server, which only the hash tells.
    fn unhashed(mut list: Value) -> Value {
        for resource in list["resources"].as_array_mut().unwrap() {
            if let Some(hash) = resource.as_object_mut().unwrap().remove("storageVersionHash") {
                assert_eq!(hash.as_str().unwrap().len(), 12);
            }
        }
        list
    }

    #[test]
    fn every_resource_list_is_the_recorded_one() {
        for (path, recorded) in data::discovery() {
            if recorded["kind"] == "APIResourceList" {
                assert_eq!(unhashed(body(path, "")), unhashed(recorded.clone()), "{path}");
            }
        }
    }

    #[test]
    fn groups_keep_their_order_and_prefer_their_first_version() {
        let (_, recorded) = data::discovery().iter().find(|(path, _)| *path == "/apis").unwrap();
        let mut recorded = recorded["groups"].as_array().unwrap().clone();
        // Two groups were recorded by name only, so they are not served.
        recorded.retain(|g| {
            !matches!(
                g["name"].as_str(),
                Some("resource.k8s.io" | "flowcontrol.apiserver.k8s.io")
            )
        });
        assert_eq!(body("/apis", "")["groups"], Value::Array(recorded));
        assert_eq!(body("/apis/autoscaling", "*/*")["preferredVersion"]["version"], "v2");
    }

    #[test]
    fn unknown_groups_and_versions_are_no_paths() {
        assert!(get("/apis/no.such.group", "").is_none());
        assert!(get("/apis/apps/v9", "").is_none());
        assert!(get("/apis/apps/v1/deployments", "").is_none());
    }

    #[test]
    fn the_aggregated_form_is_tagged_and_answers_304_to_its_tag() {
        let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        let first = get("/api", accept).unwrap();
        assert_eq!(first.headers[1], ("Vary", "Accept".to_owned()));
        let document: Value = serde_json::from_slice(&first.body).unwrap();
        assert_eq!(document["items"][0]["versions"][0]["version"], "v1");
        assert_eq!(document["items"].as_array().unwrap().len(), 1);
        assert_eq!(document["metadata"], json!({}));
        let ask = Ask {
            path: "/api",
            accept,
            if_none_match: &first.headers[0].1,
            query: "",
        };
        let again = respond(&served(), &ask).unwrap().unwrap();
        assert_eq!((again.status, again.body.len()), (304, 0));
    }
}
