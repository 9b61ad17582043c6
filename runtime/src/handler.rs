//! Which keys a change wakes, and why.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::declaration::{MapInput, Mapper, PrimaryIndex, Role, TRACKED_BY, WatchDecl};
use crate::delta::{Delta, DeltaCause, Header};
use crate::diagnostics::{Fields, Reason};
use crate::error::Error;
use crate::key::ObjectKey;
use crate::kind::Kind;
use crate::pause;
use crate::predicate::Predicate;
use crate::workqueue::Class;

/// Whether a change passes the filters of its watch. Deletions and the start of a deletion always do; so do
/// recreations, which arrive as a deletion and an addition, and what pauses an object or lets it go on.
#[must_use]
pub fn passes(delta: &Delta, watch: &WatchDecl, event_filter: Option<&Predicate>) -> bool {
    if delta.new.is_none() || starts_deletion(delta) || is_recreation(delta) {
        return true;
    }
    if matches!(watch.role, Role::Primary) && pause::changes(delta) {
        return true;
    }
    [watch.predicate.as_ref(), event_filter]
        .into_iter()
        .flatten()
        .all(|predicate| predicate.passes(delta))
}

/// The owners that a change of an owned object wakes: its controller before and after, so that losing the reference
/// is news for the old one.
#[must_use]
pub fn owners(delta: &Delta, primary: &Kind) -> BTreeSet<ObjectKey> {
    let headers = [&delta.old, &delta.new].into_iter().flatten();
    headers.filter_map(|header| owner_key(header, primary)).collect()
}

/// The name of the index by which tracked objects find their primaries.
pub(crate) const BY_UID: &str = "kubewright.dev/uid";

/// The primaries whose uid a tracked object names, before and after. One that the cache does not hold (yet) is woken by
/// its own first list, or never again.
#[must_use]
pub fn trackers(delta: &Delta, primaries: &PrimaryIndex) -> BTreeSet<ObjectKey> {
    let headers = [&delta.old, &delta.new].into_iter().flatten();
    let uids = headers.filter_map(|header| header.labels.get(TRACKED_BY));
    uids.filter_map(|uid| primaries.find(BY_UID, uid).ok())
        .flatten()
        .collect()
}

