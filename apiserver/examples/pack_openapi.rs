//! Packs recorded OpenAPI v3 documents and discovery into the files under `data/`.
//!
//! `cargo run -p kubewright-apiserver --example pack_openapi -- DIR` reads `DIR/discovery.json` and every other
//! `DIR/*.json` (one document each, named after its path: `apis_apps_v1.json`), and writes:
//!
//! - `schemas.deflate`: one line `name<space>JSON` per definition, sorted by name;
//! - `documents.deflate`: one line `path<space>JSON` per document: its paths, the names of its definitions, and in
//!   full those that differ from document to document;
//! - `discovery.deflate`: one line `path<space>JSON` per recorded answer.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::{Compression, write::DeflateEncoder};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let source = env::args()
        .nth(1)
        .map(PathBuf::from)
        .ok_or("say which directory holds the recorded documents")?;
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let (schemas, documents) = read_documents(&source)?;
    write(&target.join("schemas.deflate"), &schemas)?;
    write(&target.join("documents.deflate"), &documents)?;
    let discovery: BTreeMap<String, Value> = serde_json::from_slice(&fs::read(source.join("discovery.json"))?)?;
    write(&target.join("discovery.deflate"), &discovery)
}

type Lines = BTreeMap<String, Value>;

fn read_documents(source: &Path) -> Result<(Lines, Lines), Box<dyn Error>> {
    let mut files: Vec<PathBuf> = fs::read_dir(source)?
        .map(|e| e.map(|e| e.path()))
        .collect::<Result<_, _>>()?;
    files.sort();
    let mut schemas = Lines::new();
    let mut documents = Lines::new();
    for file in files {
        let name = file.file_stem().and_then(|n| n.to_str()).unwrap_or_default();
        if name == "discovery" || file.extension().is_none_or(|e| e != "json") {
            continue;
        }
        let mut document: Value = serde_json::from_slice(&fs::read(&file)?)?;
        let mut names = Vec::new();
        let mut own = serde_json::Map::new();
        let definitions = document["schemas"]
            .as_object_mut()
            .map(std::mem::take)
            .unwrap_or_default();
        for (definition, schema) in definitions {
            names.push(definition.clone());
            if *schemas.entry(definition.clone()).or_insert_with(|| schema.clone()) != schema {
                own.insert(definition, schema);
            }
        }
        let entry = json!({ "paths": document["paths"].take(), "schemas": names, "own": own });
        documents.insert(name.replace('_', "/"), entry);
    }
    Ok((schemas, documents))
}

fn write(file: &Path, lines: &Lines) -> Result<(), Box<dyn Error>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    for (key, value) in lines {
        writeln!(encoder, "{key} {value}")?;
    }
    fs::write(file, encoder.finish()?)?;
    Ok(())
}
