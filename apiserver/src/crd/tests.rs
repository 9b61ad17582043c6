use serde_json::{Value, json};

use super::*;

#[allow(clippy::needless_pass_by_value, reason = "reads better in the tests")]
fn definition(schema: Value) -> Value {
    let mut definition = json!({
        "metadata": { "name": "things.demo.dev" },
        "spec": {
            "group": "demo.dev", "scope": "Namespaced", "names": { "plural": "things", "kind": "Thing" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
        },
    });
    prepare(&mut definition, None);
    definition
}

#[allow(clippy::needless_pass_by_value, reason = "reads better in the tests")]
fn faults(spec: Value) -> Vec<String> {
    let schema = json!({ "type": "object", "properties": { "spec": spec } });
    let causes = validate(&definition(schema), None);
    causes
        .iter()
        .map(|c| {
            c.sentence()
                .replace("spec.validation.openAPIV3Schema.properties[spec]", "…")
        })
        .collect()
}

#[test]
fn a_structural_schema_is_accepted() {
    let spec = json!({ "type": "object", "properties": {
        "list": { "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": { "type": "object", "required": ["name"], "properties": { "name": { "type": "string" } } } },
        "either": { "x-kubernetes-int-or-string": true, "anyOf": [{ "type": "integer" }, { "type": "string" }] },
        "color": { "type": "string", "enum": ["red"], "default": "red" },
    } });
    assert_eq!(faults(spec), Vec::<String>::new());
}

#[test]
fn schemas_that_are_not_structural_are_refused_with_their_path() {
    for (spec, fault) in [
        (json!({ "type": "array" }), "….items: Required value: must be specified"),
        (
            json!({}),
            "….type: Required value: must not be empty for specified object fields",
        ),
        (
            json!({ "type": "object", "oneOf": [{ "properties": { "a": { "type": "string" } } }] }),
            "….oneOf[0].properties[a].type: Forbidden: must be empty to be structural",
        ),
        (
            json!({ "type": "object", "properties": { "a": { "type": "string" } }, "additionalProperties": { "type": "string" } }),
            "….additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
        ),
        (
            json!({ "type": "integer", "default": "x" }),
            "….default: Invalid value: \"string\":  in body must be of type integer: \"string\"",
        ),
        (
            json!({ "type": "object", "properties": {}, "default": { "a": 1 } }),
            "….default: Invalid value: {\"a\":1}: must not have unknown fields",
        ),
    ] {
        assert_eq!(faults(spec), [fault]);
    }
}

#[test]
fn an_empty_definition_is_told_everything_that_it_lacks() {
    let mut empty = json!({ "metadata": { "name": "x" }, "spec": {} });
    prepare(&mut empty, None);
    let fields: Vec<String> = validate(&empty, None).into_iter().map(|c| c.field).collect();
    let expected = [
        "metadata.name",
        "spec.group",
        "spec.scope",
        "spec.versions",
        "spec.names.plural",
        "spec.names.singular",
        "spec.names.kind",
        "spec.names.listKind",
        "status.storedVersions",
    ];
    assert_eq!(fields, expected);
}
