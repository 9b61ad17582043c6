//! The recorded OpenAPI documents and discovery answers, packed into the binary.
//!
//! `examples/pack_openapi.rs` writes the files. Each is inflated when first needed, and a definition is parsed when
//! first looked at, so that a server that never sees a kind never pays for it.

use std::io::Read;
use std::sync::OnceLock;

use flate2::read::DeflateDecoder;
use serde_json::Value;

use super::node::Node;
use super::parse;

static SCHEMAS: &[u8] = include_bytes!("../../data/schemas.deflate");
static DOCUMENTS: &[u8] = include_bytes!("../../data/documents.deflate");
static DISCOVERY: &[u8] = include_bytes!("../../data/discovery.deflate");

/// One recorded definition, such as `io.k8s.api.apps.v1.Deployment`.
pub struct Definition {
    /// Its full name.
    pub name: &'static str,
    /// Its schema, as recorded.
    pub json: &'static str,
    node: OnceLock<Node>,
}

impl Definition {
    /// The definition, parsed.
    pub fn node(&'static self) -> &'static Node {
        self.node.get_or_init(|| parse::definition(self))
    }
}

/// One recorded document of `/openapi/v3`.
pub struct Document {
    /// Its path below `/openapi/v3/`, such as `apis/apps/v1`.
    pub path: &'static str,
    /// `paths`: URL → method → action and kind, as recorded.
    pub paths: Value,
    /// Its definitions by full name, each with its schema as JSON text.
    pub schemas: Vec<(String, String)>,
}

/// The definition of that full name.
#[must_use]
pub fn definition(name: &str) -> Option<&'static Definition> {
    let all = definitions();
    all.binary_search_by(|d| d.name.cmp(name)).ok().map(|i| &all[i])
}

/// The definition of a built-in kind.
#[must_use]
pub fn definition_of(group: &str, version: &str, kind: &str) -> Option<&'static Definition> {
    let prefixes: &[&str] = match group {
        "" => &["io.k8s.api.core."],
        "apiextensions.k8s.io" => &["io.k8s.apiextensions-apiserver.pkg.apis.apiextensions."],
        "apiregistration.k8s.io" => &["io.k8s.kube-aggregator.pkg.apis.apiregistration."],
        "meta.k8s.io" => &["io.k8s.apimachinery.pkg.apis.meta."],
        _ => {
            let short = group.split('.').next().unwrap_or(group);
            return definition(&format!("io.k8s.api.{short}.{version}.{kind}"));
        }
    };
    prefixes
        .iter()
        .find_map(|prefix| definition(&format!("{prefix}{version}.{kind}")))
}

/// The recorded documents of `/openapi/v3`, by path.
#[must_use]
pub fn documents() -> Vec<Document> {
    let text = inflate(DOCUMENTS);
    let text: &'static str = Box::leak(text.into_boxed_str());
    lines(text)
        .map(|(path, json)| {
            let mut recorded: Value = serde_json::from_str(json).unwrap_or_default();
            let own = recorded["own"].take();
            let schemas = recorded["schemas"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str);
            let schemas = schemas
                .filter_map(|name| {
                    let schema = match own.get(name) {
                        Some(own) => own.to_string(),
                        None => definition(name)?.json.to_owned(),
                    };
                    Some((name.to_owned(), schema))
                })
                .collect();
            Document {
                path,
                paths: recorded["paths"].take(),
                schemas,
            }
        })
        .collect()
}

/// The recorded discovery answers: `/api`, `/apis`, `/version` and every group version, by path.
#[must_use]
pub fn discovery() -> &'static [(&'static str, Value)] {
    static PARSED: OnceLock<Vec<(&'static str, Value)>> = OnceLock::new();
    static TEXT: OnceLock<String> = OnceLock::new();
    PARSED.get_or_init(|| {
        lines(TEXT.get_or_init(|| inflate(DISCOVERY)))
            .map(|(path, json)| (path, serde_json::from_str(json).unwrap_or_default()))
            .collect()
    })
}

fn definitions() -> &'static [Definition] {
    static TABLE: OnceLock<Vec<Definition>> = OnceLock::new();
    static TEXT: OnceLock<String> = OnceLock::new();
    TABLE.get_or_init(|| {
        lines(TEXT.get_or_init(|| inflate(SCHEMAS)))
            .map(|(name, json)| Definition {
                name,
                json,
                node: OnceLock::new(),
            })
            .collect()
    })
}

fn lines(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    text.lines().filter_map(|line| line.split_once(' '))
}

fn inflate(packed: &[u8]) -> String {
    let mut text = String::new();
    // The packed files are part of the binary; a damaged one shows in the tests below, not to a user.
    let _ = DeflateDecoder::new(packed).read_to_string(&mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_between_definitions_resolves() {
        for definition in definitions() {
            for part in definition.json.split("#/components/schemas/").skip(1) {
                let name = part.split('"').next().unwrap_or_default();
                assert!(super::definition(name).is_some(), "{} names {name}", definition.name);
            }
        }
    }

    #[test]
    fn definitions_are_found_by_group_version_and_kind() {
        for (group, version, kind) in [
            ("", "v1", "Pod"),
            ("apps", "v1", "Deployment"),
            ("rbac.authorization.k8s.io", "v1", "Role"),
            ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
            ("apiregistration.k8s.io", "v1", "APIService"),
        ] {
            assert!(
                definition_of(group, version, kind).is_some(),
                "{group}/{version} {kind}"
            );
        }
    }

    #[test]
    fn documents_hold_their_paths_and_their_definitions() {
        let documents = documents();
        let apps = documents.iter().find(|d| d.path == "apis/apps/v1").unwrap();
        assert!(apps.paths.get("/apis/apps/v1/deployments").is_some());
        assert!(
            apps.schemas
                .iter()
                .any(|(name, _)| name == "io.k8s.api.apps.v1.Deployment")
        );
    }
}
