//! What is wrong with an App beyond what its schema can say, and what is filled in for its author.

use kubewright::prelude::*;
use kubewright::webhook::{Mutate, Request, Validate, Verdict};

use crate::api::App;

/// The label that says whose an App is.
pub const TEAM: &str = "demo.dev/team";

/// The webhooks for Apps.
// An App that is wrong harms nobody but itself: while the operator is down, people may go on writing Apps.
#[webhooks(for = App, validate, mutate, failure_policy = ignore)]
#[derive(Clone, Copy, Debug)]
pub struct AppWebhooks;

impl Validate<App> for AppWebhooks {
    async fn create(&self, app: &App, _: &Request) -> Result<Verdict> {
        let mut verdict = Verdict::allowed();
        // A kubelet leaves them out of the container's environment, and says so where nobody looks.
        for name in app.spec.config.keys().filter(|name| !is_variable(name)) {
            verdict.invalid(
                format!("spec.config[{name}]"),
                name,
                "must be the name of an environment variable: letters, digits and `_`, and no digit first",
            );
        }
        if app.spec.image.ends_with(":latest") {
            verdict.warn("spec.image: `latest` is another image tomorrow; name a version");
        }
        Ok(verdict)
    }

    async fn update(&self, app: &App, old: &App, request: &Request) -> Result<Verdict> {
        let mut verdict = self.create(app, request).await?;
        let (host, before) = (host(app), host(old));
        if before.is_some() && host.is_some() && host != before {
            verdict.warn("spec.ingress.host changes: the App is no longer reachable by its old name");
        }
        Ok(verdict)
    }
}

impl Mutate<App> for AppWebhooks {
    /// An App is its namespace's unless it says otherwise; a schema's default could not know the namespace.
    async fn mutate(&self, mut app: App, request: &Request) -> Result<App> {
        let labels = app.metadata.labels.get_or_insert_default();
        labels
            .entry(TEAM.to_owned())
            .or_insert_with(|| request.namespace.clone());
        if let Some(ingress) = &mut app.spec.ingress {
            ingress.host.make_ascii_lowercase();
        }
        Ok(app)
    }
}

fn is_variable(name: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.chars().next().is_some_and(letter) && name.chars().all(|c| letter(c) || c.is_ascii_digit())
}

fn host(app: &App) -> Option<&str> {
    app.spec.ingress.as_ref().map(|ingress| &*ingress.host)
}
