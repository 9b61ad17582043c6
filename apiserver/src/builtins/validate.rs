//! What built-in kinds demand of their objects.

use serde_json::Value;

use super::checks::{self, Check};
use super::{
    check_access, check_autoscaling, check_certificates, check_config, check_containers, check_network, check_pods,
    check_quotas, check_rest, check_scheduling, check_services, check_status, check_storage, check_volumes,
    check_workloads, defaults, immutable, metadata,
};
use crate::admission;
use crate::error::Cause;
use crate::resource::Resource;

const TABLES: [&[(&str, &[Check])]; 15] = [
    check_services::TABLE,
    check_certificates::TABLE,
    check_autoscaling::TABLE,
    check_containers::TABLE,
    check_scheduling::TABLE,
    check_volumes::TABLE,
    check_pods::TABLE,
    check_workloads::TABLE,
    check_network::TABLE,
    check_config::TABLE,
    check_storage::TABLE,
    check_access::TABLE,
    check_quotas::TABLE,
    check_rest::TABLE,
    check_status::TABLE,
];

/// What is wrong with a new object, metadata included.
#[must_use]
pub fn validate_create(resource: &Resource, object: &Value) -> Vec<Cause> {
    let mut causes = metadata::validate_create(resource, object);
    causes.extend(structure(resource, object));
    causes.extend(admission::configuration::validate(resource, object));
    causes
}

/// What is wrong with an updated object, metadata and immutable fields included. `subresource` is empty for the object
/// itself.
#[must_use]
pub fn validate_update(resource: &Resource, subresource: &str, new: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = metadata::validate_update(resource, new, old);
    match subresource {
        "" => {
            // What was there before is taken as it is: a stricter rule does not lock up old objects.
            if new.get("spec") != old.get("spec") || !spec_only(new) {
                causes.extend(structure(resource, new));
            }
            causes.extend(immutable::violations(&resource.kind, new, old));
            causes.extend(admission::configuration::validate(resource, new));
        }
        "status" => {
            causes.extend(status(resource, new));
            causes.extend(check_status::decremented(new, old));
        }
        "scale" => causes.extend(structure(resource, new)),
        "resize" => {
            causes.extend(structure(resource, new));
            let before = &old["status"]["qosClass"];
            if before.is_string() && *before != defaults::quality_of_service(new) {
                let why = "Pod QOS Class may not change as a result of resizing";
                causes.push(Cause::invalid("spec", before, why));
            }
        }
        _ => {}
    }
    causes
}

/// What the server accepts but warns of.
#[must_use]
pub fn warnings(resource: &Resource, new: &Value, old: Option<&Value>) -> Vec<String> {
    let mut warnings = metadata::warnings(resource, new, old);
    if resource.custom.is_some() {
        return warnings;
    }
    match (&*resource.group, &*resource.kind) {
        ("", "Pod") if old.is_none() => warnings.extend(check_pods::warnings(&new["spec"], "spec")),
        ("", "Secret") => warnings.extend(tls_warning(new)),
        ("networking.k8s.io", "Ingress") => {
            let class = "kubernetes.io/ingress.class";
            if new["metadata"]["annotations"].get(class).is_some() {
                warnings.push(format!(
                    "annotation {class:?} is deprecated, please use 'spec.ingressClassName' instead"
                ));
            }
        }
        _ => {
            let template = &new["spec"]["template"]["spec"];
            if template.is_object() && old.is_none_or(|old| old["spec"]["template"]["spec"] != *template) {
                warnings.extend(check_pods::warnings(template, "spec.template.spec"));
            }
        }
    }
    warnings
}

fn structure(resource: &Resource, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    checks::check(resource.schema.root(), object, "", object, &table, &mut causes);
    causes
}

fn status(resource: &Resource, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    if let (Some(node), Some(status)) = (resource.schema.root().child("status"), object.get("status")) {
        checks::check(node, status, "status", object, &table, &mut causes);
    }
    causes
}

fn table(structure: &str) -> Option<&'static [Check]> {
    let mut entries = TABLES.iter().flat_map(|table| table.iter());
    entries.find(|(name, _)| *name == structure).map(|(_, checks)| *checks)
}

/// Whether everything that the object says stands in its spec.
fn spec_only(object: &Value) -> bool {
    let fields = object.as_object().into_iter().flatten();
    fields
        .clone()
        .all(|(key, _)| matches!(key.as_str(), "apiVersion" | "kind" | "metadata" | "spec" | "status"))
}

/// A TLS secret whose certificate is none is accepted, but told.
fn tls_warning(secret: &Value) -> Option<String> {
    use base64::Engine;
    if secret["type"] != "kubernetes.io/tls" {
        return None;
    }
    let certificate = secret["data"]["tls.crt"].as_str().unwrap_or_default();
    let certificate = base64::engine::general_purpose::STANDARD
        .decode(certificate)
        .unwrap_or_default();
    let pem = String::from_utf8_lossy(&certificate).contains("-----BEGIN ");
    (!pem).then(|| "tls: failed to find any PEM data in certificate input".to_owned())
}
