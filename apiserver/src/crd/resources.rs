//! The resources that a definition makes.

use std::sync::Arc;

use serde_json::Value;

use crate::discovery::by_preference;
use crate::resource::{Custom, Resource, Subresource};
use crate::schema::Schema;

const VERBS: [&str; 8] = [
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];
const VERBS_WHILE_TERMINATING: [&str; 5] = ["delete", "deletecollection", "get", "list", "watch"];
const SUBRESOURCE_VERBS: [&str; 3] = ["get", "patch", "update"];

/// One resource per served version of an established definition; none before it is established.
#[must_use]
pub fn resources(definition: &Value) -> Vec<Resource> {
    if !condition(definition, "Established") {
        return Vec::new();
    }
    let spec = &definition["spec"];
    let names = &definition["status"]["acceptedNames"];
    let versions: Vec<&Value> = spec["versions"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|v| v["served"] == true || v["storage"] == true)
        .collect();
    let schemas: Vec<(String, Arc<Schema>)> = versions
        .iter()
        .map(|v| (text(&v["name"]), Arc::new(schema(v))))
        .collect();
    let storage = versions
        .iter()
        .find(|v| v["storage"] == true)
        .map(|v| text(&v["name"]))
        .unwrap_or_default();
    let terminating = condition(definition, "Terminating");
    versions
        .iter()
        .zip(&schemas)
        .filter(|(version, _)| version["served"] == true)
        .map(|(version, (name, schema))| {
            let subresources = &version["subresources"];
            Resource {
                stored_under: format!("{}.{}", text(&names["plural"]), text(&spec["group"])).into(),
                group: text(&spec["group"]),
                version: name.clone(),
                storage_version: storage.clone(),
                kind: text(&names["kind"]),
                list_kind: text(&names["listKind"]),
                plural: text(&names["plural"]),
                singular: text(&names["singular"]),
                short_names: texts(&names["shortNames"]),
                categories: texts(&names["categories"]),
                namespaced: spec["scope"] == "Namespaced",
                verbs: if terminating {
                    owned(&VERBS_WHILE_TERMINATING)
                } else {
                    owned(&VERBS)
                },
                counts_generation: true,
                subresources: subresources_of(subresources, &text(&names["kind"])),
                schema: schema.clone(),
                deprecation: deprecation(spec, version),
                custom: Some(Arc::new(Custom {
                    definition: text(&definition["metadata"]["name"]),
                    definition_generation: definition["metadata"]["generation"].as_u64().unwrap_or_default(),
                    definition_uid: text(&definition["metadata"]["uid"]),
                    terminating,
                    conversion: spec["conversion"].clone(),
                    versions: schemas.clone(),
                    columns: version["additionalPrinterColumns"]
                        .as_array()
                        .cloned()
                        .unwrap_or_default(),
                    selectable_fields: version["selectableFields"]
                        .as_array()
                        .into_iter()
                        .flatten()
                        .map(|f| text(&f["jsonPath"]))
                        .collect(),
                    scale: subresources.get("scale").filter(|s| !s.is_null()).cloned(),
                })),
            }
        })
        .collect()
}

/// What users of a deprecated version are told: the definition's words, or which served version is preferred.
fn deprecation(spec: &Value, version: &Value) -> Option<String> {
    if version["deprecated"] != true {
        return None;
    }
    if let Some(own) = version["deprecationWarning"].as_str() {
        return Some(own.to_owned());
    }
    let (group, kind, name) = (
        text(&spec["group"]),
        text(&spec["names"]["kind"]),
        text(&version["name"]),
    );
    let versions = spec["versions"].as_array().into_iter().flatten();
    let better = versions
        .filter(|other| other["served"] == true && other["deprecated"] != true)
        .map(|other| text(&other["name"]))
        .filter(|other| by_preference(other, &name).is_lt())
        .min_by(|a, b| by_preference(a, b));
    let instead = better.map_or_else(String::new, |better| format!("; use {group}/{better} {kind}"));
    Some(format!("{group}/{name} {kind} is deprecated{instead}"))
}

fn subresources_of(declared: &Value, kind: &str) -> Vec<Subresource> {
    let on = |name: &str| declared.get(name).is_some_and(|s| !s.is_null());
    let mut found = Vec::new();
    if on("status") {
        let name = "status".to_owned();
        found.push(Subresource {
            name,
            kind: kind.to_owned(),
            group_version: None,
            verbs: owned(&SUBRESOURCE_VERBS),
        });
    }
    if on("scale") {
        found.push(Subresource {
            name: "scale".to_owned(),
            kind: "Scale".to_owned(),
            group_version: Some(("autoscaling".to_owned(), "v1".to_owned())),
            verbs: owned(&SUBRESOURCE_VERBS),
        });
    }
    found
}

fn schema(version: &Value) -> Schema {
    match version.pointer("/schema/openAPIV3Schema") {
        Some(schema) => Schema::structural(schema),
        None => Schema::any(),
    }
}

fn condition(definition: &Value, kind: &str) -> bool {
    let conditions = definition.pointer("/status/conditions").and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .any(|c| c["type"] == kind && c["status"] == "True")
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().map(text).collect()
}

fn owned(list: &[&str]) -> Vec<String> {
    list.iter().map(|s| (*s).to_owned()).collect()
}
