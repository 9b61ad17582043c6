//! Field selectors: which fields of a kind can be selected, and their values.

use std::sync::{Arc, LazyLock};

use serde_json::Value;

use crate::crd::jsonpath;
use crate::error::ApiError;
use crate::resource::Resource;
use crate::storage::Stored;

/// A selectable field of a built-in kind: its name, and where its value lies in the stored object.
type Known = (&'static str, &'static [&'static str]);

/// The built-in kinds with fields beyond name and namespace, by the name that storage gives them. The first path that
/// holds a value counts. The names are those of `AddFieldLabelConversionFunc` and `ToSelectableFields` upstream.
const KNOWN: &[(&str, &[Known])] = &[
    (
        "pods",
        &[
            ("spec.nodeName", &["/spec/nodeName"]),
            ("spec.restartPolicy", &["/spec/restartPolicy"]),
            ("spec.schedulerName", &["/spec/schedulerName"]),
            ("spec.serviceAccountName", &["/spec/serviceAccountName"]),
            ("spec.hostNetwork", &["/spec/hostNetwork"]),
            ("status.phase", &["/status/phase"]),
            ("status.podIP", &["/status/podIPs/0/ip", "/status/podIP"]),
            ("status.nominatedNodeName", &["/status/nominatedNodeName"]),
        ],
    ),
    ("nodes", &[("spec.unschedulable", &["/spec/unschedulable"])]),
    ("namespaces", &[("status.phase", &["/status/phase"])]),
    ("secrets", &[("type", &["/type"])]),
    (
        "services",
        &[("spec.clusterIP", &["/spec/clusterIP"]), ("spec.type", &["/spec/type"])],
    ),
    ("replicationcontrollers", &[("status.replicas", &["/status/replicas"])]),
    ("jobs.batch", &[("status.successful", &["/status/succeeded"])]),
    (
        "certificatesigningrequests.certificates.k8s.io",
        &[("spec.signerName", &["/spec/signerName"])],
    ),
    (
        "events",
        &[
            ("involvedObject.kind", &["/involvedObject/kind"]),
            ("involvedObject.namespace", &["/involvedObject/namespace"]),
            ("involvedObject.name", &["/involvedObject/name"]),
            ("involvedObject.uid", &["/involvedObject/uid"]),
            ("involvedObject.apiVersion", &["/involvedObject/apiVersion"]),
            ("involvedObject.resourceVersion", &["/involvedObject/resourceVersion"]),
            ("involvedObject.fieldPath", &["/involvedObject/fieldPath"]),
            ("reason", &["/reason"]),
            ("reportingComponent", &["/reportingComponent"]),
            ("source", &["/source/component", "/reportingComponent"]),
            ("type", &["/type"]),
        ],
    ),
];

/// Fields whose absence means a number or a boolean, not the empty text.
const ABSENT: &[(&str, &str)] = &[
    ("spec.unschedulable", "false"),
    ("spec.hostNetwork", "false"),
    ("status.replicas", "0"),
    ("status.successful", "0"),
];

/// What events.k8s.io calls the fields that the core group stores under another name.
const EVENT_NAMES: &[(&str, &str)] = &[
    ("regarding.kind", "involvedObject.kind"),
    ("regarding.namespace", "involvedObject.namespace"),
    ("regarding.name", "involvedObject.name"),
    ("regarding.uid", "involvedObject.uid"),
    ("regarding.apiVersion", "involvedObject.apiVersion"),
    ("regarding.resourceVersion", "involvedObject.resourceVersion"),
    ("regarding.fieldPath", "involvedObject.fieldPath"),
    ("reportingController", "reportingComponent"),
    ("reason", "reason"),
    ("type", "type"),
];

/// The names of all known fields, made once and shared by every stored object.
static NAMES: LazyLock<Vec<Arc<str>>> = LazyLock::new(|| {
    let mut names: Vec<&str> = KNOWN
        .iter()
        .flat_map(|(_, fields)| fields.iter().map(|(name, _)| *name))
        .collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(Arc::from).collect()
});

/// A conjunction of requirements on fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    field: String,
    value: String,
    equal: bool,
}

impl FieldSelector {
    /// Parses the text of a `fieldSelector` parameter for a resource; empty text selects everything.
    ///
    /// # Errors
    /// 400 with the recorded words.
    pub(crate) fn parse(text: &str, resource: &Resource) -> Result<Self, ApiError> {
        let mut requirements = Vec::new();
        for term in split_terms(text) {
            let (field, value, equal) = split_term(term).ok_or_else(|| {
                ApiError::bad_request(format!("invalid selector: '{text}'; can't understand '{term}'"))
            })?;
            let value = unescape(value)
                .ok_or_else(|| ApiError::bad_request(format!("invalid field selector: invalid escape in {value:?}")))?;
            let field = stored_name(resource, field)?;
            requirements.push(Requirement { field, value, equal });
        }
        Ok(Self(requirements))
    }

    /// Whether everything is selected.
    pub(crate) fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the object fulfils every requirement.
    pub(crate) fn matches(&self, object: &Stored) -> bool {
        self.0.iter().all(|r| (object.field(&r.field) == r.value) == r.equal)
    }

    /// The value that the field must have, if the selector demands one.
    pub(crate) fn demanded(&self, field: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|r| r.equal && r.field == field)
            .map(|r| r.value.as_str())
    }

    /// A selectable field other than name and namespace and the value that it must have: what watchers are indexed by.
    pub(crate) fn demanded_field(&self) -> Option<(&str, &str)> {
        self.0
            .iter()
            .find(|r| r.equal && !r.field.starts_with("metadata."))
            .map(|r| (r.field.as_str(), r.value.as_str()))
    }
}

