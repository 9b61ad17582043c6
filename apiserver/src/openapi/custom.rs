//! The documents of custom resources.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::operations::{self, Patches};
use super::{around, reference, texts};
use crate::schema::data;

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
const SCALE: &str = "io.k8s.api.autoscaling.v1.Scale";
/// What every document refers to besides its own kinds.
const COMMON: [&str; 5] = [
    OBJECT_META,
    LIST_META,
    "io.k8s.apimachinery.pkg.apis.meta.v1.Patch",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Status",
    "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
];

/// Paths and schemas of one document.
type Parts = (Map<String, Value>, Map<String, Value>);

/// One document per group version that the definitions serve, by its path below `/openapi/v3/`.
pub(super) fn documents(definitions: &[Arc<Value>]) -> BTreeMap<String, Value> {
    let mut parts: BTreeMap<String, Parts> = BTreeMap::new();
    for definition in definitions.iter().filter(|d| is_established(d)) {
        for version in definition["spec"]["versions"].as_array().into_iter().flatten() {
            if version["served"] == true {
                let kind = Kind::of(definition, version);
                let (paths, schemas) = parts
                    .entry(format!("apis/{}/{}", kind.group, kind.version))
                    .or_default();
                kind.add(version, paths, schemas);
            }
        }
    }
    parts
        .into_iter()
        .map(|(name, (paths, schemas))| (name, finish(paths, schemas)))
        .collect()
}

fn finish(paths: Map<String, Value>, mut schemas: Map<String, Value>) -> Value {
    let mut wanted: Vec<String> = COMMON.iter().map(|name| (*name).to_owned()).collect();
    wanted.extend(schemas.values().flat_map(|schema| references(&schema.to_string())));
    let mut seen = BTreeSet::new();
    while let Some(name) = wanted.pop() {
        if schemas.contains_key(&name) || !seen.insert(name.clone()) {
            continue;
        }
        if let Some(definition) = data::definition(&name) {
            wanted.extend(references(definition.json));
            schemas.insert(name, serde_json::from_str(definition.json).unwrap_or_default());
        }
    }
    let paths = operations::expand(&Value::Object(paths), &schemas, Patches::Plain);
    around(paths, schemas)
}

/// The schemas that a schema's text refers to.
fn references(text: &str) -> Vec<String> {
    let parts = text.split("#/components/schemas/").skip(1);
    parts
        .filter_map(|part| part.split('"').next())
        .map(ToOwned::to_owned)
        .collect()
}

fn is_established(definition: &Value) -> bool {
    let conditions = definition["status"]["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .any(|c| c["type"] == "Established" && c["status"] == "True")
}

/// One served version of a definition.
struct Kind<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a str,
    list_kind: &'a str,
    plural: &'a str,
    namespaced: bool,
}

impl<'a> Kind<'a> {
    fn of(definition: &'a Value, version: &'a Value) -> Self {
        let text = |value: &'a Value| value.as_str().unwrap_or_default();
        let names = &definition["status"]["acceptedNames"];
        Self {
            group: text(&definition["spec"]["group"]),
            version: text(&version["name"]),
            kind: text(&names["kind"]),
            list_kind: text(&names["listKind"]),
            plural: text(&names["plural"]),
            namespaced: definition["spec"]["scope"] == "Namespaced",
        }
    }

    fn add(&self, version: &Value, paths: &mut Map<String, Value>, schemas: &mut Map<String, Value>) {
        let mut object = publish(&version["schema"]["openAPIV3Schema"]);
        if object.as_object().is_none_or(Map::is_empty) {
            object = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        }
        let previous = object["properties"].take();
        object["properties"] = with_type_meta(previous);
        object["x-kubernetes-group-version-kind"] = json!([self.gvk(self.kind)]);
        schemas.insert(self.schema_name(self.kind), object);
        schemas.insert(self.schema_name(self.list_kind), self.list());
        let subresources = &version["subresources"];
        self.add_paths(paths, subresources);
        if !subresources["scale"].is_null()
            && let Some(scale) = data::definition(SCALE)
        {
            schemas.insert(SCALE.to_owned(), serde_json::from_str(scale.json).unwrap_or_default());
        }
    }

