//! What a helper says when what it waited for did not come.

use std::fmt::Write as _;

use serde::Serialize;

use crate::cluster::TestCluster;

/// How much of the story and of the requests a failure shows.
const LINES: usize = 25;

/// The message of a failed wait: what was expected, how things are instead, what the operators did last.
pub(crate) fn message(cluster: &TestCluster, expected: &str, instead: &str) -> String {
    let mut text = format!("{expected}\n{instead}");
    let story = cluster.story().tail(LINES);
    if story.is_empty() {
        text.push_str("\nno reconcile ran\n");
    } else {
        let _ = write!(text, "\nthe last reconciles:\n{story}");
    }
    let requests = cluster.requests().refused();
    if !requests.is_empty() {
        let skipped = requests.count().saturating_sub(LINES);
        let _ = write!(
            text,
            "\nthe last requests that the server refused:\n{}",
            requests.since(skipped)
        );
    }
    text
}

/// The object as it is, without what hides the rest.
pub(crate) fn object<T: Serialize>(object: Option<&T>) -> String {
    let Some(object) = object else {
        return "\nthere is no such object\n".to_owned();
    };
    let mut value = serde_json::to_value(object).unwrap_or_default();
    if let Some(metadata) = value.get_mut("metadata").and_then(|m| m.as_object_mut()) {
        metadata.remove("managedFields");
    }
    format!("\nthe object as it is:\n{value:#}\n")
}
