//! Which objects a controller counts as its own: adopting what matches, releasing what no longer does.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::controllers::cache::SelectorIndex;
use crate::controllers::kinds::Kind;
use crate::controllers::object::{Key, Object, controller_reference};
use crate::controllers::queue::Queue;
use crate::controllers::selector::Selector;
use crate::controllers::{Cx, Seen};
use crate::error::ApiError;

/// The children of `owner`, after adopting matching objects without a controller and releasing those that stopped
/// matching. Ordered by name. An owner that is being deleted adopts and releases nothing.
pub(crate) async fn claim(
    cx: &Cx,
    owner: &Value,
    owner_kind: &Kind,
    child_kind: &'static Kind,
    selector: &Selector,
) -> Result<Vec<Arc<Value>>, ApiError> {
    let mut claimed = Vec::new();
    for child in cx.cache.claimable(child_kind, owner.namespace(), owner.uid(), selector) {
        let ours = child.is_controlled_by(owner.uid());
        let matches = selector.matches(child.labels());
        if ours && matches {
            claimed.push(child);
        } else if owner.is_deleting() || (!ours && (child.is_deleting() || !matches)) {
            continue;
        } else {
            let mut owners: Vec<Value> = child.items("metadata.ownerReferences").to_vec();
            if ours {
                owners.retain(|o| o.text("uid") != owner.uid());
            } else {
                owners.push(controller_reference(owner, owner_kind));
            }
            let owners = if owners.is_empty() { Value::Null } else { owners.into() };
            let patch = json!({ "metadata": {
                "uid": child.uid(),
                "resourceVersion": child.text("metadata.resourceVersion"),
                "ownerReferences": owners,
            }});
            match cx
                .loopback
                .merge_patch(&child_kind.gvr(), None, child.namespace(), child.name(), patch)
                .await
            {
                Ok(adopted) if !ours => claimed.push(Arc::new(adopted)),
                Ok(_) => {}
                Err(error) if error.code == 404 => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(claimed)
}

/// Wakes whoever a change of a child concerns: its controller, its former one, and, if it has none, the owners whose
/// selector selects it.
pub(crate) fn wake_owners(seen: &Seen<'_>, owner_kind: &Kind, selectors: &SelectorIndex, queue: &Queue<Key>) {
    let key = |child: &Value| {
        let owner = child.controller()?;
        let group = owner.text("apiVersion").split_once('/').map_or("", |(group, _)| group);
        (owner.text("kind") == owner_kind.kind && group == owner_kind.group)
            .then(|| Key::new(child.namespace(), owner.text("name")))
    };
    let now = key(seen.object);
    let before = seen.old.and_then(|old| key(old));
    if before != now
        && let Some(before) = before
    {
        queue.add(before);
    }
    match now {
        Some(now) => queue.add(now),
        None if seen.deleted || seen.object.controller().is_some() => {}
        None => selectors
            .selecting(seen.object)
            .into_iter()
            .for_each(|key| queue.add(key)),
    }
}

/// Keeps the selector of an owner in the index, from `spec.selector`.
pub(crate) fn index_selector(seen: &Seen<'_>, selectors: &SelectorIndex) {
    let selector = (!seen.deleted).then(|| Selector::of_label_selector(seen.object.at("spec.selector")));
    selectors.set(&Key::of(seen.object), selector);
}
