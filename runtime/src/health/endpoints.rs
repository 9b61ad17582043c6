//! The paths that are served.

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::access::{Reviewer, guard};
use super::state::Health;
use crate::metrics::Metrics;

/// `/healthz` (also `/livez`), `/readyz` and `/statusz` where `health` is given, `/metrics` where `metrics` is: for those
/// only whom the reviewer lets pass, where there is one.
pub fn router(health: Option<Health>, metrics: Option<(Metrics, Option<Reviewer>)>) -> Router {
    let mut router = Router::new();
    if let Some(health) = health {
        let probes = Router::new()
            .route("/healthz", get(async || "ok"))
            .route("/livez", get(async || "ok"))
            .route("/readyz", get(readyz))
            .route("/statusz", get(statusz))
            .with_state(health);
        router = router.merge(probes);
    }
    if let Some((metrics, reviewer)) = metrics {
        let mut guarded = Router::new().route("/metrics", get(scrape)).with_state(metrics);
        if let Some(reviewer) = reviewer {
            guarded = guarded.layer(from_fn_with_state(reviewer, guard));
        }
        router = router.merge(guarded);
    }
    router
}

async fn readyz(State(health): State<Health>) -> Response {
    let waits_for = health.waits_for();
    if waits_for.is_empty() {
        return "ok".into_response();
    }
    let text = format!("not ready: waits for {}", waits_for.join(", "));
    (StatusCode::SERVICE_UNAVAILABLE, text).into_response()
}

async fn statusz(State(health): State<Health>) -> Response {
    let text = serde_json::to_string_pretty(&health.status()).unwrap_or_default();
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}

async fn scrape(State(metrics): State<Metrics>, headers: HeaderMap) -> Response {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let open_metrics = accept.is_some_and(|accept| accept.contains("application/openmetrics-text"));
    let content_type = if open_metrics {
        "application/openmetrics-text; version=1.0.0; charset=utf-8"
    } else {
        "text/plain; version=0.0.4; charset=utf-8"
    };
    ([(header::CONTENT_TYPE, content_type)], metrics.encode(open_metrics)).into_response()
}