/// The values of an object's selectable fields, for storage.
pub(crate) fn values(resource: &Resource, object: &Value) -> Vec<(Arc<str>, String)> {
    if let Some(custom) = &resource.custom {
        return custom
            .selectable_fields
            .iter()
            .map(|path| {
                (
                    path.trim_start_matches('.').into(),
                    shown(jsonpath::first(object, path)),
                )
            })
            .collect();
    }
    let Some(known) = known(resource) else {
        return Vec::new();
    };
    known
        .iter()
        .filter_map(|(name, paths)| {
            let index = NAMES.binary_search_by(|n| (**n).cmp(name)).ok()?;
            let value = paths
                .iter()
                .map(|path| shown(object.pointer(path)))
                .find(|value| !value.is_empty());
            let absent = || {
                ABSENT
                    .iter()
                    .find(|(n, _)| n == name)
                    .map_or("", |(_, value)| value)
                    .to_owned()
            };
            Some((Arc::clone(&NAMES[index]), value.unwrap_or_else(absent)))
        })
        .collect()
}

fn known(resource: &Resource) -> Option<&'static [Known]> {
    KNOWN
        .iter()
        .find(|(name, _)| *name == &*resource.stored_under)
        .map(|(_, fields)| *fields)
}

/// The name under which storage keeps a field, if this version of the resource lets it be selected.
fn stored_name(resource: &Resource, field: &str) -> Result<String, ApiError> {
    let unsupported = || ApiError::bad_request(format!("field label not supported: {field}"));
    if field == "metadata.name" || (field == "metadata.namespace" && (resource.namespaced || resource.custom.is_none()))
    {
        return Ok(field.to_owned());
    }
    if let Some(custom) = &resource.custom {
        let selectable = custom
            .selectable_fields
            .iter()
            .any(|path| path.trim_start_matches('.') == field);
        return if selectable {
            Ok(field.to_owned())
        } else {
            Err(unsupported())
        };
    }
    let Some(known) = known(resource) else {
        return Err(ApiError::bad_request(format!(
            "{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        )));
    };
    if &*resource.stored_under == "events" && !resource.group.is_empty() {
        let stored = EVENT_NAMES
            .iter()
            .find(|(name, _)| *name == field)
            .ok_or_else(unsupported)?;
        return Ok(stored.1.to_owned());
    }
    if field == "name" && &*resource.stored_under == "namespaces" {
        return Ok("metadata.name".to_owned());
    }
    if known.iter().any(|(name, _)| *name == field) {
        Ok(field.to_owned())
    } else {
        Err(unsupported())
    }
}

/// A scalar as a selector compares it.
fn shown(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::Bool(flag)) => flag.to_string(),
        _ => String::new(),
    }
}

/// Splits at commas that no backslash escapes.
fn split_terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (index, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms.retain(|term| !term.is_empty());
    terms
}

fn split_term(term: &str) -> Option<(&str, &str, bool)> {
    let mut escaped = false;
    for (index, character) in term.char_indices() {
        let rest = &term[index..];
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ => {
                for (operator, equal) in [("!=", false), ("==", true), ("=", true)] {
                    if let Some(value) = rest.strip_prefix(operator) {
                        return Some((&term[..index], value, equal));
                    }
                }
            }
        }
    }
    None
}

fn unescape(value: &str) -> Option<String> {
    let mut unescaped = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => unescaped.push(characters.next().filter(|c| matches!(c, '\\' | ',' | '='))?),
            ',' | '=' => return None,
            other => unescaped.push(other),
        }
    }
    Some(unescaped)
}
