//! What services must be.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde_json::Value;

use super::checks::At;
use super::checks::Check::{self, Below, OneOf, RequiredOneOf, With};
use super::checks::port;
use super::names;
use crate::error::Cause;
use crate::schema::format;

const NOT_AN_ADDRESS: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const SERVICE_TYPES: &[&str] = &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];

pub(super) const TABLE: &[(&str, &[Check])] = &[
    ("Service", &[Below("spec")]),
    (
        "ServiceSpec",
        &[
            With(service_ports),
            With(cluster_address),
            With(no_address),
            With(service_selector),
            RequiredOneOf("type", SERVICE_TYPES),
            With(external_name),
            OneOf("sessionAffinity", &["ClientIP", "None"]),
            With(affinity_timeout),
            With(external_addresses),
            With(balancer_alone),
            OneOf("externalTrafficPolicy", &["Cluster", "Local"]),
            With(external_policy),
            OneOf("internalTrafficPolicy", &["Cluster", "Local"]),
            OneOf(
                "ipFamilyPolicy",
                &["PreferDualStack", "RequireDualStack", "SingleStack"],
            ),
            OneOf(
                "trafficDistribution",
                &["PreferClose", "PreferSameNode", "PreferSameZone"],
            ),
        ],
    ),
];

fn service_ports(at: &At<'_>, causes: &mut Vec<Cause>) {
    let ports = at.list("ports");
    let (headless, external) = (at.text("clusterIP") == "None", at.text("type") == "ExternalName");
    if ports.is_empty() && !headless && !external {
        causes.push(Cause::required(at.field("ports"), ""));
    }
    let node_ports = matches!(at.text("type"), "NodePort" | "LoadBalancer");
    let mut seen = BTreeSet::new();
    for (index, given) in ports.iter().enumerate() {
        let path = at.field(&format!("ports[{index}]"));
        let name = given["name"].as_str().unwrap_or_default();
        if name.is_empty() && ports.len() > 1 {
            causes.push(Cause::required(format!("{path}.name"), ""));
        } else if !name.is_empty() {
            let faults = names::label(name);
            causes.extend(
                faults
                    .iter()
                    .map(|why| Cause::invalid(format!("{path}.name"), &name.into(), why)),
            );
            if !seen.insert(name) {
                causes.push(Cause::duplicate(format!("{path}.name"), &name.into()));
            }
        }
        causes.extend(port(&given["port"], &format!("{path}.port")));
        match given["protocol"].as_str().unwrap_or_default() {
            "" => causes.push(Cause::required(format!("{path}.protocol"), "")),
            "SCTP" | "TCP" | "UDP" => {}
            _ => causes.push(Cause::unsupported(
                format!("{path}.protocol"),
                &given["protocol"],
                &["SCTP", "TCP", "UDP"],
            )),
        }
        causes.extend(port(&given["targetPort"], &format!("{path}.targetPort")));
    }
    for (index, given) in ports.iter().enumerate() {
        let path = at.field(&format!("ports[{index}]"));
        let twice = ports[..index]
            .iter()
            .any(|p| p["port"] == given["port"] && p["protocol"] == given["protocol"]);
        if twice {
            causes.push(Cause {
                reason: "FieldValueDuplicate",
                message: format!(
                    "Duplicate value: {{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,\"Port\":{},\"TargetPort\":0,\"NodePort\":0}}",
                    given["protocol"], given["port"]
                ),
                field: path.clone(),
            });
        }
        match given["nodePort"].as_i64().unwrap_or(0) {
            0 => {}
            number if node_ports && !(30_000..=32_767).contains(&number) => {
                let why = "provided port is not in the valid range. The range of valid ports is 30000-32767";
                causes.push(Cause::invalid(format!("{path}.nodePort"), &given["nodePort"], why));
            }
            _ if node_ports => {}
            _ => {
                let why = format!("may not be used when `type` is '{}'", at.text("type"));
                causes.push(Cause::forbidden(format!("{path}.nodePort"), why));
            }
        }
    }
}

fn cluster_address(at: &At<'_>, causes: &mut Vec<Cause>) {
    let kind = at.text("type");
    let given = match at.list("clusterIPs") {
        [] => vec![at.get("clusterIP")],
        many => many.iter().collect(),
    };
    for (index, address) in given.into_iter().enumerate() {
        let path = at.field(&format!("clusterIPs[{index}]"));
        match address.as_str().unwrap_or_default() {
            "" => {}
            "None" if matches!(kind, "NodePort" | "LoadBalancer") => {
                let why = format!("may not be set to 'None' for {kind} services");
                causes.push(Cause::invalid(path, address, why));
            }
            "None" => {}
            text => match text.parse::<IpAddr>() {
                Err(_) => causes.push(Cause::invalid(path, address, NOT_AN_ADDRESS)),
                Ok(ip) if !in_service_range(ip) => {
                    let why =
                        format!("failed to allocate IP {text}: the provided network does not match the current range");
                    let shown = Value::Array(vec![address.clone()]);
                    causes.push(Cause::invalid(at.field("clusterIPs"), &shown, why));
                }
                Ok(_) => {}
            },
        }
    }
}