    fn add_paths(&self, paths: &mut Map<String, Value>, subresources: &Value) {
        let prefix = format!("/apis/{}/{}", self.group, self.version);
        let own = |action: &str| json!({ "action": action, "gvk": self.gvk(self.kind) });
        let base = if self.namespaced {
            paths.insert(format!("{prefix}/{}", self.plural), json!({ "get": own("list") }));
            format!("{prefix}/namespaces/{{namespace}}/{}", self.plural)
        } else {
            format!("{prefix}/{}", self.plural)
        };
        let of_object = json!({ "get": own("get"), "put": own("put"), "patch": own("patch"), "delete": own("delete") });
        let of_collection = json!({ "get": own("list"), "post": own("post"), "delete": own("deletecollection") });
        if !subresources["status"].is_null() {
            let status = json!({ "get": own("get"), "put": own("put"), "patch": own("patch") });
            paths.insert(format!("{base}/{{name}}/status"), status);
        }
        if !subresources["scale"].is_null() {
            let gvk = json!({ "group": "autoscaling", "version": "v1", "kind": "Scale" });
            let scale = |action: &str| json!({ "action": action, "gvk": gvk });
            let operations = json!({ "get": scale("get"), "put": scale("put"), "patch": scale("patch") });
            paths.insert(format!("{base}/{{name}}/scale"), operations);
        }
        paths.insert(format!("{base}/{{name}}"), of_object);
        paths.insert(base, of_collection);
    }

    fn list(&self) -> Value {
        json!({
            "description": format!("{} is a list of {}", self.list_kind, self.kind),
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": { "description": texts::API_VERSION, "type": "string" },
                "kind": { "description": texts::KIND, "type": "string" },
                "metadata": { "description": texts::LIST_METADATA, "allOf": [reference(LIST_META)] },
                "items": {
                    "description": format!("List of {}. {}", self.plural, texts::CONVENTIONS),
                    "type": "array",
                    "items": reference(&self.schema_name(self.kind)),
                },
            },
            "x-kubernetes-group-version-kind": [self.gvk(self.list_kind)],
        })
    }

    fn gvk(&self, kind: &str) -> Value {
        json!({ "group": self.group, "version": self.version, "kind": kind })
    }

    /// `example.x.v1.Door`: the group backwards, version, kind.
    fn schema_name(&self, kind: &str) -> String {
        let group: Vec<&str> = self.group.rsplit('.').collect();
        format!("{}.{}.{kind}", group.join("."), self.version)
    }
}

/// The schema as it is published: what stands for int-or-string spelled out, embedded objects completed.
fn publish(schema: &Value) -> Value {
    let Some(fields) = schema.as_object() else {
        return Value::Null;
    };
    let mut out = Map::new();
    for (key, value) in fields {
        let published = match (key.as_str(), value) {
            ("properties" | "patternProperties" | "definitions", Value::Object(properties)) => Value::Object(
                properties
                    .iter()
                    .map(|(name, schema)| (name.clone(), publish(schema)))
                    .collect(),
            ),
            ("items" | "additionalProperties" | "not", Value::Object(_)) => publish(value),
            ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => schemas.iter().map(publish).collect(),
            _ => value.clone(),
        };
        out.insert(key.clone(), published);
    }
    if fields.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) && !out.contains_key("anyOf") {
        out.insert("anyOf".to_owned(), json!([{ "type": "integer" }, { "type": "string" }]));
    }
    if fields.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true)) {
        let properties = out.remove("properties").unwrap_or_default();
        out.insert("properties".to_owned(), with_type_meta(properties));
    }
    Value::Object(out)
}

/// The properties of an object with those that every object has.
fn with_type_meta(properties: Value) -> Value {
    let mut properties = if properties.is_object() { properties } else { json!({}) };
    properties["apiVersion"] = json!({ "description": texts::API_VERSION, "type": "string" });
    properties["kind"] = json!({ "description": texts::KIND, "type": "string" });
    properties["metadata"] = json!({ "description": texts::METADATA, "allOf": [reference(OBJECT_META)] });
    properties
}
