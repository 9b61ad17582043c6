//! What a helper says when what it waited for did not come.

use std::fmt::{self, Write as _};

use kubewright::Object;
use serde::Serialize;
use serde_json::Value;

use crate::cluster::TestCluster;
use crate::diff;
use crate::story::Story;

/// How much of the story and of the requests a failure shows.
const LINES: usize = 40;

/// The message of a failed wait: what was expected, how things are instead, what the operators did last.
pub(crate) fn message(cluster: &TestCluster, expected: &str, instead: &str) -> String {
    let mut text = format!("{expected}\n{instead}");
    cluster.story().is_told();
    let story = cluster.story().tail(LINES);
    if story.is_empty() {
        text.push_str("\nnothing happened\n");
    } else {
        let _ = write!(text, "\nwhat happened last:\n{story}");
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

/// Prints the last lines of the story where the test panics without having told them; to be called when its cluster
/// ends.
pub(crate) fn tell_at_the_end(story: &Story) {
    if std::thread::panicking() && !story.is_told() {
        eprintln!("\nwhat happened last:\n{}", story.tail(LINES));
    }
}

/// What was seen of an object while waiting: the last two states of it that differed.
#[derive(Default)]
pub(crate) struct Seen {
    before: Option<Value>,
    last: Option<Value>,
    version: Option<String>,
}

impl Seen {
    /// Takes a look in. What is the same as before costs nothing.
    pub(crate) fn look<K: Object>(&mut self, object: Option<&K>) {
        let version = object.and_then(|object| object.meta().resource_version.clone());
        if version == self.version && self.last.is_some() == object.is_some() {
            return;
        }
        self.version = version;
        self.before = self.last.take();
        self.last = object.map(shown);
    }

    /// The object as it was last.
    pub(crate) fn last(&self) -> Option<&Value> {
        self.last.as_ref()
    }
}

/// The object as it is, and what changed in it last.
impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(last) = &self.last else {
            return f.write_str("\nthere is no such object\n");
        };
        writeln!(f, "\nthe object as it is:\n{last:#}")?;
        if let Some(before) = &self.before {
            let differs = diff::lines(&format!("{before:#}"), &format!("{last:#}"));
            write!(f, "\nwhat changed in it last:\n{differs}")?;
        }
        Ok(())
    }
}

/// An object without what hides the rest.
fn shown<T: Serialize>(object: &T) -> Value {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    value
}
