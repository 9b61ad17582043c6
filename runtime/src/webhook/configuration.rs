//! The objects that tell the API server of the webhooks.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::declaration::{Declared, FailurePolicy, SideEffects};
use super::path::{Purpose, webhook_name, whole};
use super::request::Operation;
use crate::cache::Selector;

/// Where the API server finds the operator's webhooks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reach {
    /// Behind the Service [`service_name`] in the operator's namespace.
    Service,
    /// Within the process, as the Service that is not there: `dev` and tests.
    InProcess,
    /// At a URL, `https://host:port`: an operator that runs outside the cluster.
    Url(String),
}

/// How the API server comes to trust the certificates of the webhooks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trust {
    /// The operator writes the bundle into the configurations once it has certificates.
    #[default]
    Injected,
    /// cert-manager does, from its Certificate of that name (`namespace/name`).
    CertManager(String),
    /// A bundle that is known when the manifests are made: PEM.
    Bundle(String),
}

impl Trust {
    /// cert-manager's, from the Certificate that the manifests hold then.
    #[must_use]
    pub fn cert_manager(operator: &str, namespace: &str) -> Self {
        Self::CertManager(format!("{namespace}/{}", service_name(operator)))
    }
}

/// The configurations of one operator's webhooks.
#[derive(Clone, Debug)]
pub(crate) struct Configuration<'a> {
    pub(crate) operator: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) reach: &'a Reach,
    pub(crate) trust: &'a Trust,
}

/// The name of the Service in front of an operator's webhooks.
#[must_use]
pub fn service_name(operator: &str) -> String {
    format!("{operator}-webhook")
}

