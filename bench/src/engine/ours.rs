//! The controller by Kubewright.

use std::sync::{Arc, OnceLock};

use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::kube::Config;
use kubewright::kube::client::ClientBuilder;
use kubewright::manager::{Options as ManagerOptions, Shutdown};
use kubewright::{Action, Context, Declaration, Declare, Manager, Owns, Reconciler, Result};

use super::object::{Note, config_map, status};
use super::work::Ledger;
use crate::Failure;

struct Notes(&'static Ledger);

/// A declaration is a function without arguments.
static WORKERS: OnceLock<usize> = OnceLock::new();

impl Declare for Notes {
    type Primary = Note;

    fn declare(d: Declaration<Self>) -> Declaration<Self> {
        let workers = WORKERS.get().copied().unwrap_or(1);
        d.for_::<Note>().owns::<ConfigMap>().name("notes").workers(workers)
    }
}

impl Owns<ConfigMap> for Notes {}

impl Reconciler for Notes {
    async fn reconcile(&self, note: Arc<Note>, cx: &Context<Self>) -> Result<Action> {
        let name = note.metadata.name.as_deref().unwrap_or_default();
        self.0.begins(name, note.metadata.annotations.as_ref());
        if self.0.writes() {
            cx.apply(config_map(name, &note.spec)).await?;
            cx.apply_status(status(&note.spec)).await?;
        }
        Ok(Action::await_change())
    }
}

/// Starts to reconcile; the task runs until the process ends.
///
/// # Errors
/// When there is no client for the kubeconfig.
pub(crate) fn start(mut config: Config, workers: usize, ledger: &'static Ledger) -> std::result::Result<(), Failure> {
    let _ = WORKERS.set(workers);
    config.default_retry = false;
    let client = ClientBuilder::try_from(config)?.build();
    let manager = Manager::new("ours").controller(Notes(ledger));
    tokio::spawn(async move {
        if let Err(error) = manager.run(client, ManagerOptions::default(), Shutdown::new()).await {
            eprintln!("error: {error}");
            std::process::exit(1);
        }
    });
    Ok(())
}
