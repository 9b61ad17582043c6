//! Which cases are known to differ, and that their number only goes down.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use kubewright_apiserver::clock::Clock;
use kubewright_apiserver::server::Builder;

use crate::case::{self, Case};
use crate::client::TOKEN;
use crate::hooks::{AUTHORITY, Hooks};
use crate::replay;

/// How many differences of a case are shown.
const SHOWN: usize = 12;

/// Replays a file and compares the cases that differ with the list of those that are known to.
pub(crate) fn check(folder: &str, file: &str, builder: Builder) {
    let only = std::env::var("CONFORMANCE_ONLY").ok();
    let only = only
        .as_deref()
        .map(|pattern| regex::Regex::new(pattern).expect("CONFORMANCE_ONLY is a regex"));
    let cases: Vec<Case> = case::read(folder, file)
        .into_iter()
        .filter(|case| only.as_ref().is_none_or(|only| only.is_match(&case.name)))
        .collect();
    let results = replay_all(builder, &cases);
    let differing: BTreeSet<String> = results
        .iter()
        .filter(|(_, problems)| !problems.is_empty())
        .map(|(name, _)| name.clone())
        .collect();
    println!("{file:<28} {:>3} of {:>3}", cases.len() - differing.len(), cases.len());
    if only.is_some() {
        print!("{}", report(&results, |_| true));
        return;
    }
    if std::env::var_os("CONFORMANCE_UPDATE").is_some() {
        write_expected(file, &differing);
        return;
    }
    let expected = read_expected(file);
    let mut message = report(&results, |name| !expected.contains(name));
    let passing: Vec<&String> = expected.difference(&differing).collect();
    if !passing.is_empty() {
        let _ = writeln!(
            message,
            "listed in {} but as recorded: {passing:?}",
            expected_file(file).display()
        );
    }
    assert!(message.is_empty(), "\n{message}");
}

/// Checks that no file of the folders is forgotten.
pub(crate) fn check_that_all_are_listed(listed: &[&str]) {
    for folder in ["cases", "plugins", "webhooks"] {
        let entries = std::fs::read_dir(case::folder().join(folder)).expect("the recordings are there");
        for entry in entries {
            let name = entry
                .expect("the folder can be read")
                .file_name()
                .to_string_lossy()
                .into_owned();
            let file = name.trim_end_matches(".json");
            assert!(
                listed.contains(&format!("{folder}/{file}").as_str()),
                "{folder}/{name} is not replayed"
            );
        }
    }
}

/// Every case's name and differences.
fn replay_all(builder: Builder, cases: &[Case]) -> Vec<(String, Vec<String>)> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime can be built");
    runtime.block_on(async {
        let start = "2026-01-01T00:00:00Z".parse().expect("the time is a literal");
        let server = builder.token(TOKEN).clock(Clock::new(start, 1)).build();
        let hooks = Hooks::default();
        server.webhooks().route(AUTHORITY, Arc::new(hooks.clone()));
        let controllers = server.clone();
        let controllers = tokio::spawn(async move { controllers.run_controllers().await });
        let mut results = Vec::new();
        for (number, case) in cases.iter().enumerate() {
            results.push((case.name.clone(), replay::run(&server, &hooks, case, number).await));
        }
        controllers.abort();
        results
    })
}

fn report(results: &[(String, Vec<String>)], shown: impl Fn(&str) -> bool) -> String {
    let mut text = String::new();
    for (name, problems) in results
        .iter()
        .filter(|(name, problems)| !problems.is_empty() && shown(name))
    {
        let _ = writeln!(text, "✗ {name}");
        for problem in problems.iter().take(SHOWN) {
            let _ = writeln!(text, "    {problem}");
        }
        if problems.len() > SHOWN {
            let _ = writeln!(text, "    … and {} more", problems.len() - SHOWN);
        }
    }
    text
}

fn expected_file(file: &str) -> PathBuf {
    case::folder().join("expected").join(format!("{file}.txt"))
}

/// A file that does not exist lists nothing.
fn read_expected(file: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(expected_file(file)).unwrap_or_default();
    text.lines()
        .filter(|line| !line.is_empty())
        .map(ToOwned::to_owned)
        .collect()
}

fn write_expected(file: &str, differing: &BTreeSet<String>) {
    let path = expected_file(file);
    if differing.is_empty() {
        // Whether there was a list before does not matter.
        let _ = std::fs::remove_file(path);
        return;
    }
    let text: String = differing.iter().map(|name| format!("{name}\n")).collect();
    std::fs::write(&path, text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}
