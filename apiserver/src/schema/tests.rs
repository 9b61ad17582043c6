use serde_json::{Value, json};

use super::*;

fn messages(schema: &Value, new: &Value, old: Option<&Value>) -> Vec<String> {
    let root = json!({ "type": "object", "properties": { "spec": schema } });
    let wrap = |v: &Value| json!({ "spec": v });
    let causes = Schema::structural(&root).validate(&wrap(new), old.map(wrap).as_ref());
    causes.iter().map(Cause::sentence).collect()
}

fn bounded() -> Value {
    json!({ "type": "object", "required": ["z"], "properties": {
        "n": { "type": "integer", "maximum": 5 },
        "s": { "type": "string", "maxLength": 2 },
        "p": { "x-kubernetes-int-or-string": true },
        "l": { "type": "array", "items": { "type": "integer" }, "maxItems": 2 },
        "m": { "type": "object", "additionalProperties": { "type": "string", "enum": ["on", "off"] } },
    } })
}

#[test]
fn every_fault_is_named_with_its_path_and_required_fields_come_last() {
    let value = json!({ "n": 6, "s": "abc", "p": 1.5, "l": [1, "x", 3], "m": { "a/b": "dim" } });
    let expected = [
        "spec.l[1]: Invalid value: \"string\": spec.l[1] in body must be of type integer: \"string\"",
        "spec.l: Too many: 3: must have at most 2 items",
        "spec.m.a/b: Unsupported value: \"dim\": supported values: \"on\", \"off\"",
        "spec.n: Invalid value: 6: spec.n in body should be less than or equal to 5",
        "spec.p: Invalid value: \"number\": spec.p in body must be of type integer,string: \"number\"",
        "spec.s: Too long: may not be more than 2 bytes",
        "spec.z: Required value",
    ];
    assert_eq!(messages(&bounded(), &value, None), expected);
}

#[test]
fn an_unchanged_value_is_not_checked_again_but_required_fields_of_a_changed_parent_are() {
    let old = json!({ "n": 6, "s": "abc" });
    assert!(messages(&bounded(), &old, Some(&old)).is_empty());
    let changed = messages(&bounded(), &json!({ "n": 7, "s": "abc" }), Some(&old));
    let expected = [
        "spec.n: Invalid value: 7: spec.n in body should be less than or equal to 5",
        "spec.z: Required value",
    ];
    assert_eq!(changed, expected);
}

#[test]
fn junctors_belong_to_no_field_and_show_the_branch_that_came_furthest() {
    let schema = json!({ "type": "string", "oneOf": [{ "pattern": "^a" }, { "pattern": "z$" }] });
    let expected = [
        "<nil>: Invalid value: \"\": \"spec\" must validate one and only one schema (oneOf). Found none valid",
        "spec: Invalid value: \"q\": spec in body should match '^a'",
    ];
    assert_eq!(messages(&schema, &json!("q"), None), expected);
    let both = messages(&schema, &json!("az"), None);
    assert!(both[0].ends_with("Found 2 valid alternatives"), "{both:?}");
}

#[test]
fn pruning_keeps_preserved_subtrees_but_prunes_what_they_declare() {
    let root = json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": {
        "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
            "known": { "type": "object", "properties": { "x": { "type": "integer" } } },
        } },
    } } } });
    let mut object = json!({
        "apiVersion": "a/v1", "kind": "K", "metadata": { "name": "n", "odd": 1 },
        "spec": { "free": { "any": { "deep": 1 }, "known": { "x": 1, "y": 2 } }, "no": 1 }, "extra": 1,
    });
    let dropped = Schema::structural(&root).prune(&mut object);
    assert_eq!(dropped, ["extra", "spec.free.known.y", "spec.no", "metadata.odd"]);
    assert_eq!(
        object["spec"],
        json!({ "free": { "any": { "deep": 1 }, "known": { "x": 1 } } })
    );
}

fn decoded(group: &str, kind: &str, object: Value) -> Result<(Value, Vec<String>), String> {
    let schema = Schema::builtin(group, "v1", kind).unwrap();
    let mut object = object;
    let unknown = schema.decode_builtin(&mut object).map_err(|e| e.message)?;
    Ok((object, unknown))
}

#[test]
fn decoding_a_built_in_drops_the_empty_keeps_the_pointed_to_and_writes_the_required() {
    let pod = json!({ "metadata": { "labels": {}, "annotations": { "n": null }, "finalizers": [] }, "odd": 1, "spec": {
        "hostNetwork": false, "terminationGracePeriodSeconds": 0, "securityContext": {}, "nodeSelector": {},
        "containers": [{ "image": "i", "env": [{ "name": "A", "value": "" }], "args": [],
            "resources": { "limits": { "cpu": "0.5", "memory": 1024 } } }],
    } });
    let (object, unknown) = decoded("", "Pod", pod).unwrap();
    assert_eq!(unknown, ["odd"]);
    let expected = json!({ "metadata": { "annotations": { "n": "" } }, "status": {}, "spec": {
        "terminationGracePeriodSeconds": 0, "securityContext": {},
        "containers": [{ "name": "", "image": "i", "env": [{ "name": "A" }],
            "resources": { "limits": { "cpu": "500m", "memory": "1024" } } }],
    } });
    assert_eq!(object, expected);
}

#[test]
fn what_does_not_decode_is_told_in_the_words_of_the_real_server() {
    let unmarshal = "json: cannot unmarshal";
    for (object, message) in [
        (
            json!({ "spec": { "containers": "c" } }),
            format!("{unmarshal} string into Go struct field PodSpec.spec.containers of type []v1.Container"),
        ),
        (
            json!({ "spec": { "hostNetwork": "yes" } }),
            format!("{unmarshal} string into Go struct field PodSpec.spec.hostNetwork of type bool"),
        ),
        (
            json!({ "metadata": { "labels": { "a": 1 } } }),
            format!("{unmarshal} number into Go struct field ObjectMeta.metadata.labels of type string"),
        ),
        (
            json!({ "spec": { "priority": 3_000_000_000u64 } }),
            format!("{unmarshal} number 3000000000 into Go struct field PodSpec.spec.priority of type int32"),
        ),
        (
            json!({ "spec": { "overhead": { "cpu": "x" } } }),
            quantity::MALFORMED.to_owned(),
        ),
    ] {
        assert_eq!(decoded("", "Pod", object), Err(message));
    }
    let lease = json!({ "spec": { "renewTime": "2024-01-02T03:04:05Z" } });
    let message = "parsing time \"2024-01-02T03:04:05Z\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"Z\" as \".000000\"";
    assert_eq!(decoded("coordination.k8s.io", "Lease", lease), Err(message.to_owned()));
    let secret = json!({ "data": { "k": "abc!" } });
    assert_eq!(
        decoded("", "Secret", secret),
        Err("illegal base64 data at input byte 3".to_owned())
    );
}
