//! Paths and their operations, from the short form `URL → method → action and kind`.

use serde_json::{Map, Value, json};

use super::{reference, texts};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// Which patches a document's kinds take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patches {
    /// Those of custom resources.
    Plain,
    /// Strategic merge patch too.
    Strategic,
}

/// Writes the short form out. The kinds' schemas are looked up in `schemas`.
pub(super) fn expand(short: &Value, schemas: &Map<String, Value>, patches: Patches) -> Value {
    let path = |(url, methods): (&String, &Value)| {
        let mut item = Map::new();
        for (method, entry) in methods.as_object().into_iter().flatten() {
            item.insert(method.clone(), operation(method, entry, schemas, patches));
        }
        let parameters: Vec<Value> = [
            ("{name}", "name of the object"),
            ("{namespace}", "object name and auth scope"),
        ]
        .into_iter()
        .filter(|(placeholder, _)| url.contains(placeholder))
        .map(|(placeholder, description)| {
            let name = placeholder.trim_matches(['{', '}']);
            json!({
                "name": name,
                "in": "path",
                "required": true,
                "description": description,
                "schema": { "type": "string", "uniqueItems": true },
            })
        })
        .collect();
        if !parameters.is_empty() {
            item.insert("parameters".to_owned(), parameters.into());
        }
        (url.clone(), Value::Object(item))
    };
    Value::Object(short.as_object().into_iter().flatten().map(path).collect())
}

fn operation(method: &str, entry: &Value, schemas: &Map<String, Value>, patches: Patches) -> Value {
    let (action, gvk) = (&entry["action"], &entry["gvk"]);
    let name = schema_of(gvk, schemas, "");
    let answer = match action.as_str().unwrap_or_default() {
        "list" => schema_of(gvk, schemas, "List"),
        "delete" | "deletecollection" => Some(format!("{META}.Status")),
        "watch" | "watchlist" => Some(format!("{META}.WatchEvent")),
        _ => name.clone(),
    };
    let mut operation = json!({ "x-kubernetes-action": action, "responses": responses(method, answer, schemas) });
    if !gvk.is_null() {
        operation["x-kubernetes-group-version-kind"] = gvk.clone();
    }
    let parameters = parameters(method);
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(body) = request_body(method, name, schemas, patches) {
        operation["requestBody"] = body;
    }
    operation
}

/// The schema of a kind: the one that names it as its own.
fn schema_of(gvk: &Value, schemas: &Map<String, Value>, suffix: &str) -> Option<String> {
    let kind = format!("{}{suffix}", gvk["kind"].as_str()?);
    let own = |schema: &Value| {
        let kinds = schema["x-kubernetes-group-version-kind"].as_array();
        kinds
            .into_iter()
            .flatten()
            .any(|k| k["kind"] == kind.as_str() && k["group"] == gvk["group"] && k["version"] == gvk["version"])
    };
    schemas
        .iter()
        .find(|(_, schema)| own(schema))
        .map(|(name, _)| name.clone())
}

fn parameters(method: &str) -> Vec<Value> {
    let query = |name: &str, description: &str, kind: &str| {
        json!({
            "name": name,
            "in": "query",
            "description": description,
            "schema": { "type": kind, "uniqueItems": true },
        })
    };
    let writing = || {
        vec![
            query("dryRun", texts::DRY_RUN, "string"),
            query("fieldManager", texts::FIELD_MANAGER, "string"),
            query("fieldValidation", texts::FIELD_VALIDATION, "string"),
        ]
    };
    match method {
        "post" | "put" => writing(),
        "patch" => {
            let mut all = writing();
            all.push(query("force", texts::FORCE, "boolean"));
            all
        }
        "delete" => vec![query("dryRun", texts::DRY_RUN, "string")],
        _ => Vec::new(),
    }
}

fn request_body(method: &str, kind: Option<String>, schemas: &Map<String, Value>, patches: Patches) -> Option<Value> {
    let known = |name: String| schemas.contains_key(&name).then(|| reference(&name));
    let any = |schema: Value, required: bool| {
        let mut body = json!({ "content": { "*/*": { "schema": schema } } });
        if required {
            body["required"] = true.into();
        }
        body
    };
    match method {
        "post" | "put" => Some(any(known(kind?)?, true)),
        "delete" => Some(any(known(format!("{META}.DeleteOptions"))?, false)),
        "patch" => {
            let schema = known(format!("{META}.Patch"))?;
            let mut types = vec![
                "application/apply-patch+yaml",
                "application/json-patch+json",
                "application/merge-patch+json",
            ];
            if patches == Patches::Strategic {
                types.push("application/strategic-merge-patch+json");
            }
            let content: Map<String, Value> = types
                .into_iter()
                .map(|media| (media.to_owned(), json!({ "schema": schema })))
                .collect();
            Some(json!({ "content": content, "required": true }))
        }
        _ => None,
    }
}

fn responses(method: &str, answer: Option<String>, schemas: &Map<String, Value>) -> Value {
    let schema = answer
        .filter(|name| schemas.contains_key(name))
        .map(|name| reference(&name));
    let response = |description: &str| match &schema {
        Some(schema) => json!({
            "description": description,
            "content": {
                "application/json": { "schema": schema },
                "application/yaml": { "schema": schema },
            },
        }),
        None => json!({ "description": description }),
    };
    let mut responses = json!({ "200": response("OK"), "401": { "description": "Unauthorized" } });
    if matches!(method, "post" | "put" | "patch") {
        responses["201"] = response("Created");
    }
    if matches!(method, "post" | "delete") {
        responses["202"] = response("Accepted");
    }
    responses
}
