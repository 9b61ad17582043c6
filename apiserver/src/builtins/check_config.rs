//! What configuration may hold.

use base64::Engine;
use serde_json::Value;

use super::checks::At;
use super::checks::Check::{self, With};
use super::names;
use crate::error::Cause;

const MAX_DATA: usize = 1024 * 1024;

pub(super) const TABLE: &[(&str, &[Check])] = &[
    ("ConfigMap", &[With(config_keys)]),
    ("Secret", &[With(secret_keys), With(secret_type)]),
];

fn config_keys(at: &At<'_>, causes: &mut Vec<Cause>) {
    let mut size = 0;
    for (key, value) in at.get("data").as_object().into_iter().flatten() {
        let path = format!("data[{key}]");
        let faults = names::config_key(key);
        causes.extend(
            faults
                .iter()
                .map(|why| Cause::invalid(path.as_str(), &key.as_str().into(), why)),
        );
        if at.get("binaryData").get(key).is_some() {
            causes.push(Cause::invalid(
                path,
                &key.as_str().into(),
                "duplicate of key present in binaryData",
            ));
        }
        size += value.as_str().map_or(0, str::len);
    }
    for (key, value) in at.get("binaryData").as_object().into_iter().flatten() {
        let faults = names::config_key(key);
        let path = format!("binaryData[{key}]");
        causes.extend(
            faults
                .iter()
                .map(|why| Cause::invalid(path.as_str(), &key.as_str().into(), why)),
        );
        size += decoded_length(value);
    }
    causes.extend(too_long(size, "[]"));
}

fn secret_keys(at: &At<'_>, causes: &mut Vec<Cause>) {
    let mut size = 0;
    for (key, value) in at.get("data").as_object().into_iter().flatten() {
        let faults = names::config_key(key);
        let path = format!("data[{key}]");
        causes.extend(
            faults
                .iter()
                .map(|why| Cause::invalid(path.as_str(), &key.as_str().into(), why)),
        );
        size += decoded_length(value);
    }
    causes.extend(too_long(size, "data"));
}

fn decoded_length(value: &Value) -> usize {
    value.as_str().map_or(0, |text| {
        text.len() / 4 * 3 - text.bytes().rev().take_while(|b| *b == b'=').count()
    })
}

fn too_long(size: usize, path: &str) -> Option<Cause> {
    (size > MAX_DATA).then(|| Cause {
        reason: "FieldValueTooLong",
        message: format!("Too long: may not be more than {MAX_DATA} bytes"),
        field: path.to_owned(),
    })
}

/// What secrets of well-known types must hold.
fn secret_type(at: &At<'_>, causes: &mut Vec<Cause>) {
    let data = at.get("data");
    let mut must_hold = |keys: &[&str]| {
        for key in keys {
            if data.get(*key).is_none() {
                causes.push(Cause::required(format!("data[{key}]"), ""));
            }
        }
    };
    match at.text("type") {
        "kubernetes.io/tls" => must_hold(&["tls.crt", "tls.key"]),
        "kubernetes.io/ssh-auth" => must_hold(&["ssh-privatekey"]),
        "kubernetes.io/basic-auth" if data.get("username").is_none() && data.get("password").is_none() => {
            must_hold(&["username", "password"]);
        }
        "kubernetes.io/dockerconfigjson" => json_in(data, ".dockerconfigjson", causes),
        "kubernetes.io/dockercfg" => json_in(data, ".dockercfg", causes),
        "kubernetes.io/service-account-token" => {
            let key = "kubernetes.io/service-account.name";
            let name = at
                .get("metadata")
                .get("annotations")
                .and_then(|a| a.get(key))
                .and_then(Value::as_str);
            if name.unwrap_or_default().is_empty() {
                causes.push(Cause::required(format!("metadata.annotations[{key}]"), ""));
            }
        }
        _ => {}
    }
}

fn json_in(data: &Value, key: &str, causes: &mut Vec<Cause>) {
    let path = format!("data[{key}]");
    let Some(text) = data.get(key).and_then(Value::as_str) else {
        causes.push(Cause::required(path, ""));
        return;
    };
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(text)
        .unwrap_or_default();
    if serde_json::from_slice::<Value>(&bytes).is_err() {
        let why = crate::http::go_json::complaint(&bytes);
        let why = if why.is_empty() {
            "unexpected end of JSON input".to_owned()
        } else {
            why
        };
        causes.push(Cause::invalid(path, &"<secret contents redacted>".into(), why));
    }
}
