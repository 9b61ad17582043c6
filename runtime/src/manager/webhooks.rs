//! The webhooks of a manager: open before anything else, closed after everything else.

use std::time::Duration;

use tokio::time::sleep;

use super::error::ManagerError;
use super::group::Group;
use crate::client::{Origin, Transport};
use crate::env::Env;
use crate::health::{Health, ListenError};
use crate::metrics::{Metrics, Sample};
use crate::webhook::{
    self, CERTIFICATES, Endpoint, Handler, Identity, Registered, Serving, Surroundings, Targets, TlsOptions,
};

/// How long the last answers may take.
const LAST_ANSWERS_WITHIN: Duration = Duration::from_secs(11);

/// Webhooks that are served.
pub(super) struct Webhooks {
    endpoint: Option<Endpoint>,
    group: Group,
    drain: Duration,
}

/// What they share with the rest of the manager.
pub(super) struct Parts<'a> {
    pub(super) operator: &'a str,
    pub(super) transport: &'a Transport,
    pub(super) env: &'a Env,
    pub(super) metrics: &'a Metrics,
    pub(super) health: &'a Health,
}

impl Webhooks {
    /// Opens them. They wait for nothing but their certificates: neither for caches nor for the Lease.
    ///
    /// # Errors
    ///
    /// An address that cannot be had; webhooks without a way to serve them.
    pub(super) async fn open(
        registered: &[Registered],
        serving: Option<&Serving>,
        parts: &Parts<'_>,
    ) -> Result<Option<Self>, ManagerError> {
        if registered.is_empty() {
            return Ok(None);
        }
        let handler = Handler::new(parts.operator, registered, parts.metrics);
        let mut webhooks = Self {
            endpoint: None,
            group: Group::new(parts.env),
            drain: Duration::ZERO,
        };
        match serving {
            None => {
                return Err(ManagerError::Options(
                    "webhooks are registered, and nothing says how to serve them: set `Options::webhooks`".to_owned(),
                ));
            }
            Some(Serving::InProcess(endpoint)) => {
                endpoint.open_with(handler, parts.env.clone());
                webhooks.endpoint = Some(endpoint.clone());
            }
            Some(Serving::Tls(options)) => webhooks.serve(handler, registered, options, parts).await?,
        }
        Ok(Some(webhooks))
    }

    async fn serve(
        &mut self,
        handler: Handler,
        registered: &[Registered],
        options: &TlsOptions,
        parts: &Parts<'_>,
    ) -> Result<(), ManagerError> {
        let listener = webhook::listen(options.address)
            .await
            .map_err(|error| ListenError::new("webhooks", "--webhooks", options.address, error))?;
        let identity = Identity::new();
        let server = webhook::Server::new(handler, identity.clone(), parts.env.clone());
        let server = server.map_err(|error| ManagerError::Options(format!("webhooks cannot be served: {error}")))?;
        publish(&identity, parts);
        let stop = self.group.stop.clone();
        let address = options.address;
        self.group.spawn("the webhook server", "webhook server", async move {
            tracing::info!(%address, "serving webhooks");
            server.run(listener, stop).await;
            Ok(())
        });
        let around = Surroundings {
            client: parts.transport.client(&Origin::part("webhook certificates")),
            operator: parts.operator.to_owned(),
            namespace: options.namespace.clone(),
            names: options.names(parts.operator),
            targets: Targets::of(parts.operator, registered),
        };
        let keeping =
            options
                .certificates
                .clone()
                .run(around, identity.clone(), parts.env.clone(), self.group.stop.clone());
        self.group
            .spawn("the webhooks' certificates", "webhook certificates", async move {
                keeping.await;
                Ok(())
            });
        let (health, stop) = (parts.health.clone(), self.group.stop.clone());
        self.group
            .spawn("the webhooks' readiness", "webhook readiness", async move {
                tokio::select! {
                    biased;
                    () = identity.shown() => health.release(CERTIFICATES),
                    () = stop.wait() => {}
                }
                Ok(())
            });
        self.drain = options.drain;
        Ok(())
    }

    /// Returns when a part of them failed.
    ///
    /// # Cancel safety
    ///
    /// Safe.
    pub(super) async fn failed(&mut self) -> ManagerError {
        self.group.failed().await
    }

    /// Returns once the API server may be expected to call other replicas.
    pub(super) async fn drained(&self) {
        if !self.drain.is_zero() {
            sleep(self.drain).await;
        }
    }

    /// Takes no new requests, and answers the last.
    pub(super) async fn close(mut self) {
        if let Some(endpoint) = &self.endpoint {
            endpoint.close();
        }
        self.group.finish(LAST_ANSWERS_WITHIN).await;
    }
}

/// Readiness waits for the first certificate, and scrapes tell when it ends.
fn publish(identity: &Identity, parts: &Parts<'_>) {
    parts.health.hold(CERTIFICATES);
    let shown = identity.clone();
    #[allow(clippy::cast_precision_loss, reason = "seconds since 1970 are far below 2^53")]
    parts.metrics.source(move |add: &mut dyn FnMut(Sample)| {
        if let Some(validity) = shown.validity() {
            add(Sample::gauge(
                "kubewright_webhook_certificate_expiry_timestamp_seconds",
                "When the certificate that webhooks show ends",
                Vec::new(),
                validity.until.as_second() as f64,
            ));
        }
    });
    let shown = identity.clone();
    parts.health.section("webhooks", move || {
        let validity = shown.validity();
        serde_json::json!({
            "certificateFrom": validity.map(|validity| validity.from.to_string()),
            "certificateUntil": validity.map(|validity| validity.until.to_string()),
        })
    });
}
