//! Kubernetes' protobuf encoding of built-in kinds, at the edge only: bodies become JSON values on the way in, and
//! JSON values become messages on the way out.
//!
//! A body is `k8s\0` and a `runtime.Unknown` that holds apiVersion, kind and the message itself.

mod read;
mod table;
mod write;

use serde_json::Value;

pub(crate) use read::decode;

/// What every body starts with.
const MAGIC: &[u8; 4] = b"k8s\0";

/// The media type.
pub(crate) const MEDIA: &str = "application/vnd.kubernetes.protobuf";

/// A value as a protobuf body; `None` for kinds without a recorded message.
pub(crate) fn encode(object: &Value) -> Option<Vec<u8>> {
    write::body(object)
}

/// An event of a watch: its length in four bytes, then the event. `None` for kinds without a recorded message.
pub(crate) fn event(kind: &str, object: &Value) -> Option<Vec<u8>> {
    let object = write::body(object)?;
    let event = write::event(kind, &object);
    let mut frame = u32::try_from(event.len()).ok()?.to_be_bytes().to_vec();
    frame.extend_from_slice(&event);
    Some(frame)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn round_trip(object: &Value) -> Value {
        decode(&encode(object).unwrap()).unwrap()
    }

    #[test]
    fn objects_survive_the_way_there_and_back() {
        for object in [
            json!({
                "apiVersion": "v1", "kind": "Secret",
                "metadata": {
                    "name": "a", "labels": { "x": "y" }, "creationTimestamp": "2024-01-02T03:04:05Z", "generation": 3,
                    "managedFields": [{ "manager": "m", "fieldsV1": { "f:data": { ".": {} } } }],
                },
                "data": { "k": "AAEC" }, "immutable": true,
            }),
            json!({
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "d" },
                "spec": {
                    "replicas": 2,
                    "strategy": { "rollingUpdate": { "maxSurge": "25%", "maxUnavailable": 1 } },
                    "template": { "spec": {
                        "volumes": [{ "name": "v", "emptyDir": {} }],
                        "containers": [{
                            "name": "c",
                            "resources": { "limits": { "cpu": "500m" }, "claims": [{ "name": "x" }] },
                            "livenessProbe": { "httpGet": { "port": 80 }, "periodSeconds": 5 },
                        }],
                    } },
                },
            }),
            json!({
                "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "l" },
                "spec": { "renewTime": "2024-01-02T03:04:05.000006Z" },
            }),
            json!({
                "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "code": 404,
                "details": { "causes": [{ "reason": "r", "message": "m", "field": "f" }] },
            }),
            json!({ "apiVersion": "v1", "kind": "ConfigMapList", "metadata": { "resourceVersion": "5" }, "items": [
                { "metadata": { "name": "a" }, "data": { "k": "v" } },
            ] }),
        ] {
            assert_eq!(round_trip(&object), object);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for body in [
            &b"not protobuf"[..],
            b"k8s\0\xff\xff\xff",
            b"",
            b"k8s\0\x0a\x05\x0a",
            b"k8s\0\x12\x02\x0a",
        ] {
            assert!(decode(body).is_err(), "{body:?}");
        }
    }

    #[test]
    fn custom_kinds_have_no_message() {
        assert_eq!(encode(&json!({ "apiVersion": "x.example/v1", "kind": "X" })), None);
    }
}
