//! Validating webhooks: all at the same time, each seeing the object as it would be stored.

use futures::future::join_all;

use super::configured::Webhook;
use super::matching::{Seen, matches};
use super::review::View;
use super::{answer, review};
use crate::admission::{Inner, Request, conditions};
use crate::error::ApiError;

/// Calls the validating webhooks that the request concerns. Of several refusals the first in order is told.
pub(crate) async fn validate(inner: &Inner, request: &Request<'_>, warnings: &mut Vec<String>) -> Result<(), ApiError> {
    let webhooks = inner.webhooks.validating(&inner.store);
    let mut seen: Vec<(&Webhook, Seen)> = Vec::new();
    for webhook in webhooks.iter() {
        seen.extend(matches(webhook, request, &inner.store).map(|seen| (webhook, seen)));
    }
    let mut concerned: Vec<(&Webhook, View<'_>, String)> = Vec::new();
    for (webhook, seen) in &seen {
        let view = review::view(inner, request, seen).await?;
        if conditions::hold(inner, &webhook.spec, webhook.ignores_failure(), request, &view)? {
            concerned.push((webhook, view, inner.clock.uid()));
        }
    }
    let calls = concerned
        .iter()
        .map(|(webhook, view, uid)| ask(inner, webhook, view, request, uid));
    let answers = join_all(calls).await;
    let mut refusal = None;
    for ((webhook, ..), answer) in concerned.iter().zip(answers) {
        match answer {
            Ok(answer) => {
                warnings.extend(answer.warnings.iter().cloned());
                if !answer.allowed {
                    refusal = refusal.or_else(|| Some(answer.refusal(&webhook.name)));
                }
            }
            Err(failure) => {
                let failure = format!("failed calling webhook {:?}: {failure}", webhook.name);
                if webhook.ignores_failure() {
                    tracing::warn!("{failure}; the request goes on, as failurePolicy says");
                } else {
                    refusal = refusal.or_else(|| Some(ApiError::internal(failure)));
                }
            }
        }
    }
    refusal.map_or(Ok(()), Err)
}

async fn ask(
    inner: &Inner,
    webhook: &Webhook,
    view: &View<'_>,
    request: &Request<'_>,
    uid: &str,
) -> Result<answer::Answer, String> {
    let version = review::version(webhook)?;
    let review = review::review(version, uid, request, view);
    let body = inner
        .client
        .post(webhook, &review)
        .await
        .map_err(|fault| format!("failed to call webhook: {fault}"))?;
    answer::read(&body, version, uid, false)
}
