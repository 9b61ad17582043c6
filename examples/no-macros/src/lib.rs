//! The controller of `app-operator`, declared by hand: what `#[controller(…)]` writes, written by a person.
//!
//! The kind and its children are those of `app-operator`. Everything else is here: an `impl Declare` of builder calls,
//! and one empty impl per kind and right. Each builder call demands the impl that goes with it, so neither can be
//! forgotten; a call like `cx.apply(secret)` for a kind that has none does not compile.

use std::sync::Arc;
use std::time::Duration;

use app_operator::api::{App, AppStatus};
use app_operator::children;
use kubewright::conditions::Conditions;
use kubewright::events::EventType;
use kubewright::k8s_openapi::api::apps::v1::Deployment;
use kubewright::k8s_openapi::api::core::v1::{ConfigMap, Service};
use kubewright::k8s_openapi::api::networking::v1::Ingress;
use kubewright::{Action, Cleanup, Context, Declaration, Declare, Error, Finalized, Manager, Owns, Reconciler, Result};

/// The operator, ready for `run_cli` or for a test.
#[must_use]
pub fn manager() -> Manager {
    Manager::new("no-macros").controller(AppController)
}

/// The controller of Apps.
#[derive(Clone, Copy, Debug)]
pub struct AppController;

impl Declare for AppController {
    type Primary = App;

    fn declare(d: Declaration<Self>) -> Declaration<Self> {
        d.for_::<App>()
            .crd::<App>()
            .owns::<ConfigMap>()
            .owns::<Deployment>()
            .owns::<Service>()
            .owns::<Ingress>()
            .workers(4)
            .finalizer("demo.dev/drain")
    }
}

impl Owns<ConfigMap> for AppController {}
impl Owns<Deployment> for AppController {}
impl Owns<Service> for AppController {}
impl Owns<Ingress> for AppController {}
impl Finalized for AppController {}

impl Reconciler for AppController {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        match apply(&app, cx).await {
            Ok(deployment) => {
                let of = deployment.status.clone().unwrap_or_default();
                let ready = of.available_replicas.unwrap_or(0) >= app.spec.replicas;
                let reason = if ready { "Available" } else { "Starting" };
                let status = AppStatus {
                    replicas: of.replicas.unwrap_or(0),
                    ready_replicas: of.ready_replicas.unwrap_or(0),
                    url: children::url(&app),
                    ..with_condition(&app, cx, ready, reason, "")
                };
                cx.apply_status(status).await?;
                Ok(Action::await_change())
            }
            Err(Error::NotOwned(taken)) => {
                cx.event(EventType::Warning, "NameTaken", taken.to_string());
                cx.apply_status(with_condition(&app, cx, false, "NameTaken", &taken.to_string()))
                    .await?;
                Ok(Action::requeue(Duration::from_secs(60)))
            }
            Err(error) => Err(error),
        }
    }
}

impl Cleanup for AppController {
    async fn cleanup(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        let out_of_service = cx.children_gone::<Ingress>().await? && cx.children_gone::<Service>().await?;
        if !out_of_service || !cx.children_gone::<Deployment>().await? {
            return Ok(Action::requeue(Duration::from_secs(5)));
        }
        Ok(Action::await_change())
    }
}

/// Any controller that owns these kinds may call this: the bounds are the grants.
async fn apply<C>(app: &App, cx: &Context<C>) -> Result<Arc<Deployment>>
where
    C: Owns<ConfigMap> + Owns<Deployment> + Owns<Service> + Owns<Ingress>,
{
    cx.apply(children::config_map(app)).await?;
    let deployment = cx.apply(children::deployment(app)).await?;
    cx.apply(children::service(app)).await?;
    cx.apply_set(children::ingress(app)).await?;
    Ok(deployment)
}

fn with_condition(app: &App, cx: &Context<AppController>, ready: bool, reason: &str, message: &str) -> AppStatus {
    let before = app.status.as_ref().map(|s| &*s.conditions).unwrap_or_default();
    AppStatus {
        observed_generation: app.metadata.generation,
        selector: Some(children::selector(app)),
        conditions: Conditions::new(before, app.metadata.generation, cx.now())
            .with("Ready", ready, reason, message)
            .build(),
        ..AppStatus::default()
    }
}
