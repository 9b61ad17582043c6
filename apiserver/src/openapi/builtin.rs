//! The documents of built-in kinds.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::{Map, Value};

use super::operations::{self, Patches};
use super::{Built, around};
use crate::schema::data::{self, Document};

/// The documents by their path below `/openapi/v3/`. Built when first asked for.
pub(super) fn documents() -> &'static BTreeMap<String, Built> {
    static DOCUMENTS: OnceLock<BTreeMap<String, Built>> = OnceLock::new();
    DOCUMENTS.get_or_init(|| {
        data::documents()
            .iter()
            .map(|document| (document.path.to_owned(), Built::new(&build(document))))
            .collect()
    })
}

fn build(document: &Document) -> Value {
    let schemas: Map<String, Value> = document
        .schemas
        .iter()
        .map(|(name, text)| (name.clone(), serde_json::from_str(text).unwrap_or_default()))
        .collect();
    let paths = operations::expand(&document.paths, &schemas, Patches::Strategic);
    around(paths, schemas)
}
