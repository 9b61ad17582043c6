//! OpenAPI: `/openapi/v3` with one document per group version, and `/openapi/v2` with everything in one.
//!
//! The documents of built-in kinds follow from the recorded schemas, those of custom resources from the stored
//! definitions. They are good enough for `kubectl explain`, for client-side apply and for tools that check objects
//! against them.

mod builtin;
mod custom;
mod operations;
mod texts;
mod v2;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::access::Source;
use crate::discovery::{Answer, Ask, hash};

const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";
const INDEX: &str = "/openapi/v3";

/// The OpenAPI documents of one server. Clones share what they built.
#[derive(Clone)]
pub struct OpenApi(Arc<Inner>);

struct Inner {
    source: Box<dyn Source>,
    custom: RwLock<(u64, Arc<Custom>)>,
}

/// What follows from the stored definitions.
#[derive(Default)]
struct Custom {
    documents: BTreeMap<String, Built>,
    v2: OnceLock<Bytes>,
}

/// A document ready to be sent.
struct Built {
    hash: String,
    body: Bytes,
}

impl Built {
    fn new(document: &Value) -> Self {
        let body = document.to_string();
        Self {
            hash: hash(body.as_bytes()),
            body: body.into(),
        }
    }
}

/// How clients ask for version 2 in protobuf, and the type that it is answered in.
const V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2";
const V2_PROTOBUF_ANSWER: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
/// A document in that encoding that says its version (`swagger: "2.0"`) and defines nothing: clients that fall back on
/// it for kinds without a version 3 document leave the validation to the server.
const V2_WITHOUT_DEFINITIONS: &[u8] = b"\x0a\x032.0";

impl OpenApi {
    /// The documents of the built-in kinds and of the definitions in `source`.
    pub fn new(source: impl Source + 'static) -> Self {
        Self(Arc::new(Inner {
            source: Box::new(source),
            custom: RwLock::default(),
        }))
    }

    /// Answers a path below `/openapi`; none for a path that is not below it.
    #[must_use]
    pub fn respond(&self, ask: &Ask<'_>) -> Option<Answer> {
        let path = ask.path.strip_suffix('/').unwrap_or(ask.path);
        if path == "/openapi/v2" {
            if ask.accept.contains(V2_PROTOBUF) {
                return Some(Answer::new(200, V2_PROTOBUF_ANSWER, V2_WITHOUT_DEFINITIONS));
            }
            return Some(self.v2());
        }
        if path == INDEX {
            return Some(self.index());
        }
        let name = path.strip_prefix(INDEX)?.strip_prefix('/')?;
        let asked = ask.query.split('&').find_map(|pair| pair.strip_prefix("hash="));
        let custom = self.custom();
        let built = builtin::documents().get(name).or_else(|| custom.documents.get(name));
        Some(built.map_or_else(
            || Answer::new(404, "", Bytes::new()),
            |built| document(name, built, asked),
        ))
    }

    fn index(&self) -> Answer {
        let custom = self.custom();
        let all = builtin::documents().iter().chain(&custom.documents);
        let paths: Map<String, Value> = all
            .map(|(name, built)| (name.clone(), json!({ "serverRelativeURL": url(name, built) })))
            .collect();
        // The real server serves the index as a file, and so under this type.
        Answer::new(200, "text/plain; charset=utf-8", json!({ "paths": paths }).to_string())
    }

    fn v2(&self) -> Answer {
        let custom = self.custom();
        let body = custom.v2.get_or_init(|| {
            let documents = builtin::documents().values().chain(custom.documents.values());
            v2::document(documents.filter_map(|built| serde_json::from_slice(&built.body).ok()))
                .to_string()
                .into()
        });
        Answer::new(200, "application/json", body.clone())
    }

    fn custom(&self) -> Arc<Custom> {
        let now = self.0.source.changed_at(DEFINITIONS);
        {
            let built = self.0.custom.read().unwrap_or_else(PoisonError::into_inner);
            if built.0 == now {
                return Arc::clone(&built.1);
            }
        }
        let documents = custom::documents(&self.0.source.list(DEFINITIONS));
        let documents = documents
            .iter()
            .map(|(name, document)| (name.clone(), Built::new(document)))
            .collect();
        let custom = Arc::new(Custom {
            documents,
            v2: OnceLock::new(),
        });
        *self.0.custom.write().unwrap_or_else(PoisonError::into_inner) = (now, Arc::clone(&custom));
        custom
    }
}

impl std::fmt::Debug for OpenApi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenApi").finish_non_exhaustive()
    }
}

/// The document; to be kept for ever when it is asked for by its hash, a redirect when the hash is another's.
fn document(name: &str, built: &Built, asked: Option<&str>) -> Answer {
    let mut answer = match asked {
        Some(asked) if asked != built.hash => {
            let mut redirect = Answer::new(301, "", Bytes::new());
            redirect.headers.push(("Location", url(name, built)));
            redirect
        }
        _ => Answer::new(200, "application/json", built.body.clone()),
    };
    let caching = if asked == Some(&built.hash) {
        "public, immutable"
    } else {
        "no-cache, private"
    };
    answer.headers.push(("Cache-Control", caching.to_owned()));
    answer.headers.push(("ETag", format!("\"{}\"", built.hash)));
    answer.headers.push(("Vary", "Accept".to_owned()));
    answer
}

