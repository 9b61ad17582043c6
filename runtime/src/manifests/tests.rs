use serde_json::json;

use super::documents;

#[test]
fn a_yaml_stream_gives_its_objects_and_the_items_of_lists() {
    let text = "
apiVersion: v1
kind: ConfigMap
metadata: { name: a }
---
---
apiVersion: v1
kind: List
items:
- { apiVersion: v1, kind: Secret, metadata: { name: b } }
";
    let objects = documents(text).expect("valid");
    let names: Vec<_> = objects.iter().map(|o| o["metadata"]["name"].clone()).collect();
    assert_eq!(names, [json!("a"), json!("b")]);
}

#[test]
fn what_is_no_object_is_named_by_document_and_missing_field() {
    let of = |text: &str| documents(text).expect_err("invalid").to_string();
    assert_eq!(
        of("apiVersion: v1\nkind: ConfigMap\nmetadata: {}"),
        "document 1 is not a Kubernetes object: `metadata.name` is missing"
    );
    assert_eq!(of("[1]"), "document 1 is not a Kubernetes object: it is not a mapping");
    assert!(of("a: [").starts_with("not valid YAML: "));
}
