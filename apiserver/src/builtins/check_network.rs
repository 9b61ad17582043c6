//! What services, slices, ingresses and network policies must be.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde_json::Value;

use super::checks::At;
use super::checks::Check::{self, Below, Named, OneOf, Required, RequiredOneOf, Selector, With};
use super::checks::{port, selector};
use super::names;
use crate::error::Cause;
use crate::schema::format;

const NOT_AN_ADDRESS: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

pub(super) const TABLE: &[(&str, &[Check])] = &[
    (
        "EndpointSlice",
        &[With(address_type), With(slice_ports), With(slice_endpoints)],
    ),
    ("Ingress", &[Below("spec")]),
    (
        "IngressSpec",
        &[
            With(some_backend),
            With(default_backend),
            With(ingress_rules),
            With(ingress_tls),
            Named("ingressClassName", names::subdomain),
        ],
    ),
    ("IngressClass", &[Below("spec")]),
    (
        "IngressClassSpec",
        &[Required("controller"), With(controller), Below("parameters")],
    ),
    (
        "IngressClassParametersReference",
        &[
            Required("kind"),
            Required("name"),
            RequiredOneOf("scope", &["Cluster", "Namespace"]),
            With(parameters_namespace),
        ],
    ),
    ("NetworkPolicy", &[Below("spec")]),
    (
        "NetworkPolicySpec",
        &[
            Selector("podSelector"),
            Below("ingress"),
            Below("egress"),
            With(policy_types),
        ],
    ),
    ("NetworkPolicyIngressRule", &[Below("ports"), With(peers_from)]),
    ("NetworkPolicyEgressRule", &[Below("ports"), With(peers_to)]),
    (
        "NetworkPolicyPort",
        &[OneOf("protocol", &["TCP", "UDP", "SCTP"]), With(policy_port)],
    ),
];

fn address_type(at: &At<'_>, causes: &mut Vec<Cause>) {
    let allowed = ["FQDN", "IPv4", "IPv6"];
    match at.text("addressType") {
        "" => causes.push(Cause::required(at.field("addressType"), "")),
        given if allowed.contains(&given) => {}
        _ => causes.push(Cause::unsupported(
            at.field("addressType"),
            at.get("addressType"),
            &allowed,
        )),
    }
}

fn slice_ports(at: &At<'_>, causes: &mut Vec<Cause>) {
    let mut seen = BTreeSet::new();
    for (index, given) in at.list("ports").iter().enumerate() {
        let path = at.field(&format!("ports[{index}]"));
        let name = given["name"].as_str().unwrap_or_default();
        if !name.is_empty() {
            let faults = names::label(name);
            causes.extend(
                faults
                    .iter()
                    .map(|why| Cause::invalid(format!("{path}.name"), &name.into(), why)),
            );
        }
        if !seen.insert(name) {
            causes.push(Cause::duplicate(format!("{path}.name"), &name.into()));
        }
        if !given["port"].is_null() {
            causes.extend(port(&given["port"], &format!("{path}.port")));
        }
        let allowed = ["SCTP", "TCP", "UDP"];
        if given["protocol"].as_str().is_some_and(|p| !allowed.contains(&p)) {
            causes.push(Cause::unsupported(
                format!("{path}.protocol"),
                &given["protocol"],
                &allowed,
            ));
        }
    }
}

fn slice_endpoints(at: &At<'_>, causes: &mut Vec<Cause>) {
    let kind = at.text("addressType");
    for (index, endpoint) in at.list("endpoints").iter().enumerate() {
        let path = at.field(&format!("endpoints[{index}].addresses"));
        let addresses = endpoint["addresses"].as_array().map_or(&[][..], Vec::as_slice);
        if addresses.is_empty() {
            causes.push(Cause::required(path.as_str(), "must contain at least 1 address"));
        } else if addresses.len() > 100 {
            let message = format!("Too many: {}: must have at most 100 items", addresses.len());
            causes.push(Cause {
                reason: "FieldValueTooMany",
                message,
                field: path.clone(),
            });
        }
        for (number, address) in addresses.iter().enumerate() {
            let path = format!("{path}[{number}]");
            let text = address.as_str().unwrap_or_default();
            match (kind, text.parse::<IpAddr>()) {
                ("FQDN", _) => {
                    let faults = names::subdomain(text);
                    causes.extend(faults.iter().map(|why| Cause::invalid(path.as_str(), address, why)));
                }
                ("IPv4" | "IPv6", Err(_)) => causes.push(Cause::invalid(path, address, NOT_AN_ADDRESS)),
                ("IPv4", Ok(IpAddr::V6(_))) => causes.push(Cause::invalid(path, address, "must be an IPv4 address")),
                ("IPv6", Ok(IpAddr::V4(_))) => causes.push(Cause::invalid(path, address, "must be an IPv6 address")),
                (_, Ok(ip)) => causes.extend(special_address(ip, address, &path)),
                _ => {}
            }
        }
    }
}

