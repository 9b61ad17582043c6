//! What a message proposes compiles when pasted.
//!
//! `programs.rs` holds the programs under `fail/` once more, as modules, each with one of the keys that its message says
//! to add. It is part of the ordinary build. `UPDATE_EXPECT=1` writes it anew from the messages.
#![allow(dead_code, reason = "nothing runs the programs")]

#[allow(
    clippy::needless_borrows_for_generic_args,
    reason = "the programs stand as in `fail/`, where nothing is asked but which right is missing"
)]
mod programs;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use expect_test::expect_file;
use kubewright::prelude::ObjectKey;

/// Stands where a message leaves the map function to the author.
fn nobody<K>(_: &K) -> Vec<ObjectKey> {
    Vec::new()
}

#[test]
fn every_key_that_a_message_says_to_add_is_pasted_into_its_program() {
    let fail = Path::new(env!("CARGO_MANIFEST_DIR")).join("fail");
    let mut names: Vec<String> = fs::read_dir(&fail)
        .expect("the folder of failing programs")
        .filter_map(|entry| {
            entry
                .ok()?
                .file_name()
                .into_string()
                .ok()?
                .strip_suffix(".stderr")
                .map(str::to_owned)
        })
        .collect();
    names.sort();
    let mut all = String::from("// Written by the test in main.rs.\n");
    for name in names {
        let told = fs::read_to_string(fail.join(format!("{name}.stderr"))).expect("a message");
        let program = fs::read_to_string(fail.join(format!("{name}.rs"))).expect("a program");
        for (i, key) in proposals(&told).iter().enumerate() {
            all += &module(&format!("{name}_{i}"), &pasted(&program, key));
        }
    }
    expect_file!["./programs.rs"].assert_eq(&all);
}

/// The keys that the first error says to add: `add `a`, `b` or `c``. Those of a helper's author are no keys.
fn proposals(told: &str) -> Vec<String> {
    let message = told.lines().next().unwrap_or_default();
    if !message.starts_with("error[E0277]: controller") && !message.contains("has a clean-up but no finalizer") {
        return Vec::new();
    }
    let Some((_, proposed)) = message.split_once(": add `") else {
        return Vec::new();
    };
    let alternatives = proposed.split("`, or use").next().unwrap_or_default();
    let keys = alternatives.split('`').step_by(2);
    keys.map(|key| key.replace("map = …", "map = crate::nobody"))
        .filter(|key| key.contains(['=', '(']) && !key.starts_with('#'))
        .collect()
}

fn pasted(program: &str, key: &str) -> String {
    program.replacen(")]\nstruct C;", &format!(", {key})]\nstruct C;"), 1)
}

fn module(name: &str, program: &str) -> String {
    let mut text = format!("\nmod {name} {{\n");
    for line in program.lines() {
        let indent = if line.is_empty() { "" } else { "    " };
        let _ = writeln!(text, "{indent}{line}");
    }
    text + "}\n"
}
