//! The controller by kube-runtime, as its documentation has it.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use http::{HeaderValue, header};
use kube_runtime::controller::{Action, Config as ControllerConfig};
use kube_runtime::{Controller, watcher};
use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::kube::api::{Patch, PatchParams};
use kubewright::kube::client::ClientBuilder;
use kubewright::kube::{Api, Client, Config, Error, Resource as _};
use serde_json::json;

use super::object::{Note, config_map, status};
use super::work::Ledger;
use crate::Failure;

struct Shared {
    client: Client,
    ledger: &'static Ledger,
}

async fn reconcile(note: Arc<Note>, shared: Arc<Shared>) -> Result<Action, Error> {
    let name = note.metadata.name.as_deref().unwrap_or_default();
    let namespace = note.metadata.namespace.as_deref().unwrap_or_default();
    shared.ledger.begins(name, note.metadata.annotations.as_ref());
    if shared.ledger.writes() {
        let apply = PatchParams::apply("peer").force();
        let mut map = config_map(name, &note.spec);
        map.metadata.owner_references = note.controller_owner_ref(&()).map(|owner| vec![owner]);
        let maps = Api::<ConfigMap>::namespaced(shared.client.clone(), namespace);
        maps.patch(name, &apply, &Patch::Apply(&map)).await?;
        let status = json!({
            "apiVersion": "bench.dev/v1", "kind": "Note", "metadata": { "name": name }, "status": status(&note.spec),
        });
        let notes = Api::<Note>::namespaced(shared.client.clone(), namespace);
        notes.patch_status(name, &apply, &Patch::Apply(&status)).await?;
    }
    Ok(Action::await_change())
}

/// Starts to reconcile; the task runs until the process ends.
///
/// # Errors
/// When there is no client for the kubeconfig.
pub(crate) fn start(mut config: Config, workers: usize, ledger: &'static Ledger) -> Result<(), Failure> {
    config
        .headers
        .push((header::USER_AGENT, HeaderValue::from_static("peer/1")));
    let client = ClientBuilder::try_from(config)?.build();
    let workers = u16::try_from(workers)?;
    let controller = Controller::new(Api::<Note>::all(client.clone()), watcher::Config::default())
        .owns(Api::<ConfigMap>::all(client.clone()), watcher::Config::default())
        .with_config(ControllerConfig::default().concurrency(workers));
    let again = |_: Arc<Note>, _: &Error, _: Arc<Shared>| Action::requeue(Duration::from_secs(1));
    let reconciles = controller.run(reconcile, again, Arc::new(Shared { client, ledger }));
    tokio::spawn(reconciles.for_each(|_| async {}));
    Ok(())
}
