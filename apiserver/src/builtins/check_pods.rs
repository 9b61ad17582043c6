//! What pods and their templates must be.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde_json::Value;

use super::check_containers::{id, user_and_group};
use super::check_scheduling::topology;
use super::check_volumes::volumes;
use super::checks::At;
use super::checks::Check::{self, Below, Named, NotNegative, OneOf, With};
use super::names;
use crate::error::Cause;

pub(super) const TABLE: &[(&str, &[Check])] = &[
    ("Pod", &[Below("spec")]),
    ("PodTemplate", &[Below("template")]),
    ("PodTemplateSpec", &[With(template_metadata), Below("spec")]),
    (
        "PodSpec",
        &[
            With(volumes),
            With(containers),
            With(init_containers),
            With(ephemeral_containers),
            OneOf("restartPolicy", &["Always", "OnFailure", "Never"]),
            OneOf(
                "dnsPolicy",
                &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"],
            ),
            With(node_selector),
            Below("securityContext"),
            Below("affinity"),
            With(dns_config),
            Below("readinessGates"),
            Below("schedulingGates"),
            With(topology),
            Named("serviceAccountName", names::subdomain),
            Named("nodeName", names::subdomain),
            With(active_deadline),
            Named("hostname", names::label),
            Named("subdomain", names::label),
            Below("tolerations"),
            With(host_aliases),
            Named("priorityClassName", names::subdomain),
            Named("runtimeClassName", names::subdomain),
            OneOf("preemptionPolicy", &["Never", "PreemptLowerPriority"]),
            NotNegative("overhead"),
        ],
    ),
    (
        "PodSecurityContext",
        &[
            With(user_and_group),
            With(supplemental_groups),
            With(sysctls),
            OneOf("fsGroupChangePolicy", &["Always", "OnRootMismatch"]),
            Below("seccompProfile"),
        ],
    ),
];

fn template_metadata(at: &At<'_>, causes: &mut Vec<Cause>) {
    causes.extend(super::metadata::labels(
        &at.field("metadata.labels"),
        at.get("metadata.labels"),
    ));
    causes.extend(super::metadata::annotations(
        &at.field("metadata.annotations"),
        at.get("metadata.annotations"),
    ));
}

fn containers(at: &At<'_>, causes: &mut Vec<Cause>) {
    if at.list("containers").is_empty() {
        causes.push(Cause::required(at.field("containers"), ""));
        return;
    }
    names_and_images(at, "containers", &BTreeSet::new(), causes);
    at.below("containers", causes);
    host_ports(at, causes);
    for (index, container) in at.list("containers").iter().enumerate() {
        let image = container["image"].as_str().unwrap_or_default();
        if image.trim() != image {
            let path = at.field(&format!("containers[{index}].image"));
            causes.push(Cause::invalid(
                path,
                &image.into(),
                "must not have leading or trailing whitespace",
            ));
        }
    }
}

fn init_containers(at: &At<'_>, causes: &mut Vec<Cause>) {
    let taken: BTreeSet<&str> = at
        .list("containers")
        .iter()
        .filter_map(|c| c["name"].as_str())
        .collect();
    names_and_images(at, "initContainers", &taken, causes);
    at.below("initContainers", causes);
}

fn names_and_images(at: &At<'_>, list: &str, taken: &BTreeSet<&str>, causes: &mut Vec<Cause>) {
    let mut seen = BTreeSet::new();
    for (index, container) in at.list(list).iter().enumerate() {
        let path = at.field(&format!("{list}[{index}]"));
        let name = container["name"].as_str().unwrap_or_default();
        if name.is_empty() {
            causes.push(Cause::required(format!("{path}.name"), ""));
        } else {
            let faults = names::label(name);
            causes.extend(
                faults
                    .iter()
                    .map(|why| Cause::invalid(format!("{path}.name"), &name.into(), why)),
            );
            if !seen.insert(name) || taken.contains(name) {
                causes.push(Cause::duplicate(format!("{path}.name"), &name.into()));
            }
        }
        if container["image"].as_str().unwrap_or_default().is_empty() {
            causes.push(Cause::required(format!("{path}.image"), ""));
        }
    }
}

