use super::*;
use bytes::Bytes;

use crate::cache::split_list;
use crate::delta::Header;

fn scanner() -> Scanner {
    Scanner::new(
        &Kind::new("demo.dev", "v1", "App", "apps", true),
        false,
        KeepManagers::of("app-operator", &["legacy".to_owned()]),
    )
}

fn scan(text: &str) -> Result<(Header, Vec<u8>), ScanError> {
    let mut scratch = Scratch::default();
    let header = scanner().scan(text.as_bytes(), &mut scratch)?.header(&scratch);
    let mut body = Vec::new();
    fold::unfold(&scratch.body, &header, &mut body);
    Ok((header, body))
}

const APP: &str = r#"{"apiVersion":"demo.dev/v1","kind":"App","metadata":{"name":"web","namespace":"shop","uid":"u-1","resourceVersion":"42","generation":3,"labels":{"b":"2","a":"1"},"annotations":{"note":"}]\""},"creationTimestamp":"2026-01-01T00:00:00Z","finalizers":["demo.dev/x"],"managedFields":[{"manager":"kubectl","operation":"Apply","fieldsV1":{"f:spec":{}}},{"manager":"app-operator/app","operation":"Apply","fieldsV1":{"f:spec":{}}}],"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","uid":"u-2","controller":true}]},"spec":{"image":"a{b"},"status":{"ready":1}}"#;

#[test]
fn the_header_is_read_and_the_body_loses_the_managers_of_others() {
    let (header, body) = scan(APP).expect("valid");
    assert_eq!(header.key, ObjectKey::new("shop", "web"));
    assert_eq!(&*header.uid, "u-1");
    assert_eq!(header.version.number(), Some(42));
    assert_eq!(header.generation, Some(3));
    assert_eq!(header.labels.get("b"), Some("2"));
    assert_eq!(header.controller().map(|owner| &*owner.uid), Some("u-2"));
    assert!(header.has_finalizer("demo.dev/x") && !header.is_deleting());
    let body: serde_json::Value = serde_json::from_slice(&body).expect("still JSON");
    let managed = body["metadata"]["managedFields"].as_array().expect("kept");
    assert_eq!(managed.len(), 1);
    assert_eq!(managed[0]["manager"], "app-operator/app");
    assert_eq!(body["metadata"]["annotations"]["note"], "}]\"");
    assert_eq!(body["spec"]["image"], "a{b");
}

#[test]
fn managed_fields_of_others_alone_vanish_wherever_they_stand() {
    let strange = r#"{"manager":"kubectl"}"#;
    for metadata in [
        format!(r#"{{"managedFields":[{strange}],"name":"web","resourceVersion":"1"}}"#),
        format!(r#"{{"name":"web","managedFields":[{strange}],"resourceVersion":"1"}}"#),
        format!(r#"{{"name":"web","resourceVersion":"1" , "managedFields" : [ {strange} ] }}"#),
    ] {
        let text = format!(r#"{{"apiVersion":"demo.dev/v1","kind":"App","metadata":{metadata}}}"#);
        let (_, body) = scan(&text).expect("valid");
        let body: serde_json::Value = serde_json::from_slice(&body).expect("still JSON");
        assert_eq!(
            body["metadata"],
            serde_json::json!({"name": "web", "resourceVersion": "1"})
        );
    }
}

#[test]
fn an_item_without_its_type_gets_it_from_the_list() {
    let (_, body) = scan(r#" {"metadata":{"name":"web","resourceVersion":"1"},"spec":{}}  "#).expect("valid");
    let body: serde_json::Value = serde_json::from_slice(&body).expect("still JSON");
    assert_eq!(body["apiVersion"], "demo.dev/v1");
    assert_eq!(body["kind"], "App");
}

#[test]
fn digests_change_with_their_part_alone() {
    let scan = |text: &str| scan(text).expect("valid").0;
    let base = scan(APP);
    let version = scan(&APP.replace("\"42\"", "\"43\"").replace("kubectl", "k9s"));
    assert_eq!(version.content_digest, base.content_digest);
    let status = scan(&APP.replace("\"ready\":1", "\"ready\":2"));
    assert_eq!(status.content_digest, base.content_digest);
    assert_eq!(status.spec_digest, base.spec_digest);
    assert_ne!(status.status_digest, base.status_digest);
    let spec = scan(&APP.replace("a{b", "a{c"));
    assert_ne!(spec.spec_digest, base.spec_digest);
    assert_ne!(spec.content_digest, base.content_digest);
    let note = scan(&APP.replace("\"note\"", "\"memo\""));
    assert_ne!(note.annotations_digest, base.annotations_digest);
    assert_ne!(note.content_digest, base.content_digest);
    assert_eq!(note.spec_digest, base.spec_digest);
    let untyped = scan(&APP.replace(r#""apiVersion":"demo.dev/v1","kind":"App","#, ""));
    assert_eq!(untyped.content_digest, base.content_digest);
}

#[test]
fn what_is_no_object_is_refused() {
    for text in [
        "",
        "[]",
        "{}",
        r#"{"metadata":{}}"#,
        r#"{"metadata":{"name":"x"}}"#,
        r#"{"metadata":"#,
    ] {
        assert!(scan(text).is_err(), "{text}");
    }
}

#[test]
fn a_list_is_split_into_slices_of_its_answer() {
    let answer = Bytes::from_static(
        br#"{"kind":"AppList","apiVersion":"demo.dev/v1","metadata":{"resourceVersion":"9","continue":"abc","remainingItemCount":1},"items":[{"metadata":{"name":"a"}}, {"metadata":{"name":"b"}}]}"#,
    );
    let page = split_list(&answer).expect("valid");
    assert_eq!(page.items.len(), 2);
    assert_eq!(&page.items[1][..], br#"{"metadata":{"name":"b"}}"#);
    assert_eq!(page.version.number(), Some(9));
    assert_eq!(page.continue_token.as_deref(), Some("abc"));
    let empty = Bytes::from_static(br#"{"metadata":{"resourceVersion":"9"},"items":null}"#);
    assert!(split_list(&empty).expect("valid").items.is_empty());
    assert!(split_list(&Bytes::from_static(b"{\"metadata\":{\"resourceVersion\":\"9\"}}")).is_err());
}
