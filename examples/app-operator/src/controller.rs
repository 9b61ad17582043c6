//! Brings the cluster in line with each App.

use kubewright::conditions::Conditions;
use kubewright::events::EventType;
use kubewright::k8s_openapi::jiff::Timestamp;
use kubewright::prelude::*;

use crate::api::{App, AppStatus};
use crate::children;

/// How long a name that is taken is left alone: nobody tells us when a stranger's object goes.
const NAME_TAKEN: Duration = Duration::from_secs(60);

/// How often a deletion looks again, should no change wake it.
const DRAINING: Duration = Duration::from_secs(5);

/// The controller of Apps.
#[controller(
    for = App,
    owns = [ConfigMap, Deployment, Service, Ingress],
    workers = 4,
    finalizer = "demo.dev/drain"
)]
#[derive(Clone, Copy, Debug)]
pub struct AppController;

impl Reconciler for AppController {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        match apply(&app, cx).await {
            Ok(deployment) => {
                cx.apply_status(status(&app, &deployment, cx.now())).await?;
                Ok(Action::await_change()) // runs again when the App or one of its children changes
            }
            // Somebody else's object has the name. It is theirs: say so, and let the other Apps go on.
            Err(Error::NotOwned(taken)) => {
                cx.event(EventType::Warning, "NameTaken", taken.to_string());
                cx.apply_status(name_taken(&app, &taken.to_string(), cx.now())).await?;
                Ok(Action::requeue(NAME_TAKEN))
            }
            Err(error) => Err(error),
        }
    }
}

impl Cleanup for AppController {
    /// Takes the App out of service before its pods go. Garbage collection alone would remove both at once, and
    /// requests on the way would fail.
    async fn cleanup(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        let out_of_service = cx.children_gone::<Ingress>().await? && cx.children_gone::<Service>().await?;
        if !out_of_service || !cx.children_gone::<Deployment>().await? {
            return Ok(Action::requeue(DRAINING));
        }
        cx.event(EventType::Normal, "Drained", "out of service, then stopped");
        Ok(Action::await_change())
    }
}

/// Writes what the App asks for; what it no longer asks for goes.
async fn apply(app: &App, cx: &Context<AppController>) -> Result<Arc<Deployment>> {
    cx.apply(children::config_map(app)).await?;
    let deployment = cx.apply(children::deployment(app)).await?;
    cx.apply(children::service(app)).await?;
    cx.apply_set(children::ingress(app)).await?;
    Ok(deployment)
}

fn status(app: &App, deployment: &Deployment, now: Timestamp) -> AppStatus {
    let of = deployment.status.clone().unwrap_or_default();
    let available = of.available_replicas.unwrap_or(0);
    let seen = of.observed_generation == deployment.metadata.generation;
    let ready = seen && available >= app.spec.replicas;
    let message = format!("{available} of {} pods are available", app.spec.replicas);
    let reason = if ready { "Available" } else { "Starting" };
    AppStatus {
        observed_generation: app.metadata.generation,
        replicas: of.replicas.unwrap_or(0),
        ready_replicas: of.ready_replicas.unwrap_or(0),
        selector: Some(children::selector(app)),
        url: children::url(app),
        conditions: conditions(app, now)
            .with(
                "Applied",
                true,
                "Applied",
                "everything that the App asks for is written",
            )
            .with("Ready", ready, reason, message)
            .build(),
    }
}

/// What was known of the pods stays; only the conditions change.
fn name_taken(app: &App, message: &str, now: Timestamp) -> AppStatus {
    AppStatus {
        observed_generation: app.metadata.generation,
        selector: Some(children::selector(app)),
        conditions: conditions(app, now)
            .with("Applied", false, "NameTaken", message)
            .with("Ready", false, "NameTaken", message)
            .build(),
        ..app.status.clone().unwrap_or_default()
    }
}

fn conditions(app: &App, now: Timestamp) -> Conditions {
    let before = app.status.as_ref().map(|s| &*s.conditions).unwrap_or_default();
    Conditions::new(before, app.metadata.generation, now)
}
