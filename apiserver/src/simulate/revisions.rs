//! ControllerRevisions: the templates that a StatefulSet or DaemonSet has had, by number.

use serde_json::{Value, json};

use super::claim::claim;
use super::hash;
use crate::controllers::Cx;
use crate::controllers::kinds::{CONTROLLER_REVISIONS, Kind};
use crate::controllers::object::{Object, controller_reference};
use crate::controllers::selector::Selector;
use crate::error::ApiError;

/// The revisions of one owner.
pub(super) struct Revisions {
    /// All of them, the lowest number first.
    pub(super) all: Vec<Value>,
    /// The one of the present template.
    pub(super) update: Value,
}

/// The label that carries a revision's hash.
pub(super) const STATEFUL_HASH: &str = "controller.kubernetes.io/hash";

/// Finds or makes the revision of the present template, under `hash_label`. A template seen before gets its old
/// revision back, under the next number.
pub(super) async fn sync(cx: &Cx, owner: &Value, kind: &Kind, hash_label: &str) -> Result<Revisions, ApiError> {
    let selector = Selector::of_label_selector(owner.at("spec.selector"));
    let mut all: Vec<Value> = claim(cx, owner, kind, &CONTROLLER_REVISIONS, &selector)
        .await?
        .iter()
        .map(|r| (**r).clone())
        .collect();
    all.sort_by_key(|r| (number(r), r.name().to_owned()));
    let gvr = CONTROLLER_REVISIONS.gvr();
    let data = data_of(owner);
    let next = all.last().map_or(0, number) + 1;
    if let Some(at) = all.iter().rposition(|r| r.get("data") == Some(&data)) {
        if at + 1 < all.len() {
            let mut found = all.remove(at);
            found["revision"] = next.into();
            all.push(cx.loopback.update(&gvr, None, found).await?);
        }
    } else {
        let collisions = owner.int("status.collisionCount").unwrap_or(0);
        all.push(create(cx, owner, kind, hash_label, data, next, collisions).await?);
    }
    let update = all.last().cloned().unwrap_or_default();
    Ok(Revisions { all, update })
}

/// Deletes the oldest revisions beyond `spec.revisionHistoryLimit` that nothing `uses`.
pub(super) async fn prune(
    cx: &Cx,
    owner: &Value,
    revisions: &Revisions,
    uses: impl Fn(&Value) -> bool,
) -> Result<(), ApiError> {
    let limit = usize::try_from(owner.int("spec.revisionHistoryLimit").unwrap_or(10)).unwrap_or(0);
    let unused: Vec<&Value> = revisions
        .all
        .iter()
        .filter(|r| r.name() != revisions.update.name() && !uses(r))
        .collect();
    for revision in &unused[..unused.len().saturating_sub(limit)] {
        let gvr = CONTROLLER_REVISIONS.gvr();
        match cx
            .loopback
            .delete(&gvr, owner.namespace(), revision.name(), Value::Null)
            .await
        {
            Err(error) if error.code != 404 => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// The template that a revision holds.
pub(super) fn template(revision: &Value) -> Value {
    let mut template = revision.at("data.spec.template").cloned().unwrap_or_else(|| json!({}));
    if let Some(map) = template.as_object_mut() {
        map.remove("$patch");
    }
    template
}

fn number(revision: &Value) -> i64 {
    revision.int("revision").unwrap_or(0)
}

fn data_of(owner: &Value) -> Value {
    let mut template = owner.at("spec.template").cloned().unwrap_or_else(|| json!({}));
    template["$patch"] = "replace".into();
    json!({ "spec": { "template": template } })
}

async fn create(
    cx: &Cx,
    owner: &Value,
    kind: &Kind,
    hash_label: &str,
    data: Value,
    number: i64,
    mut collisions: i64,
) -> Result<Value, ApiError> {
    loop {
        let hash = hash::of_template(&data, (collisions > 0).then_some(collisions));
        let mut labels = owner
            .at("spec.template.metadata.labels")
            .cloned()
            .unwrap_or_else(|| json!({}));
        labels[hash_label] = hash.clone().into();
        let mut metadata = json!({
            "name": format!("{}-{hash}", owner.name()),
            "namespace": owner.namespace(),
            "labels": labels,
            "ownerReferences": [controller_reference(owner, kind)],
        });
        if let Some(annotations) = owner.at("metadata.annotations") {
            metadata["annotations"] = annotations.clone();
        }
        let revision = json!({
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": metadata,
            "data": data,
            "revision": number,
        });
        match cx
            .loopback
            .create(&CONTROLLER_REVISIONS.gvr(), owner.namespace(), revision)
            .await
        {
            // Another owner's revision has the name: a hash that counts collisions gives the next one.
            Err(error) if error.reason == "AlreadyExists" && collisions < 8 => collisions += 1,
            other => return other,
        }
    }
}
