//! Conversion webhooks: a custom object from one version of its definition into another, one object a review.
//!
//! A converter may change labels and annotations; everything else in the metadata stays as it was.

use serde_json::{Map, Value, json};

use crate::admission::webhook::Client;
use crate::builtins::metadata;
use crate::clock::Clock;
use crate::error::Cause;

/// How long a conversion may take.
const SECONDS: u64 = 30;
/// The versions of the review that are spoken.
const VERSIONS: [&str; 2] = ["v1", "v1beta1"];

/// Lets the webhook of a definition convert an object into the version `to`; `conversion` is the definition's
/// `spec.conversion`.
///
/// # Errors
/// The real server's words for what went wrong.
///
/// # Cancel safety
/// Dropping the future closes the connection; nothing else comes of it.
pub(crate) async fn by_webhook(
    client: &Client,
    clock: &Clock,
    conversion: &Value,
    object: &Value,
    to: &str,
) -> Result<Value, String> {
    let webhook = &conversion["webhook"];
    let head = format!(
        "conversion webhook for {}, Kind={}",
        text(object, "apiVersion"),
        text(object, "kind")
    );
    let wanted = webhook["conversionReviewVersions"].as_array();
    let version = wanted
        .into_iter()
        .flatten()
        .find_map(|wanted| VERSIONS.into_iter().find(|known| wanted == known))
        .ok_or("no supported conversion review versions")?;
    let uid = clock.uid();
    let review = json!({
        "kind": "ConversionReview",
        "apiVersion": format!("apiextensions.k8s.io/{version}"),
        "request": { "uid": uid, "desiredAPIVersion": to, "objects": [object] },
        "response": { "uid": "", "convertedObjects": null, "result": { "metadata": {} } },
    });
    let answer = client.call(&webhook["clientConfig"], SECONDS, &review).await;
    let answer = answer.map_err(|why| format!("{head} failed: {why}"))?;
    let objects = read(&answer, version, &uid).map_err(|why| format!("{head} failed: {why}"))?;
    let [result] = objects.as_slice() else {
        return Err(format!("{head} returned {} objects, expected 1", objects.len()));
    };
    check(object, result, to).map_err(|why| {
        if why == NO_OBJECT {
            why
        } else {
            format!("{head} returned {why}")
        }
    })?;
    let mut result = result.clone();
    restore(object, &mut result).map_err(|why| format!("{head} returned invalid metadata: {why}"))?;
    Ok(result)
}

/// What the real server says of a null among the converted objects.
const NO_OBJECT: &str = "unexpected end of JSON input";

/// The objects of a well-formed answer.
fn read(answer: &Value, version: &str, uid: &str) -> Result<Vec<Value>, String> {
    let (api_version, kind) = (text(answer, "apiVersion"), text(answer, "kind"));
    let given = api_version.rsplit('/').next().unwrap_or_default();
    if !kind.is_empty() && kind != "ConversionReview" {
        return Err(format!(
            "no kind {kind:?} is registered for version {api_version:?} in scheme \"pkg/runtime/scheme.go:111\""
        ));
    }
    if !api_version.is_empty() && given != version {
        return Err(format!(
            "converting ({given}.ConversionReview) to ({version}.ConversionReview): unknown conversion"
        ));
    }
    let response = &answer["response"];
    if response.is_null() {
        return Err("no response provided".to_owned());
    }
    let given = text(response, "uid");
    if version == "v1" && given != uid {
        return Err(format!("expected response.uid={uid:?}, got {given:?}"));
    }
    let result = &response["result"];
    let status = text(result, "status");
    if status != "Success" {
        return Err(match text(result, "message") {
            "" => format!("response.result.status was '{status}', not 'Success'"),
            message => message.to_owned(),
        });
    }
    Ok(response["convertedObjects"].as_array().cloned().unwrap_or_default())
}

/// Whether the result is the object in another version.
fn check(object: &Value, result: &Value, to: &str) -> Result<(), String> {
    if !result.is_object() {
        return Err(NO_OBJECT.to_owned());
    }
    let received = text(result, "apiVersion");
    if received != to {
        return Err(format!(
            "invalid object at index 0: invalid groupVersion (expected {to}, received {received})"
        ));
    }
    let (expected, received) = (text(object, "kind"), text(result, "kind"));
    if received != expected {
        return Err(format!(
            "invalid object at index 0: invalid kind (expected {expected}, received {received})"
        ));
    }
    for (field, word) in [("name", "name"), ("namespace", "namespace"), ("uid", "UID")] {
        let (before, after) = (text(&object["metadata"], field), text(&result["metadata"], field));
        if before != after {
            return Err(format!(
                "invalid object: must have the same {word}: {before} != {after}"
            ));
        }
    }
    Ok(())
}

/// Puts back all metadata but labels and annotations.
fn restore(object: &Value, result: &mut Value) -> Result<(), String> {
    let given = result["metadata"].take();
    let mut kept = object["metadata"].as_object().cloned().unwrap_or_default();
    for (field, path) in [("labels", "metadata.labels"), ("annotations", "metadata.annotation")] {
        let Some(value) = given.get(field).filter(|value| !value.is_null()) else {
            kept.remove(field);
            continue;
        };
        let entries: &Map<String, Value> = value
            .as_object()
            .ok_or_else(|| format!("invalid metadata.{field} in converted object"))?;
        if let Some((name, other)) = entries.iter().find(|(_, value)| !value.is_string()) {
            let kind = crate::schema::go::type_name(other);
            return Err(format!(
                "metadata.{field}[{name}] must be a string, but is {kind} in converted object"
            ));
        }
        if kept.get(field) != Some(value) {
            let causes = if field == "labels" {
                metadata::labels(path, value)
            } else {
                metadata::annotations(path, value)
            };
            match causes.as_slice() {
                [] => {}
                [one] => return Err(one.sentence()),
                many => {
                    let many: Vec<String> = many.iter().map(Cause::sentence).collect();
                    return Err(format!("[{}]", many.join(", ")));
                }
            }
        }
        kept.insert(field.to_owned(), value.clone());
    }
    result["metadata"] = Value::Object(kept);
    Ok(())
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_converter_changes_labels_and_annotations_and_no_other_metadata() {
        let object = json!({ "metadata": { "name": "a", "generation": 3, "labels": { "x": "y" } } });
        let mut result = json!({
            "metadata": { "name": "a", "generation": 9, "finalizers": ["f"], "annotations": { "by": "converter" } },
            "spec": {},
        });
        restore(&object, &mut result).unwrap();
        let expected = json!({ "name": "a", "generation": 3, "annotations": { "by": "converter" } });
        assert_eq!(result["metadata"], expected);
    }

    #[test]
    fn an_answer_is_that_to_the_review_in_its_version() {
        let answer = |kind: &str, version: &str, uid: &str| {
            json!({
                "kind": kind,
                "apiVersion": format!("apiextensions.k8s.io/{version}"),
                "response": { "uid": uid, "result": { "status": "Success" }, "convertedObjects": [{}] },
            })
        };
        assert_eq!(
            read(&answer("ConversionReview", "v1", "u"), "v1", "u").unwrap().len(),
            1
        );
        let another = read(&answer("ConversionReview", "v1", "x"), "v1", "u").unwrap_err();
        assert_eq!(another, "expected response.uid=\"u\", got \"x\"");
        let older = read(&answer("ConversionReview", "v1beta1", "u"), "v1", "u").unwrap_err();
        assert!(older.ends_with("to (v1.ConversionReview): unknown conversion"));
        assert!(read(&answer("AdmissionReview", "v1", "u"), "v1", "u").is_err());
    }
}
