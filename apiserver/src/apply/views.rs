//! Objects in the versions that other managers speak.
//!
//! Fields are compared as each manager knows them. Conversion may mean a request to a webhook, so it is done outside:
//! what is missing here is wanted, and who wanted it is asked again once it is there.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::compare::Comparison;
use super::fit;
use super::managed::{self, Entry};
use super::set::FieldSet;
use super::shape::Shape;
use crate::error::ApiError;
use crate::resource::{Resource, api_version};
use crate::schema::Schema;

/// Objects as other versions of their kind show them, as far as they have been converted.
#[derive(Debug, Default)]
pub struct Views(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Object, version, the object in that version.
    known: Vec<(Value, String, Arc<Value>)>,
    wanted: Vec<(Value, String)>,
}

impl Views {
    /// Adds what a version makes of an object.
    ///
    /// # Errors
    /// 500 if it does not fit the schema of that version: then no field of it can be compared.
    pub fn add(&self, resource: &Resource, object: Value, version: &str, shown: Value) -> Result<(), ApiError> {
        if let Some(schema) = schema_of(resource, version)
            && let Some(why) = fit::misfit(Shape::of(&schema), &shown, true)
        {
            let why = format!("failed to convert new object to version {version}: {why}");
            return Err(ApiError::new(500, "", why));
        }
        self.inner().known.push((object, version.to_owned(), Arc::new(shown)));
        Ok(())
    }

    /// What was asked for and is not here, each object with the version; nothing is wanted afterwards.
    pub fn take_wanted(&self) -> Vec<(Value, String)> {
        std::mem::take(&mut self.inner().wanted)
    }

    /// Whether something is wanted.
    pub(super) fn lacks(&self) -> bool {
        !self.inner().wanted.is_empty()
    }

    /// What a version makes of an object; where nobody has converted it, it is wanted.
    pub(super) fn find(&self, object: &Value, version: &str) -> Option<Arc<Value>> {
        let mut inner = self.inner();
        let known = inner.known.iter().find(|(o, v, _)| v == version && o == object);
        let found = known.map(|(_, _, shown)| Arc::clone(shown));
        if found.is_none() {
            inner.wanted.push((object.clone(), version.to_owned()));
        }
        found
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The versions other than the resource's own in which somebody owns fields of the objects.
#[must_use]
pub fn other_versions(resource: &Resource, old: &Value, new: &Value) -> Vec<String> {
    let own = resource.api_version();
    let mut versions: Vec<String> = [old, new]
        .into_iter()
        .filter_map(|object| managed::of(object).as_array())
        .flatten()
        .filter_map(|entry| entry.get("apiVersion")?.as_str())
        .filter(|version| *version != own && schema_of(resource, version).is_some())
        .map(str::to_owned)
        .collect();
    versions.sort_unstable();
    versions.dedup();
    versions
}

/// The object without its managedFields: what is converted of a new object to compare its fields. Of the present one,
/// and of what comes of an apply, the whole is.
#[must_use]
pub fn bare(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

/// Whether the object fits the schema of its kind well enough for its fields to be owned.
#[must_use]
pub fn fits(resource: &Resource, object: &Value) -> bool {
    fit::misfit(Shape::of(&resource.schema), object, true).is_none()
}

/// The schema of a served version of the resource's kind.
pub(super) fn schema_of(resource: &Resource, wanted: &str) -> Option<Arc<Schema>> {
    if wanted == resource.api_version() {
        return Some(Arc::clone(&resource.schema));
    }
    let Some(custom) = &resource.custom else {
        let (group, version) = wanted.split_once('/').unwrap_or(("", wanted));
        return Schema::builtin(group, version, &resource.kind);
    };
    let versions = custom.versions.iter();
    let mut named = versions.filter(|(version, _)| api_version(&resource.group, version) == wanted);
    named.next().map(|(_, schema)| Arc::clone(schema))
}

/// What a write changed, as each manager sees it.
pub(super) struct Changes {
    /// In the version of the write.
    pub(super) here: Comparison,
    elsewhere: Vec<(String, Comparison)>,
}

impl Changes {
    /// Compares two objects in the version of the write and in those of the entries. Versions in which `views` lacks
    /// them are left out.
    pub(super) fn of(
        resource: &Resource,
        views: &Views,
        entries: &[Entry],
        (old, new): (&Value, &Value),
        ignored: &FieldSet,
    ) -> Self {
        let here = Comparison::of(Shape::of(&resource.schema), old, new).without(ignored);
        let own = resource.api_version();
        let mut elsewhere: Vec<(String, Comparison)> = Vec::new();
        for entry in entries.iter().filter(|e| e.api_version != own) {
            let version = &entry.api_version;
            if elsewhere.iter().any(|(known, _)| known == version) {
                continue;
            }
            let Some(schema) = schema_of(resource, version) else {
                continue;
            };
            if let (Some(old), Some(new)) = (views.find(old, version), views.find(new, version)) {
                let changes = Comparison::of(Shape::of(&schema), &old, &new).without(ignored);
                elsewhere.push((version.clone(), changes));
            }
        }
        Self { here, elsewhere }
    }

    /// What changed as the manager of an entry sees it.
    pub(super) fn seen_by(&self, entry: &Entry) -> &Comparison {
        let of_version = self.elsewhere.iter().find(|(version, _)| *version == entry.api_version);
        of_version.map_or(&self.here, |(_, changes)| changes)
    }

    /// Whether nothing changed in any version.
    pub(super) fn is_empty(&self) -> bool {
        self.here.is_empty() && self.elsewhere.iter().all(|(_, changes)| changes.is_empty())
    }
}
