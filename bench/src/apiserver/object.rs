//! The object of the request cases: a custom resource of 1.5 KB with a schema, and the definition of its kind.

use serde_json::{Value, json};

/// The collection of the custom resources.
pub(crate) const WIDGETS: &str = "/apis/bench.dev/v1/namespaces/default/widgets";

/// The definition: typed throughout, with a default, an enumeration, bounds, a map list and a status subresource.
pub(crate) fn definition() -> Value {
    let text = json!({ "type": "string", "maxLength": 256 });
    let named_values = json!({
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {
            "type": "object",
            "required": ["name"],
            "properties": { "name": text, "value": text },
        },
    });
    let ports = json!({
        "type": "array",
        "items": {
            "type": "object",
            "required": ["port"],
            "properties": {
                "name": text,
                "port": { "type": "integer", "format": "int32", "minimum": 1, "maximum": 65535 },
                "protocol": { "type": "string", "enum": ["TCP", "UDP"], "default": "TCP" },
            },
        },
    });
    let spec = json!({
        "type": "object",
        "required": ["image"],
        "properties": {
            "image": text,
            "replicas": { "type": "integer", "format": "int32", "minimum": 0, "default": 1 },
            "paused": { "type": "boolean" },
            "schedule": { "type": "string", "pattern": "^[0-9*/ ,-]+$" },
            "settings": { "type": "object", "additionalProperties": text },
            "env": named_values,
            "ports": ports,
        },
    });
    let status = json!({
        "type": "object",
        "properties": { "ready": { "type": "integer" }, "phase": text },
    });
    let schema = json!({ "type": "object", "properties": { "spec": spec, "status": status } });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.bench.dev" },
        "spec": {
            "group": "bench.dev",
            "scope": "Namespaced",
            "names": { "plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": schema },
                "subresources": { "status": {} },
            }],
        },
    })
}

/// A custom resource as a client writes it: 1.5 KB of JSON. `change` makes versions that differ.
pub(crate) fn widget(name: &str, change: usize) -> Value {
    let env: Vec<Value> = (0..14)
        .map(|i| json!({ "name": format!("VARIABLE_{i}"), "value": format!("a value of ordinary length, {i}") }))
        .collect();
    json!({
        "apiVersion": "bench.dev/v1",
        "kind": "Widget",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {
                "app.kubernetes.io/name": "widget",
                "app.kubernetes.io/part-of": "bench",
                "app.kubernetes.io/managed-by": "kubewright",
            },
            "annotations": { "bench.dev/note": "what an author of an operator writes down about an object" },
        },
        "spec": {
            "image": format!("registry.example.com/team/widget:1.{change}"),
            "replicas": 3,
            "paused": false,
            "schedule": "*/5 * * * *",
            "settings": {
                "cache-size": "64Mi",
                "greeting": "hello from the widget",
                "log-level": "info",
                "region": "eu-central-1",
            },
            "env": env,
            "ports": [
                { "name": "http", "port": 8080, "protocol": "TCP" },
                { "name": "metrics", "port": 9090, "protocol": "TCP" },
            ],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_object_has_one_and_a_half_kilobytes() {
        let length = widget("widget-1234", 100).to_string().len();
        assert!((1450..1550).contains(&length), "{length} bytes");
    }
}
