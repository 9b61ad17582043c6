//! Takes over the fields that the controller owns under earlier names, so that what it no longer sets goes away.
//!
//! Server-side apply removes a field that its manager set and sets no longer. Under a new name, after a change from
//! client-side apply, or after writes by PUT and PATCH, the server takes the earlier self for somebody else and keeps
//! the field for ever. The entries of managedFields are therefore folded into the one that the applies of today make,
//! as kubectl does when it goes over to server-side apply.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::cache::Cached;
use crate::client::PatchType;
use crate::context::inner::Inner;
use crate::delta::Header;
use crate::diagnostics::Base;
use crate::error::{Error, Result};
use crate::key::ObjectKey;
use crate::kind::Kind;

/// Tries, where others write the object at the same time.
const TRIES: usize = 3;

#[derive(Deserialize)]
struct Object {
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    uid: String,
    resource_version: String,
    #[serde(default)]
    managed_fields: Vec<Value>,
}

impl Inner {
    /// Takes over what earlier names of `manager` own of an object; its header after that, where there was something.
    ///
    /// The cache keeps the entries of earlier names, so that an object that has none costs nothing. What the cache does
    /// not keep is asked for.
    pub(super) async fn take_over(
        &self,
        kind: &Kind,
        key: &ObjectKey,
        manager: &str,
        subresource: Option<&'static str>,
    ) -> Result<Option<Arc<Header>>> {
        let names = self.earlier_names(manager);
        if names.is_empty() {
            return Ok(None);
        }
        if let Some(cached) = self.shared.reader.cached_body(kind, key) {
            let object: Object = read(&cached.json())?;
            if taken_over(&object.metadata.managed_fields, manager, &names, subresource).is_none() {
                return Ok(None);
            }
        }
        for left in (0..TRIES).rev() {
            let live = match self.shared.transport.get(&self.origin, kind, key).await {
                Ok(live) => live,
                Err(error) if error.is_not_found() => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            let metadata = read::<Object>(&live)?.metadata;
            let Some(entries) = taken_over(&metadata.managed_fields, manager, &names, subresource) else {
                return Ok(None);
            };
            // The version in the patch makes the server refuse it where somebody wrote the object since.
            let patch = json!([
                { "op": "test", "path": "/metadata/uid", "value": metadata.uid },
                { "op": "replace", "path": "/metadata/managedFields", "value": entries },
                { "op": "replace", "path": "/metadata/resourceVersion", "value": metadata.resource_version },
            ]);
            let body = patch.to_string().into_bytes();
            let sent = self
                .shared
                .transport
                .patch(&self.origin, kind, key, None, PatchType::Json, body, manager)
                .await;
            match sent {
                Err(error) if error.is_conflict() && left > 0 => {}
                sent => {
                    let answer: Cached = self.wrote("patch", kind, key, None, Base::Unknown, sent)?;
                    return Ok(Some(answer.header_arc()));
                }
            }
        }
        Ok(None)
    }

    /// The earlier names of today's manager: of the whole, of a part, or of the status.
    fn earlier_names(&self, manager: &str) -> Vec<String> {
        let today = &*self.shared.field_manager;
        let suffix = manager.strip_prefix(today).unwrap_or_default();
        let mut names = Vec::new();
        for earlier in &self.shared.declared.previous_managers {
            names.push(format!("{earlier}{suffix}"));
            // Before it applied the status, it may have updated it under its plain name.
            if suffix == "-status" {
                names.push(earlier.clone());
            }
        }
        names.retain(|name| name != manager);
        names
    }
}

fn read<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T> {
    serde_json::from_slice(json).map_err(|error| Error::from(format!("an object has unreadable metadata: {error}")))
}

/// The entries of managedFields with those of `earlier` folded into that of `manager`; `None` where there are none.
fn taken_over(entries: &[Value], manager: &str, earlier: &[String], subresource: Option<&str>) -> Option<Vec<Value>> {
    let of = |entry: &Value| entry["subresource"].as_str().unwrap_or_default() == subresource.unwrap_or_default();
    let theirs = |entry: &Value| {
        of(entry)
            && entry["manager"]
                .as_str()
                .is_some_and(|m| earlier.iter().any(|e| e == m))
    };
    let ours = |entry: &Value| of(entry) && entry["manager"] == manager && entry["operation"] == "Apply";
    let last = entries.iter().rfind(|entry| theirs(entry))?;
    // Paths are those of a version of the API; that of our own entry is what the next apply is compared with.
    let mut taken = entries.iter().find(|entry| ours(entry)).unwrap_or(last).clone();
    let mut fields = Map::new();
    for entry in entries.iter().filter(|entry| theirs(entry) || ours(entry)) {
        if let Some(more) = entry["fieldsV1"].as_object() {
            unite(&mut fields, more);
        }
    }
    taken["manager"] = manager.into();
    taken["operation"] = "Apply".into();
    taken["fieldsV1"] = Value::Object(fields);
    let others = entries.iter().filter(|entry| !theirs(entry) && !ours(entry));
    Some(std::iter::once(taken).chain(others.cloned()).collect())
}

/// Field sets are trees of members; their union has the members of both.
fn unite(fields: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (name, more) in more {
        let below = fields.entry(name).or_insert_with(|| Value::Object(Map::new()));
        if let (Value::Object(below), Value::Object(more)) = (below, more) {
            unite(below, more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(manager: &str, operation: &str, subresource: &str, fields: &Value) -> Value {
        let mut entry = json!({
            "manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        });
        if !subresource.is_empty() {
            entry["subresource"] = subresource.into();
        }
        entry
    }

    #[test]
    fn what_earlier_names_own_is_united_with_what_today_s_owns() {
        let entries = [
            entry("old", "Update", "", &json!({ "f:data": { "f:a": {}, "f:b": {} } })),
            entry("other", "Update", "", &json!({ "f:data": { "f:c": {} } })),
            entry(
                "kubectl-client-side-apply",
                "Update",
                "",
                &json!({ "f:metadata": { "f:annotations": {} } }),
            ),
            entry("op/app", "Apply", "", &json!({ "f:data": { "f:a": {}, "f:d": {} } })),
            entry("old", "Update", "status", &json!({ "f:status": {} })),
        ];
        let earlier = ["old".to_owned(), "kubectl-client-side-apply".to_owned()];
        let taken = taken_over(&entries, "op/app", &earlier, None).expect("something");
        let fields = json!({
            "f:data": { "f:a": {}, "f:b": {}, "f:d": {} }, "f:metadata": { "f:annotations": {} },
        });
        assert_eq!(taken[0], entry("op/app", "Apply", "", &fields));
        assert_eq!(taken[1..], [entries[1].clone(), entries[4].clone()]);
        let status = taken_over(&entries, "op/app-status", &earlier, Some("status")).expect("something");
        let own = entry("op/app-status", "Apply", "status", &json!({ "f:status": {} }));
        assert_eq!(status[0], own);
        assert_eq!(status.len(), 5);
        assert_eq!(taken_over(&taken, "op/app", &earlier, None), None);
    }
}