/// No two containers of a pod use one port of the host.
fn host_ports(at: &At<'_>, causes: &mut Vec<Cause>) {
    let mut seen = BTreeSet::new();
    for (index, container) in at.list("containers").iter().enumerate() {
        for (number, port) in container["ports"].as_array().into_iter().flatten().enumerate() {
            let Some(host) = port["hostPort"].as_i64().filter(|p| *p != 0) else {
                continue;
            };
            let address = port["hostIP"].as_str().unwrap_or_default();
            let used = format!("{}/{address}/{host}", port["protocol"].as_str().unwrap_or_default());
            if !seen.insert(used.clone()) {
                let path = at.field(&format!("containers[{index}].ports[{number}].hostPort"));
                causes.push(Cause::duplicate(path, &used.into()));
            }
        }
    }
}

/// What ephemeral containers cannot have, since they are never started again.
const LASTING: [&str; 6] = [
    "ports",
    "resources",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
];

fn ephemeral_containers(at: &At<'_>, causes: &mut Vec<Cause>) {
    let taken: BTreeSet<&str> = ["containers", "initContainers"]
        .iter()
        .flat_map(|list| at.list(list))
        .filter_map(|container| container["name"].as_str())
        .collect();
    names_and_images(at, "ephemeralContainers", &taken, causes);
    at.below("ephemeralContainers", causes);
    for (index, container) in at.list("ephemeralContainers").iter().enumerate() {
        let path = at.field(&format!("ephemeralContainers[{index}]"));
        let target = container["targetContainerName"].as_str().unwrap_or_default();
        if !target.is_empty() && !taken.contains(target) {
            causes.push(Cause {
                reason: "FieldValueNotFound",
                message: format!("Not found: {target:?}"),
                field: format!("{path}.targetContainerName"),
            });
        }
        for field in LASTING {
            let set = match &container[field] {
                Value::Null => false,
                Value::Object(map) => !map.is_empty(),
                Value::Array(list) => !list.is_empty(),
                _ => true,
            };
            if set {
                let why = "cannot be set for an Ephemeral Container";
                causes.push(Cause::forbidden(format!("{path}.{field}"), why));
            }
        }
    }
}

fn node_selector(at: &At<'_>, causes: &mut Vec<Cause>) {
    causes.extend(super::metadata::labels(
        &at.field("nodeSelector"),
        at.get("nodeSelector"),
    ));
}

fn address(text: &Value, field: String) -> Option<Cause> {
    let given = text.as_str().unwrap_or_default();
    let why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
    let bad = given.parse::<IpAddr>().is_err();
    bad.then(|| Cause::invalid(field, &given.into(), why))
}

fn dns_config(at: &At<'_>, causes: &mut Vec<Cause>) {
    let path = at.field("dnsConfig");
    let servers = at.list("dnsConfig.nameservers");
    if at.text("dnsPolicy") == "None" {
        if at.get("dnsConfig").is_null() {
            let why = "must provide `dnsConfig` when `dnsPolicy` is None";
            causes.push(Cause::required(path, why));
            return;
        }
        if servers.is_empty() {
            let why = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            causes.push(Cause::required(format!("{path}.nameservers"), why));
        }
    }
    if servers.len() > 3 {
        let shown = at.get("dnsConfig.nameservers");
        let why = "must not have more than 3 nameservers";
        causes.push(Cause::invalid(format!("{path}.nameservers"), shown, why));
    }
    for (index, server) in servers.iter().enumerate() {
        causes.extend(address(server, format!("{path}.nameservers[{index}]")));
    }
    if at.list("dnsConfig.searches").len() > 32 {
        let shown = at.get("dnsConfig.searches");
        let why = "must not have more than 32 search paths";
        causes.push(Cause::invalid(format!("{path}.searches"), shown, why));
    }
    for (index, option) in at.list("dnsConfig.options").iter().enumerate() {
        if option["name"].as_str().unwrap_or_default().is_empty() {
            let field = format!("{path}.options[{index}]");
            causes.push(Cause::required(field, "must not be empty"));
        }
    }
}

