//! What an editor offers inside the attribute, asked of rust-analyzer over its protocol.
//!
//! rust-analyzer comes with the toolchain (`rustup component add rust-analyzer`). Where it is missing the check prints
//! `SKIPPED` and why.

mod editor;

use editor::Editor;

/// Each place that a person completes at; `|` is the caret.
const PLACES: &[(&str, &str, &[&str])] = &[
    (
        "at an empty position",
        "#[controller(for = App, |)]\nstruct C;",
        &[
            "for",
            "owns",
            "watches",
            "workers",
            "finalizer",
            "resync",
            "needs_leader",
        ],
    ),
    (
        "as the only argument, without `for`",
        "#[controller(|)]\nstruct C;",
        &["for", "owns", "watches"],
    ),
    (
        "after a prefix",
        "#[controller(for = App, wor|)]\nstruct C;",
        &["workers"],
    ),
    (
        "after a prefix, without `for`",
        "#[controller(ow|)]\nstruct C;",
        &["owns"],
    ),
    (
        "between two arguments",
        "#[controller(for = App, fin|, workers = 4)]\nstruct C;",
        &["finalizer"],
    ),
    (
        "inside `owns(K, …)`",
        "#[controller(for = App, owns(Secret, |))]\nstruct C;",
        &["predicate", "metadata_only", "adopt", "labels", "fields"],
    ),
    (
        "inside `watches(K, …)`, after a prefix",
        "#[controller(for = App, watches(Secret, ma|))]\nstruct C;",
        &["map"],
    ),
    (
        "above a struct that is not finished",
        "#[controller(for = App, |)]\nstruct C {\n    client: Option<",
        &["owns", "workers"],
    ),
    (
        "in an attribute that is wrong elsewhere",
        "#[controller(for = App, workers = \"four\", owns = , res|)]\nstruct C;",
        &["resync"],
    ),
    (
        "inside `rbac(…)`",
        "#[controller(for = App, rbac(group = \"apps\", |))]\nstruct C;",
        &["group", "resources", "verbs", "names", "urls"],
    ),
    (
        "inside `backoff(…)`",
        "#[controller(for = App, backoff(|))]\nstruct C;",
        &["min", "max"],
    ),
    (
        "inside `rate_limit(…)`, after a prefix",
        "#[controller(for = App, rate_limit(per|))]\nstruct C;",
        &["per_second"],
    ),
    (
        "in the attribute of a test",
        "#[kubewright_testkit::test(|)]\nasync fn t(cluster: kubewright_testkit::TestCluster) {}",
        &["seed", "repeat", "latency", "now", "timeout"],
    ),
    (
        "in the attribute of a test, after a prefix",
        "#[kubewright_testkit::test(seed = 7, rep|)]\nasync fn t(cluster: kubewright_testkit::TestCluster) {}",
        &["repeat"],
    ),
];

#[test]
fn the_editor_completes_each_key_of_the_attribute_by_its_bare_name() {
    let mut editor = match Editor::start() {
        Ok(editor) => editor,
        Err(why) => {
            println!("SKIPPED: completion is not checked: {why}");
            return;
        }
    };
    let mut wrong = Vec::new();
    for (place, text, wanted) in PLACES {
        let offered = editor.complete(text);
        for key in *wanted {
            match offered.iter().find(|item| item.label == *key) {
                None => wrong.push(format!("{place}: `{key}` is not among {:?}", labels(&offered))),
                // No editor inserts a keyword bare where a name belongs; the attribute takes both.
                Some(item) if *key == "for" && item.inserted == "r#for" => {}
                Some(item) if item.inserted != *key => {
                    wrong.push(format!("{place}: `{key}` inserts {:?}", item.inserted));
                }
                Some(item) if item.documentation.is_empty() => {
                    wrong.push(format!("{place}: `{key}` is not explained"));
                }
                Some(_) => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn labels(items: &[editor::Item]) -> Vec<&str> {
    items.iter().map(|item| item.label.as_str()).take(40).collect()
}
