//! Packs the table of protobuf messages into `data/protobuf.deflate`.
//!
//! `cargo run -p kubewright-apiserver --example pack_protobuf -- FILE` reads the recorded facts: `kinds` (which message
//! a kind is) and `messages` (number, wire type, JSON name, type, repetition of every field).

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::{env, fs};

use flate2::{Compression, write::DeflateEncoder};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let source = env::args().nth(1).ok_or("say which file holds the recorded messages")?;
    let recorded: Value = serde_json::from_slice(&fs::read(source)?)?;
    let kept = json!({ "kinds": recorded["kinds"], "messages": recorded["messages"] });
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/protobuf.deflate");
    let mut encoder = DeflateEncoder::new(fs::File::create(target)?, Compression::best());
    encoder.write_all(kept.to_string().as_bytes())?;
    encoder.finish()?;
    Ok(())
}