fn active_deadline(at: &At<'_>, causes: &mut Vec<Cause>) {
    let seconds = at.get("activeDeadlineSeconds");
    let allowed = 1..=i64::from(i32::MAX);
    if seconds.as_i64().is_some_and(|n| !allowed.contains(&n)) {
        let why = "must be between 1 and 2147483647, inclusive";
        causes.push(Cause::invalid(at.field("activeDeadlineSeconds"), seconds, why));
    }
}

fn host_aliases(at: &At<'_>, causes: &mut Vec<Cause>) {
    for (index, alias) in at.list("hostAliases").iter().enumerate() {
        let path = at.field(&format!("hostAliases[{index}]"));
        causes.extend(address(&alias["ip"], format!("{path}.ip")));
        for (number, name) in alias["hostnames"].as_array().into_iter().flatten().enumerate() {
            let faults = names::subdomain(name.as_str().unwrap_or_default());
            let field = format!("{path}.hostnames[{number}]");
            causes.extend(faults.iter().map(|why| Cause::invalid(field.as_str(), name, why)));
        }
    }
}

fn supplemental_groups(at: &At<'_>, causes: &mut Vec<Cause>) {
    for (index, group) in at.list("supplementalGroups").iter().enumerate() {
        causes.extend(id(group, at.field(&format!("supplementalGroups[{index}]"))));
    }
}

fn sysctls(at: &At<'_>, causes: &mut Vec<Cause>) {
    let mut seen = BTreeSet::new();
    for (index, sysctl) in at.list("sysctls").iter().enumerate() {
        let name = sysctl["name"].as_str().unwrap_or_default();
        let field = at.field(&format!("sysctls[{index}].name"));
        let shape = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"-_./".contains(&c);
        if name.is_empty() {
            causes.push(Cause::required(field, ""));
        } else if name.len() > 253 || !name.bytes().all(shape) {
            let why = "must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
            causes.push(Cause::invalid(field, &name.into(), why));
        } else if !seen.insert(name) {
            causes.push(Cause::duplicate(field, &name.into()));
        }
    }
}

/// What the server warns of in a pod or template at `path` (`spec` or `spec.template.spec`).
pub(super) fn warnings(spec: &Value, path: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    for (key, instead) in [
        ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
        ("beta.kubernetes.io/os", "kubernetes.io/os"),
    ] {
        if spec["nodeSelector"].get(key).is_some() {
            warnings.push(format!(
                "{path}.nodeSelector[{key}]: deprecated since v1.14; use {instead:?} instead"
            ));
        }
    }
    for (index, secret) in spec["imagePullSecrets"].as_array().into_iter().flatten().enumerate() {
        let name = secret["name"].as_str().unwrap_or_default();
        if name.is_empty() {
            warnings.push(format!(
                "{path}.imagePullSecrets[{index}].name: invalid empty name {name:?}"
            ));
        }
    }
    for list in ["initContainers", "containers"] {
        for (index, container) in spec[list].as_array().into_iter().flatten().enumerate() {
            let at = format!("{path}.{list}[{index}]");
            let mut seen: Vec<&Value> = Vec::new();
            for (number, env) in container["env"].as_array().into_iter().flatten().enumerate() {
                if seen.contains(&&env["name"]) {
                    let name = &env["name"];
                    warnings.push(format!(
                        "{at}.env[{number}]: hides previous definition of {name}, which may be dropped when using apply"
                    ));
                }
                seen.push(&env["name"]);
            }
            let ports = container["ports"].as_array().map_or(&[][..], Vec::as_slice);
            for (number, port) in ports.iter().enumerate() {
                let same = |other: &&Value| {
                    ["containerPort", "protocol", "hostPort", "hostIP"]
                        .iter()
                        .all(|f| other[*f] == port[*f])
                };
                if let Some(first) = ports[..number].iter().position(|other| same(&other)) {
                    warnings.push(format!(
                        "{at}.ports[{number}]: duplicate port definition with {at}.ports[{first}]"
                    ));
                }
            }
        }
    }
    warnings
}
