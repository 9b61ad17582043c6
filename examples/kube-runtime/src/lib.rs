//! Copies the text of a Note into a ConfigMap. On kube-runtime, without a line of Kubewright.
//!
//! It is here for its tests: the testkit needs nothing of an operator but that it takes a `kube::Client`.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, CustomResource, Error, Resource as _, ResourceExt as _};
use kube_runtime::Controller;
use kube_runtime::controller::Action;
use kube_runtime::watcher::Config;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A text.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kube(group = "demo.dev", version = "v1", kind = "Note", namespaced)]
pub struct NoteSpec {
    /// The text.
    pub text: String,
}

/// Runs the operator until it is dropped.
pub async fn operate(client: Client) {
    let notes: Api<Note> = Api::all(client.clone());
    let maps: Api<ConfigMap> = Api::all(client.clone());
    Controller::new(notes, Config::default())
        .owns(maps, Config::default())
        .run(reconcile, try_again, Arc::new(client))
        .for_each(|_| std::future::ready(()))
        .await;
}

async fn reconcile(note: Arc<Note>, client: Arc<Client>) -> Result<Action, Error> {
    let maps: Api<ConfigMap> = Api::namespaced((*client).clone(), &note.namespace().unwrap_or_default());
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": note.name_any(), "ownerReferences": [note.controller_owner_ref(&())] },
        "data": { "text": note.spec.text },
    });
    let apply = PatchParams::apply("note-operator").force();
    maps.patch(&note.name_any(), &apply, &Patch::Apply(map)).await?;
    Ok(Action::await_change())
}

fn try_again(_: Arc<Note>, _: &Error, _: Arc<Client>) -> Action {
    Action::requeue(Duration::from_secs(5))
}
