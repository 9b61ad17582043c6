//! The bundle of trusted certificates in the objects that tell the API server of the webhooks.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Request;
use http::header::CONTENT_TYPE;
use kube::Client;
use serde_json::{Value, json};

use crate::webhook::Registered;

/// The objects that name an operator's webhooks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    /// Name of its MutatingWebhookConfiguration, where it has one.
    pub mutating: Option<String>,
    /// Name of its ValidatingWebhookConfiguration, where it has one.
    pub validating: Option<String>,
    /// Names of the definitions whose versions it converts.
    pub definitions: Vec<String>,
}

impl Targets {
    /// Those of one operator.
    pub(crate) fn of(operator: &str, webhooks: &[Registered]) -> Self {
        let named = |any: bool| any.then(|| operator.to_owned());
        let conversions = webhooks.iter().filter(|webhook| webhook.declared.conversion.is_some());
        Self {
            mutating: named(webhooks.iter().any(|webhook| webhook.declared.mutates)),
            validating: named(webhooks.iter().any(|webhook| webhook.declared.validates)),
            definitions: conversions.map(|webhook| webhook.declared.kind.to_string()).collect(),
        }
    }

    /// Writes the bundle where it is not. All that can be written is; the first fault is answered.
    pub(super) async fn inject(&self, client: &Client, bundle: &str) -> Result<(), String> {
        let bundle = STANDARD.encode(bundle);
        let mut outcome = Ok(());
        for path in self.paths() {
            let injected = inject(client, &path, &bundle).await;
            outcome = outcome.and(injected);
        }
        outcome
    }

    fn paths(&self) -> Vec<String> {
        const ADMISSION: &str = "/apis/admissionregistration.k8s.io/v1";
        const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let mutating = self.mutating.iter();
        let validating = self.validating.iter();
        mutating
            .map(|name| format!("{ADMISSION}/mutatingwebhookconfigurations/{name}"))
            .chain(validating.map(|name| format!("{ADMISSION}/validatingwebhookconfigurations/{name}")))
            .chain(self.definitions.iter().map(|name| format!("{DEFINITIONS}/{name}")))
            .collect()
    }
}

async fn inject(client: &Client, path: &str, bundle: &str) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("{path}: {error}");
    let get = Request::get(path).body(Vec::new()).map_err(|error| failed(&error))?;
    let object: Value = client.request(get).await.map_err(|error| failed(&error))?;
    let Some(mut patch) = patch(&object, bundle) else {
        return Ok(());
    };
    patch["metadata"] = json!({ "resourceVersion": object["metadata"]["resourceVersion"] });
    let request = Request::patch(path)
        .header(CONTENT_TYPE, "application/merge-patch+json")
        .body(patch.to_string().into_bytes())
        .map_err(|error| failed(&error))?;
    let patched: Result<Value, kube::Error> = client.request(request).await;
    patched.map(|_| ()).map_err(|error| failed(&error))
}

/// What is to be written to an object; `None` where it has the bundle, or no webhook.
fn patch(object: &Value, bundle: &str) -> Option<Value> {
    if let Some(webhooks) = object["webhooks"].as_array() {
        let mut webhooks = webhooks.clone();
        let mut changed = false;
        for webhook in &mut webhooks {
            let held = &mut webhook["clientConfig"]["caBundle"];
            changed |= *held != bundle;
            *held = bundle.into();
        }
        return changed.then(|| json!({ "webhooks": webhooks }));
    }
    let conversion = &object["spec"]["conversion"];
    let missing = conversion["strategy"] == "Webhook" && conversion["webhook"]["clientConfig"]["caBundle"] != bundle;
    missing.then(|| json!({ "spec": { "conversion": { "webhook": { "clientConfig": { "caBundle": bundle } } } } }))
}