impl Configuration<'_> {
    /// The ValidatingWebhookConfiguration and the MutatingWebhookConfiguration; neither where it would be empty.
    pub(crate) fn objects(&self, declared: &[Declared]) -> Vec<Value> {
        let of = |purpose: Purpose| -> Vec<Value> {
            let asked = declared.iter().filter(|declared| match purpose {
                Purpose::Validate => declared.validates,
                _ => declared.mutates,
            });
            asked.map(|declared| self.webhook(purpose, declared)).collect()
        };
        [
            (Purpose::Mutate, "MutatingWebhookConfiguration"),
            (Purpose::Validate, "ValidatingWebhookConfiguration"),
        ]
        .into_iter()
        .filter_map(|(purpose, kind)| {
            let webhooks = of(purpose);
            (!webhooks.is_empty()).then(|| {
                json!({
                    "apiVersion": "admissionregistration.k8s.io/v1",
                    "kind": kind,
                    "metadata": self.metadata(self.operator, None),
                    "webhooks": webhooks,
                })
            })
        })
        .collect()
    }

    /// The Service, where the webhooks are behind one.
    pub(crate) fn service(&self) -> Option<Value> {
        (*self.reach == Reach::Service).then(|| {
            json!({
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": self.metadata(&service_name(self.operator), Some(self.namespace)),
                "spec": {
                    "selector": { "app.kubernetes.io/name": self.operator },
                    "ports": [{ "name": "https", "port": 443, "targetPort": super::PORT, "protocol": "TCP" }],
                },
            })
        })
    }

    /// cert-manager's objects, where it issues the certificates: an Issuer that signs its own, and the Certificate, whose
    /// Secret is to be mounted for `--webhook-certs`.
    pub(crate) fn issuers(&self) -> Vec<Value> {
        if !matches!(self.trust, Trust::CertManager(_)) {
            return Vec::new();
        }
        let name = service_name(self.operator);
        let host = format!("{name}.{}.svc", self.namespace);
        vec![
            json!({
                "apiVersion": "cert-manager.io/v1",
                "kind": "Issuer",
                "metadata": self.metadata(&name, Some(self.namespace)),
                "spec": { "selfSigned": {} },
            }),
            json!({
                "apiVersion": "cert-manager.io/v1",
                "kind": "Certificate",
                "metadata": self.metadata(&name, Some(self.namespace)),
                "spec": {
                    "dnsNames": [host, format!("{host}.cluster.local")],
                    "issuerRef": { "kind": "Issuer", "name": name },
                    "secretName": super::certificates::secret_name(self.operator),
                },
            }),
        ]
    }

    /// The definitions of converted kinds, all versions in one, by name.
    ///
    /// # Errors
    ///
    /// When versions of a kind differ in what a definition has once: names and scope.
    pub(crate) fn definitions(&self, declared: &[Declared]) -> Result<BTreeMap<String, Value>, String> {
        let mut definitions = BTreeMap::new();
        for conversion in declared.iter().filter_map(|declared| declared.conversion.as_ref()) {
            let versions = conversion.versions().map(|version| (version.definition)()).collect();
            let stored = conversion.kind().version();
            let definition = kube::core::crd::merge_crds(versions, stored)
                .map_err(|error| format!("the versions of {} do not fit together: {error}", conversion.kind()))?;
            let name = definition.metadata.name.clone().unwrap_or_default();
            let mut definition = serde_json::to_value(&definition).map_err(|error| error.to_string())?;
            definition["spec"]["conversion"] = json!({
                "strategy": "Webhook",
                "webhook": {
                    "clientConfig": self.client_config(&whole(Purpose::Convert, conversion.kind(), self.operator)),
                    "conversionReviewVersions": ["v1"],
                },
            });
            if let Trust::CertManager(certificate) = self.trust {
                definition["metadata"]["annotations"]["cert-manager.io/inject-ca-from"] = certificate.as_str().into();
            }
            definitions.insert(name, definition);
        }
        Ok(definitions)
    }

    fn webhook(&self, purpose: Purpose, declared: &Declared) -> Value {
        let kind = &declared.kind;
        let operations = declared.operations.iter().filter(|operation| {
            // What is deleted has nothing to change.
            purpose == Purpose::Validate || **operation != Operation::Delete
        });
        let operations: Vec<&str> = operations.map(|operation| operation.as_str()).collect();
        let scope = if kind.namespaced() { "Namespaced" } else { "Cluster" };
        let mut webhook = json!({
            "name": webhook_name(purpose, kind),
            "clientConfig": self.client_config(&whole(purpose, kind, self.operator)),
            "rules": [{
                "apiGroups": [kind.group()],
                "apiVersions": [kind.version()],
                "resources": [kind.plural()],
                "operations": operations,
                "scope": scope,
            }],
            "failurePolicy": match declared.failure_policy {
                FailurePolicy::Fail => "Fail",
                FailurePolicy::Ignore => "Ignore",
            },
            "matchPolicy": "Equivalent",
            "sideEffects": match declared.side_effects {
                SideEffects::None => "None",
                SideEffects::NoneOnDryRun => "NoneOnDryRun",
            },
            "timeoutSeconds": declared.timeout.as_secs(),
            "admissionReviewVersions": ["v1"],
        });
        if !declared.match_conditions.is_empty() {
            let conditions = declared.match_conditions.iter();
            webhook["matchConditions"] = conditions
                .map(|(name, expression)| json!({ "name": name, "expression": expression }))
                .collect();
        }
        if let Some(selector) = declared
            .object_selector
            .as_deref()
            .and_then(|text| Selector::parse(text).ok())
        {
            webhook["objectSelector"] = selector.to_label_selector();
        }
        if is_built_in(kind.group()) {
            // The operator's own pods need such objects: where it lives, an outage must not keep it from coming back.
            webhook["namespaceSelector"] = json!({ "matchExpressions": [{
                "key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [self.namespace],
            }]});
        }
        webhook
    }

    fn client_config(&self, path: &str) -> Value {
        let mut config = match self.reach {
            Reach::Url(base) => json!({ "url": format!("{base}{path}") }),
            Reach::Service | Reach::InProcess => json!({ "service": {
                "name": service_name(self.operator), "namespace": self.namespace, "path": path, "port": 443,
            }}),
        };
        if let Trust::Bundle(pem) = self.trust {
            use base64::Engine as _;
            config["caBundle"] = base64::engine::general_purpose::STANDARD.encode(pem).into();
        }
        config
    }

    fn metadata(&self, name: &str, namespace: Option<&str>) -> Value {
        let mut metadata = json!({
            "name": name,
            "labels": { "app.kubernetes.io/name": self.operator, "app.kubernetes.io/managed-by": "kubewright" },
        });
        if let Some(namespace) = namespace {
            metadata["namespace"] = namespace.into();
        } else if let Trust::CertManager(certificate) = self.trust {
            metadata["annotations"] = json!({ "cert-manager.io/inject-ca-from": certificate });
        }
        metadata
    }
}

/// Groups of Kubernetes itself have no domain, or one of its own.
fn is_built_in(group: &str) -> bool {
    !group.contains('.') || group.ends_with(".k8s.io")
}