/// The range that service addresses come from: 10.96.0.0/12.
fn in_service_range(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.octets()[0] == 10 && (96..112).contains(&v4.octets()[1]),
        IpAddr::V6(_) => false,
    }
}

fn service_selector(at: &At<'_>, causes: &mut Vec<Cause>) {
    causes.extend(super::metadata::labels(&at.field("selector"), at.get("selector")));
}

fn external_name(at: &At<'_>, causes: &mut Vec<Cause>) {
    if at.text("type") != "ExternalName" {
        return;
    }
    let name = at.text("externalName").trim_end_matches('.');
    if name.is_empty() {
        causes.push(Cause::required(at.field("externalName"), ""));
    } else {
        let faults = names::subdomain(name);
        causes.extend(
            faults
                .iter()
                .map(|why| Cause::invalid(at.field("externalName"), at.get("externalName"), why)),
        );
    }
}

/// A name elsewhere has no address here.
fn no_address(at: &At<'_>, causes: &mut Vec<Cause>) {
    if at.text("type") != "ExternalName" {
        return;
    }
    let why = "may not be set for ExternalName services";
    for field in ["clusterIPs", "ipFamilies"] {
        let single = field == "clusterIPs" && !at.text("clusterIP").is_empty();
        if !at.list(field).is_empty() || single {
            causes.push(Cause::forbidden(at.field(field), why));
        }
    }
    if !at.get("ipFamilyPolicy").is_null() {
        causes.push(Cause::forbidden(at.field("ipFamilyPolicy"), why));
    }
}

fn affinity_timeout(at: &At<'_>, causes: &mut Vec<Cause>) {
    let path = "sessionAffinityConfig.clientIP.timeoutSeconds";
    let seconds = at.get(path);
    match at.text("sessionAffinity") {
        "ClientIP" if seconds.as_i64().is_some_and(|n| !(1..=86_400).contains(&n)) => {
            let why = "must be greater than 0 and less than 86400";
            causes.push(Cause::invalid(at.field(path), seconds, why));
        }
        "None" if !at.get("sessionAffinityConfig").is_null() => {
            let why = "must not be set when session affinity is None";
            causes.push(Cause::forbidden(at.field("sessionAffinityConfig"), why));
        }
        _ => {}
    }
}

fn external_addresses(at: &At<'_>, causes: &mut Vec<Cause>) {
    for (index, address) in at.list("externalIPs").iter().enumerate() {
        if address.as_str().unwrap_or_default().parse::<IpAddr>().is_err() {
            let path = at.field(&format!("externalIPs[{index}]"));
            causes.push(Cause::invalid(path, address, NOT_AN_ADDRESS));
        }
    }
}

/// What only balanced services have.
fn balancer_alone(at: &At<'_>, causes: &mut Vec<Cause>) {
    let balanced = at.text("type") == "LoadBalancer";
    let why = "may only be used when `type` is 'LoadBalancer'";
    let ranges = at.list("loadBalancerSourceRanges");
    if !ranges.is_empty() && !balanced {
        causes.push(Cause::forbidden(at.field("loadBalancerSourceRanges"), why));
    }
    for (index, range) in ranges.iter().enumerate() {
        if balanced && !format::is_cidr(range.as_str().unwrap_or_default().trim()) {
            let why = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
            let path = at.field(&format!("loadBalancerSourceRanges[{index}]"));
            causes.push(Cause::invalid(path, range, why));
        }
    }
    for field in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
        if !at.get(field).is_null() && !balanced {
            causes.push(Cause::forbidden(at.field(field), why));
        }
    }
}

fn external_policy(at: &At<'_>, causes: &mut Vec<Cause>) {
    let kind = at.text("type");
    let reached = matches!(kind, "LoadBalancer" | "NodePort") || !at.list("externalIPs").is_empty();
    let policy = at.get("externalTrafficPolicy");
    if !policy.is_null() && policy != "" && !reached {
        let why = "may only be set for externally-accessible services";
        causes.push(Cause::invalid(at.field("externalTrafficPolicy"), policy, why));
    }
    let checked = kind == "LoadBalancer" && policy == "Local";
    let number = at.get("healthCheckNodePort");
    if number.as_i64().is_some_and(|n| n != 0) && !checked {
        let why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        causes.push(Cause::invalid(at.field("healthCheckNodePort"), number, why));
    }
}