fn url(name: &str, built: &Built) -> String {
    format!("{INDEX}/{name}?hash={}", built.hash)
}

/// A document around paths and schemas.
#[allow(clippy::needless_pass_by_value, reason = "both become part of the document")]
fn around(paths: Value, schemas: Map<String, Value>) -> Value {
    json!({
        "openapi": "3.0.0",
        "info": { "title": "Kubernetes", "version": format!("v{}", crate::discovery::RELEASE) },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "BearerToken": {
                    "type": "apiKey",
                    "name": "authorization",
                    "in": "header",
                    "description": "Bearer Token authentication",
                },
            },
        },
    })
}

/// Where a document refers to a schema.
fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::tests::Objects;

    fn get(openapi: &OpenApi, path: &str, query: &str) -> Answer {
        openapi
            .respond(&Ask {
                path,
                query,
                ..Ask::default()
            })
            .unwrap()
    }

    fn body(answer: &Answer) -> Value {
        serde_json::from_slice(&answer.body).unwrap()
    }

    fn with_doors() -> (Objects, OpenApi) {
        let objects = Objects::default();
        objects.put(
            DEFINITIONS,
            json!({
                "metadata": { "name": "doors.x.example" },
                "spec": {
                    "group": "x.example",
                    "scope": "Namespaced",
                    "names": { "plural": "doors", "singular": "door", "kind": "Door", "listKind": "DoorList" },
                    "versions": [{
                        "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                        "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": {
                            "type": "object",
                            "properties": { "port": { "x-kubernetes-int-or-string": true } }
                        } } } }
                    }]
                },
                "status": {
                    "acceptedNames": { "plural": "doors", "kind": "Door", "listKind": "DoorList" },
                    "conditions": [{ "type": "Established", "status": "True" }]
                }
            }),
        );
        (objects.clone(), OpenApi::new(objects))
    }

    #[test]
    fn the_index_leads_to_documents_by_their_hash() {
        let openapi = OpenApi::new(Objects::default());
        let index = body(&get(&openapi, "/openapi/v3", ""));
        let url = index["paths"]["apis/apps/v1"]["serverRelativeURL"].as_str().unwrap();
        let (path, query) = url.split_once('?').unwrap();
        let apps = get(&openapi, path, query);
        assert_eq!((apps.status, apps.headers[0].1.as_str()), (200, "public, immutable"));
        let wrong = get(&openapi, path, "hash=WRONG");
        assert_eq!(
            (wrong.status, wrong.headers[0].1.as_str(), wrong.body.len()),
            (301, url, 0)
        );
        assert_eq!(get(&openapi, "/openapi/v3/apis/none/v1", "").status, 404);
    }

    #[test]
    fn operations_tell_their_kind_and_how_they_are_patched() {
        let openapi = OpenApi::new(Objects::default());
        let apps = body(&get(&openapi, "/openapi/v3/apis/apps/v1", ""));
        let patch = &apps["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
        assert_eq!(patch["x-kubernetes-group-version-kind"]["kind"], "Deployment");
        assert!(!patch["requestBody"]["content"]["application/strategic-merge-patch+json"].is_null());
        assert!(
            patch["parameters"]
                .as_array()
                .unwrap()
                .iter()
                .any(|p| p["name"] == "fieldValidation")
        );
    }

    #[test]
    fn a_definition_brings_its_document_and_takes_it_along() {
        let (objects, openapi) = with_doors();
        let doors = body(&get(&openapi, "/openapi/v3/apis/x.example/v1", ""));
        let schema = &doors["components"]["schemas"]["example.x.v1.Door"];
        assert_eq!(
            schema["properties"]["spec"]["properties"]["port"]["anyOf"][1]["type"],
            "string"
        );
        let patch = &doors["paths"]["/apis/x.example/v1/namespaces/{namespace}/doors/{name}"]["patch"];
        assert!(patch["requestBody"]["content"]["application/strategic-merge-patch+json"].is_null());
        assert!(!doors["paths"]["/apis/x.example/v1/namespaces/{namespace}/doors/{name}/status"]["put"].is_null());
        objects.remove(DEFINITIONS, "", "doors.x.example");
        assert_eq!(objects.list(DEFINITIONS).len(), 0);
        assert_eq!(get(&openapi, "/openapi/v3/apis/x.example/v1", "").status, 404);
    }

    #[test]
    fn every_reference_in_a_document_resolves() {
        let (_, openapi) = with_doors();
        for path in ["api/v1", "apis/apps/v1", "apis/x.example/v1"] {
            let document = get(&openapi, &format!("/openapi/v3/{path}"), "");
            let parsed = body(&document);
            let text = String::from_utf8(document.body.to_vec()).unwrap();
            for part in text.split("#/components/schemas/").skip(1) {
                let name = part.split('"').next().unwrap();
                assert!(!parsed["components"]["schemas"][name].is_null(), "{path} names {name}");
            }
        }
    }

    #[test]
    fn version_two_has_everything_in_one_document() {
        let (_, openapi) = with_doors();
        let all = body(&get(&openapi, "/openapi/v2", ""));
        assert_eq!(all["swagger"], "2.0");
        let metadata = &all["definitions"]["io.k8s.api.core.v1.ConfigMap"]["properties"]["metadata"];
        assert_eq!(
            metadata["$ref"],
            "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
        );
        assert!(!all["definitions"]["example.x.v1.Door"].is_null());
    }
}
