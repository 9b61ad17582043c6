//! What all three controllers reconcile: a note, whose text goes into a ConfigMap and whose length into its status.

use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::{CustomResource, kube};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Where the notes are.
pub(crate) const NOTES: &str = "/apis/bench.dev/v1/namespaces/default/notes";
/// The annotation that an event changes: when it was sent, in nanoseconds of the wall clock.
pub(crate) const SENT: &str = "bench.dev/sent";

/// A text to keep.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kube(
    group = "bench.dev",
    version = "v1",
    kind = "Note",
    namespaced,
    status = "NoteStatus"
)]
pub(crate) struct NoteSpec {
    pub(crate) text: String,
    /// Makes an object as long as those of real operators.
    pub(crate) more: Vec<String>,
}

/// What became of it.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
pub(crate) struct NoteStatus {
    pub(crate) length: usize,
}

/// The definition, as the server takes it.
pub(crate) fn definition() -> Value {
    use kube::CustomResourceExt as _;
    let mut definition = json!(Note::crd());
    if let Some(object) = definition.as_object_mut() {
        object.remove("status");
    }
    definition
}

/// One note of about 1 KB.
pub(crate) fn note(number: usize) -> Value {
    let more: Vec<String> = (0..12)
        .map(|line| format!("line {line} of what note {number} says, which is more than a word"))
        .collect();
    json!({
        "apiVersion": "bench.dev/v1", "kind": "Note",
        "metadata": { "name": name(number), "namespace": "default", "labels": { "app.kubernetes.io/name": "note" } },
        "spec": { "text": format!("note {number}"), "more": more },
    })
}

/// The name of a note.
pub(crate) fn name(number: usize) -> String {
    format!("note-{number:05}")
}

/// The child that both Rust controllers want, without what makes it owned.
pub(crate) fn config_map(name: &str, note: &NoteSpec) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map.metadata.namespace = Some("default".to_owned());
    map.metadata.labels = Some([("app.kubernetes.io/name".to_owned(), "note".to_owned())].into());
    map.data = Some(
        [
            ("text".to_owned(), note.text.clone()),
            ("more".to_owned(), note.more.join("\n")),
        ]
        .into(),
    );
    map
}

/// The status that both want.
pub(crate) fn status(note: &NoteSpec) -> NoteStatus {
    NoteStatus {
        length: note.text.len(),
    }
}