/// Addresses that no endpoint can have.
fn special_address(ip: IpAddr, shown: &Value, path: &str) -> Option<Cause> {
    let link_local = match ip {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    let why = if ip.is_unspecified() {
        format!("may not be unspecified ({ip})")
    } else if ip.is_loopback() {
        "may not be in the loopback range (127.0.0.0/8, ::1/128)".to_owned()
    } else if link_local {
        "may not be in the link-local range (169.254.0.0/16, fe80::/10)".to_owned()
    } else if ip.is_multicast() {
        "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".to_owned()
    } else {
        return None;
    };
    Some(Cause::invalid(path, shown, why))
}

fn some_backend(at: &At<'_>, causes: &mut Vec<Cause>) {
    if at.list("rules").is_empty() && at.get("defaultBackend").is_null() {
        let why = "either `defaultBackend` or `rules` must be specified";
        causes.push(Cause::invalid(at.path, at.get("rules"), why));
    }
}

fn default_backend(at: &At<'_>, causes: &mut Vec<Cause>) {
    causes.extend(backend(at.get("defaultBackend"), &at.field("defaultBackend")));
}

fn backend(given: &Value, path: &str) -> Vec<Cause> {
    if given.is_null() {
        return Vec::new();
    }
    let mut causes = Vec::new();
    let (service, resource) = (&given["service"], &given["resource"]);
    match (service.is_null(), resource.is_null()) {
        (false, false) => {
            causes.push(Cause::invalid(
                path,
                &"".into(),
                "cannot set both resource and service backends",
            ));
        }
        (true, true) => causes.push(Cause::invalid(
            path,
            &"".into(),
            "resource or service backend is required",
        )),
        (true, false) => {
            for field in ["kind", "name"] {
                if resource[field].as_str().unwrap_or_default().is_empty() {
                    causes.push(Cause::required(format!("{path}.resource.{field}"), ""));
                }
            }
        }
        (false, true) => {
            let name = service["name"].as_str().unwrap_or_default();
            if name.is_empty() {
                causes.push(Cause::required(format!("{path}.service.name"), ""));
            } else {
                let faults = names::label_1035(name);
                let at = format!("{path}.service.name");
                causes.extend(faults.iter().map(|why| Cause::invalid(at.as_str(), &name.into(), why)));
            }
            let (name, number) = (
                service["port"]["name"].as_str().unwrap_or_default(),
                &service["port"]["number"],
            );
            let numbered = number.as_i64().is_some_and(|n| n != 0);
            if !name.is_empty() && numbered {
                causes.push(Cause::invalid(
                    path,
                    &"".into(),
                    "cannot set both port name & port number",
                ));
            } else if name.is_empty() && !numbered {
                causes.push(Cause::required(path, "port name or number is required"));
            } else if numbered {
                causes.extend(port(number, &format!("{path}.service.port.number")));
            } else {
                causes.extend(port(&name.into(), &format!("{path}.service.port.name")));
            }
        }
    }
    causes
}

fn ingress_rules(at: &At<'_>, causes: &mut Vec<Cause>) {
    for (index, rule) in at.list("rules").iter().enumerate() {
        let path = at.field(&format!("rules[{index}]"));
        causes.extend(host(&rule["host"], &format!("{path}.host")));
        let Some(http) = rule.get("http").filter(|http| !http.is_null()) else {
            continue;
        };
        let paths = http["paths"].as_array().map_or(&[][..], Vec::as_slice);
        if paths.is_empty() {
            causes.push(Cause::required(format!("{path}.http.paths"), ""));
        }
        for (number, given) in paths.iter().enumerate() {
            let path = format!("{path}.http.paths[{number}]");
            let text = given["path"].as_str().unwrap_or_default();
            match given["pathType"].as_str().unwrap_or_default() {
                "" => causes.push(Cause::required(
                    format!("{path}.pathType"),
                    "pathType must be specified",
                )),
                "Exact" | "Prefix" => {
                    if !text.starts_with('/') {
                        causes.push(Cause::invalid(
                            format!("{path}.path"),
                            &text.into(),
                            "must be an absolute path",
                        ));
                    }
                    for sequence in ["//", "/./", "/../", "%2f", "%2F"] {
                        if text.contains(sequence) {
                            let why = format!("must not contain '{sequence}'");
                            causes.push(Cause::invalid(format!("{path}.path"), &text.into(), why));
                        }
                    }
                }
                "ImplementationSpecific" => {
                    if !text.is_empty() && !text.starts_with('/') {
                        causes.push(Cause::invalid(
                            format!("{path}.path"),
                            &text.into(),
                            "must be an absolute path",
                        ));
                    }
                }
                _ => {
                    let allowed = ["Exact", "ImplementationSpecific", "Prefix"];
                    causes.push(Cause::unsupported(
                        format!("{path}.pathType"),
                        &given["pathType"],
                        &allowed,
                    ));
                }
            }
            causes.extend(backend(&given["backend"], &format!("{path}.backend")));
        }
    }
}

fn ingress_tls(at: &At<'_>, causes: &mut Vec<Cause>) {
    for (index, tls) in at.list("tls").iter().enumerate() {
        for (number, given) in tls["hosts"].as_array().into_iter().flatten().enumerate() {
            causes.extend(host(given, &at.field(&format!("tls[{index}].hosts[{number}]"))));
        }
    }
}

fn host(given: &Value, path: &str) -> Vec<Cause> {
    let text = given.as_str().unwrap_or_default();
    if text.is_empty() {
        return Vec::new();
    }
    if text.parse::<IpAddr>().is_ok() {
        return vec![Cause::invalid(path, given, "must be a DNS name, not an IP address")];
    }
    let plain = text.strip_prefix("*.").unwrap_or(text);
    names::subdomain(plain)
        .iter()
        .map(|why| Cause::invalid(path, given, why))
        .collect()
}

fn controller(at: &At<'_>, causes: &mut Vec<Cause>) {
    let given = at.text("controller");
    if !given.is_empty() && !given.contains('/') {
        let why = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        causes.push(Cause::invalid(at.field("controller"), &given.into(), why));
    }
}

fn parameters_namespace(at: &At<'_>, causes: &mut Vec<Cause>) {
    let given = at.get("namespace");
    match at.text("scope") {
        "Namespace" if given.is_null() => {
            causes.push(Cause::required(
                at.field("namespace"),
                "`parameters.scope` is set to 'Namespace'",
            ));
        }
        "Cluster" if !given.is_null() => {
            causes.push(Cause::forbidden(
                at.field("namespace"),
                "`parameters.scope` is set to 'Cluster'",
            ));
        }
        _ => {}
    }
}

fn policy_port(at: &At<'_>, causes: &mut Vec<Cause>) {
    causes.extend(port(at.get("port"), &at.field("port")));
    let Some(end) = at.get("endPort").as_i64() else { return };
    match at.get("port") {
        Value::Null => {
            causes.push(Cause::invalid(
                at.field("endPort"),
                &end.into(),
                "may not be specified when `port` is not specified",
            ));
        }
        Value::String(_) => {
            causes.push(Cause::invalid(
                at.field("endPort"),
                &end.into(),
                "may not be specified when `port` is non-numeric",
            ));
        }
        start if start.as_i64().is_some_and(|start| end < start) => {
            causes.push(Cause::invalid(
                at.field("endPort"),
                &end.into(),
                "must be greater than or equal to `port`",
            ));
        }
        _ => {}
    }
}

fn peers_from(at: &At<'_>, causes: &mut Vec<Cause>) {
    peers(at, "from", causes);
}

fn peers_to(at: &At<'_>, causes: &mut Vec<Cause>) {
    peers(at, "to", causes);
}

fn peers(at: &At<'_>, field: &str, causes: &mut Vec<Cause>) {
    for (index, peer) in at.list(field).iter().enumerate() {
        let path = at.field(&format!("{field}[{index}]"));
        let mut kinds = 0;
        for kind in ["podSelector", "namespaceSelector"] {
            if !peer[kind].is_null() {
                kinds += 1;
                causes.extend(selector(&peer[kind], &format!("{path}.{kind}")));
            }
        }
        let block = &peer["ipBlock"];
        if !block.is_null() {
            let cidr = block["cidr"].as_str().unwrap_or_default();
            if cidr.is_empty() {
                causes.push(Cause::required(format!("{path}.ipBlock.cidr"), ""));
            } else if !format::is_cidr(cidr) {
                let why = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
                causes.push(Cause::invalid(format!("{path}.ipBlock.cidr"), &cidr.into(), why));
            }
            if kinds > 0 {
                causes.push(Cause::forbidden(
                    path.as_str(),
                    "may not specify both ipBlock and another peer",
                ));
            }
            kinds += 1;
        }
        if kinds == 0 {
            causes.push(Cause::required(path, "must specify a peer"));
        }
    }
}

fn policy_types(at: &At<'_>, causes: &mut Vec<Cause>) {
    let types = at.list("policyTypes");
    if types.len() > 2 {
        let why = "may not specify more than two policyTypes";
        causes.push(Cause::invalid(at.field("policyTypes"), at.get("policyTypes"), why));
        return;
    }
    for (index, given) in types.iter().enumerate() {
        if given != "Ingress" && given != "Egress" {
            let path = at.field(&format!("policyTypes[{index}]"));
            causes.push(Cause::unsupported(path, given, &["Ingress", "Egress"]));
        }
    }
}