/// The keys that a map function answers for the object before and after, and the first failure.
///
/// A version that fails takes nothing from the other: an object that did not fit its type and was put right wakes what
/// it maps to now.
pub async fn mapped(delta: &Delta, mapper: &Mapper, primaries: &PrimaryIndex) -> (BTreeSet<ObjectKey>, Option<Error>) {
    let mut keys = BTreeSet::new();
    let mut failure = None;
    for body in [delta.old_cached(), delta.new_cached()].into_iter().flatten() {
        let input = MapInput {
            kind: delta.kind.clone(),
            key: delta.key.clone(),
            body: body.json(),
        };
        match mapper.map_among(input, primaries).await {
            Ok(more) => keys.extend(more),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    (keys, failure)
}

/// Why a key is woken by a change.
#[must_use]
pub fn reason(delta: &Delta) -> Reason {
    let kind = delta.kind.clone();
    let key = delta.key.clone();
    if delta.cause == DeltaCause::Resync {
        return Reason::Resync;
    }
    match (&delta.old, &delta.new) {
        (_, None) => Reason::Deleted { kind, key },
        (None, Some(_)) if delta.cause == DeltaCause::FirstList => Reason::FirstList { kind, key },
        (None, Some(new)) => Reason::Created {
            kind,
            key,
            version: new.version.clone(),
            own: false,
        },
        (Some(old), Some(new)) => Reason::Changed {
            kind,
            key,
            old: old.version.clone(),
            new: new.version.clone(),
            times: 1,
            fields: match (delta.old_cached(), delta.new_cached()) {
                (Some(old), Some(new)) => Fields::between(old, new),
                _ => Fields::default(),
            },
            own: false,
        },
    }
}

/// How urgent a change is: foreign changes of the primary's own generation or metadata go before all else.
#[must_use]
pub fn class(delta: &Delta, is_primary: bool) -> Class {
    if !is_primary || matches!(delta.cause, DeltaCause::FirstList | DeltaCause::Resync) {
        return Class::Background;
    }
    match (&delta.old, &delta.new) {
        (Some(old), Some(new)) if !differs_beyond_status(old, new) => Class::Background,
        _ => Class::Change,
    }
}

fn starts_deletion(delta: &Delta) -> bool {
    let was = delta.old.as_ref().is_some_and(|old| old.is_deleting());
    let is = delta.new.as_ref().is_some_and(|new| new.is_deleting());
    is && !was
}

fn is_recreation(delta: &Delta) -> bool {
    matches!((&delta.old, &delta.new), (Some(old), Some(new)) if old.uid != new.uid)
}

fn owner_key(header: &Header, primary: &Kind) -> Option<ObjectKey> {
    let owner = header.controller()?;
    let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
    if &*owner.kind != primary.kind() || group != primary.group() {
        return None;
    }
    Some(ObjectKey {
        cluster: Arc::clone(&header.key.cluster),
        namespace: if primary.namespaced() {
            Arc::clone(&header.key.namespace)
        } else {
            Arc::from("")
        },
        name: Arc::clone(&owner.name),
    })
}

fn differs_beyond_status(old: &Header, new: &Header) -> bool {
    old.generation != new.generation
        || old.spec_digest != new.spec_digest
        || old.labels != new.labels
        || old.annotations_digest != new.annotations_digest
        || old.owners != new.owners
        || old.finalizers != new.finalizers
        || old.deletion != new.deletion
        || old.uid != new.uid
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::cache::Cached;
    use crate::predicate::predicates;

    fn app() -> Kind {
        Kind::new("demo.dev", "v1", "App", "apps", true)
    }

    fn config_map() -> Kind {
        Kind::new("", "v1", "ConfigMap", "configmaps", true)
    }

    fn object(kind: &Kind, metadata: &Value) -> Cached {
        let mut object = json!({
            "apiVersion": kind.api_version(), "kind": kind.kind(),
            "metadata": { "name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "1" },
        });
        for (field, value) in metadata.as_object().expect("an object") {
            object["metadata"][field] = value.clone();
        }
        Cached::parse(kind, object.to_string().into(), "").expect("an object")
    }

    fn delta(kind: &Kind, old: Option<Value>, new: Option<Value>) -> Delta {
        let parse = |metadata: Value| object(kind, &metadata);
        Delta::new(
            kind.clone(),
            ObjectKey::new("ns", "a"),
            old.map(parse),
            new.map(parse),
            DeltaCause::Event,
        )
    }

    fn owned_by(name: &str, controller: bool) -> Value {
        json!([{ "apiVersion": "demo.dev/v2", "kind": "App", "name": name, "uid": "x", "controller": controller }])
    }

    #[test]
    fn losing_the_controller_reference_wakes_the_old_owner_and_gaining_one_the_new() {
        let moved = delta(
            &config_map(),
            Some(json!({ "ownerReferences": owned_by("old", true) })),
            Some(json!({ "ownerReferences": owned_by("new", true), "resourceVersion": "2" })),
        );
        let keys: Vec<String> = owners(&moved, &app()).iter().map(ToString::to_string).collect();
        assert_eq!(keys, ["ns/new", "ns/old"]);
        let dropped = delta(
            &config_map(),
            Some(json!({ "ownerReferences": owned_by("old", true) })),
            Some(json!({})),
        );
        assert_eq!(owners(&dropped, &app()).len(), 1);
    }

    #[test]
    fn only_the_controller_of_the_primary_kind_is_an_owner() {
        let plain = delta(
            &config_map(),
            None,
            Some(json!({ "ownerReferences": owned_by("x", false) })),
        );
        assert!(owners(&plain, &app()).is_empty());
        let other = Kind::new("other.dev", "v1", "App", "apps", true);
        let foreign = delta(
            &config_map(),
            None,
            Some(json!({ "ownerReferences": owned_by("x", true) })),
        );
        assert!(owners(&foreign, &other).is_empty());
        let cluster = Kind::new("demo.dev", "v1", "App", "apps", false);
        let key = owners(&foreign, &cluster).pop_first().expect("the owner");
        assert_eq!(key.to_string(), "x");
    }

    #[tokio::test]
    async fn an_object_that_was_put_right_wakes_what_it_maps_to_now() {
        use k8s_openapi::api::core::v1::ConfigMap;
        let mapper = Mapper::new(|map: &ConfigMap| map.metadata.name.clone(), true);
        let text = |version: &str, data: &Value| {
            let metadata = json!({ "name": "a", "namespace": "ns", "uid": "u", "resourceVersion": version });
            let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data });
            Cached::parse(&config_map(), map.to_string().into(), "").expect("an object")
        };
        let (wrong, right) = (text("1", &json!(5)), text("2", &json!({})));
        let key = ObjectKey::new("ns", "a");
        let delta = Delta::new(config_map(), key.clone(), Some(wrong), Some(right), DeltaCause::Event);
        let (keys, failure) = mapped(&delta, &mapper, &PrimaryIndex::default()).await;
        assert_eq!(keys, BTreeSet::from([key]));
        assert!(failure.is_some());
    }

    #[test]
    fn no_filter_hides_a_deletion_a_recreation_or_the_start_of_a_deletion() {
        let mut watch = WatchDecl::new(app(), Role::Primary);
        watch.predicate = Some(Predicate::new(|_| false));
        let never = Predicate::new(|_| false);
        let deleting = json!({ "deletionTimestamp": "2026-01-01T00:00:00Z", "resourceVersion": "2" });
        for (old, new, passes_always) in [
            (Some(json!({})), None, true),
            (Some(json!({})), Some(deleting.clone()), true),
            (Some(json!({})), Some(json!({ "uid": "other" })), true),
            (Some(json!({})), Some(json!({ "resourceVersion": "2" })), false),
            (Some(deleting.clone()), Some(deleting), false),
            (None, Some(json!({})), false),
        ] {
            let delta = delta(&app(), old, new);
            assert_eq!(passes(&delta, &watch, Some(&never)), passes_always, "{delta:?}");
        }
    }

    #[test]
    fn a_change_of_metadata_is_more_urgent_than_one_of_status() {
        let labelled = delta(
            &app(),
            Some(json!({})),
            Some(json!({ "labels": { "a": "b" }, "resourceVersion": "2" })),
        );
        assert_eq!(class(&labelled, true), Class::Change);
        assert_eq!(class(&labelled, false), Class::Background);
        assert_eq!(reason(&labelled).to_string(), "App ns/a changed (metadata.labels)");
        let echo = delta(&app(), Some(json!({})), Some(json!({ "resourceVersion": "2" })));
        assert_eq!(class(&echo, true), Class::Background);
    }

    #[test]
    fn kinds_that_do_not_count_generations_pass_where_their_content_changed() {
        let predicate = predicates::generation_changed();
        let relabelled = delta(&config_map(), Some(json!({})), Some(json!({ "labels": { "a": "b" } })));
        assert!(!predicate.passes(&relabelled));
        let generation = delta(
            &app(),
            Some(json!({ "generation": 1 })),
            Some(json!({ "generation": 2 })),
        );
        assert!(predicate.passes(&generation));
        let both = predicates::and(predicate.clone(), predicates::not(predicates::labels_changed()));
        assert!(both.passes(&generation));
        assert!(!(predicate | predicates::labels_changed()).passes(&delta(&app(), Some(json!({})), Some(json!({})))));
    }
}
