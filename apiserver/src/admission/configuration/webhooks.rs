//! Webhook configurations.

use serde_json::Value;

use super::expressions::{REQUEST, conditions};
use super::rules::{rule, selector};
use super::{list, one_of, text};
use crate::error::Cause;

const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];

pub(super) fn validate(configuration: &Value, mutating: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    let webhooks = list(configuration, "webhooks");
    for (index, webhook) in webhooks.iter().enumerate() {
        let path = format!("webhooks[{index}]");
        self::webhook(webhook, &path, mutating, &mut causes);
        let name = &webhook["name"];
        if webhooks[..index].iter().any(|earlier| earlier["name"] == *name) {
            causes.push(Cause::duplicate(format!("{path}.name"), name));
        }
    }
    causes
}

fn webhook(webhook: &Value, path: &str, mutating: bool, causes: &mut Vec<Cause>) {
    name(text(webhook, "name"), &format!("{path}.name"), causes);
    review_versions(webhook, path, causes);
    for (index, entry) in list(webhook, "rules").iter().enumerate() {
        rule(entry, &format!("{path}.rules[{index}]"), causes);
    }
    let dotted = format!("{path}.");
    one_of(webhook, "failurePolicy", &dotted, &["Fail", "Ignore"], causes);
    one_of(webhook, "matchPolicy", &dotted, &["Equivalent", "Exact"], causes);
    if text(webhook, "sideEffects").is_empty() {
        causes.push(Cause::required(
            format!("{path}.sideEffects"),
            "must specify one of None, NoneOnDryRun",
        ));
    } else {
        one_of(webhook, "sideEffects", &dotted, &["None", "NoneOnDryRun"], causes);
    }
    if mutating {
        one_of(webhook, "reinvocationPolicy", &dotted, &["IfNeeded", "Never"], causes);
    }
    let seconds = &webhook["timeoutSeconds"];
    if seconds.as_i64().is_some_and(|seconds| !(1..=30).contains(&seconds)) {
        let detail = "the timeout value must be between 1 and 30 seconds";
        causes.push(Cause::invalid(format!("{path}.timeoutSeconds"), seconds, detail));
    }
    for field in ["namespaceSelector", "objectSelector"] {
        selector(&webhook[field], &format!("{path}.{field}"), causes);
    }
    client_config(&webhook["clientConfig"], &format!("{path}.clientConfig"), causes);
    conditions(webhook, &dotted, &REQUEST, causes);
}

fn name(name: &str, path: &str, causes: &mut Vec<Cause>) {
    if name.is_empty() {
        causes.push(Cause::required(path, ""));
        return;
    }
    let faults = crate::builtins::names::subdomain(name);
    let qualified = name.split('.').count() >= 3;
    causes.extend(
        faults
            .into_iter()
            .map(|fault| Cause::invalid(path, &name.into(), fault)),
    );
    if !qualified {
        let detail = "should be a domain with at least three segments separated by dots";
        causes.push(Cause::invalid(path, &name.into(), detail));
    }
}

fn review_versions(webhook: &Value, path: &str, causes: &mut Vec<Cause>) {
    let versions = list(webhook, "admissionReviewVersions");
    let at = format!("{path}.admissionReviewVersions");
    if versions.is_empty() {
        causes.push(Cause::required(at, "must specify one of v1, v1beta1"));
    } else if !versions
        .iter()
        .any(|version| REVIEW_VERSIONS.iter().any(|known| version == known))
    {
        let detail = "must include at least one of v1, v1beta1";
        causes.push(Cause::invalid(at, &webhook["admissionReviewVersions"], detail));
    }
}

fn client_config(config: &Value, path: &str, causes: &mut Vec<Cause>) {
    let (url, service) = (config["url"].as_str(), &config["service"]);
    match (url, service.is_null()) {
        (Some(url), true) => self::url(url, &format!("{path}.url"), causes),
        (None, false) => self::service(service, &format!("{path}.service"), causes),
        _ => causes.push(Cause::required(path, "exactly one of url or service is required")),
    }
}

fn url(url: &str, path: &str, causes: &mut Vec<Cause>) {
    let mut wrong = |value: &str, detail: &str| causes.push(Cause::invalid(path, &value.into(), detail));
    const FORM: &str = "desired format: https://host[/path]";
    let Some((scheme, rest)) = url.split_once("://") else {
        wrong("", &format!("'https' is the only allowed URL scheme; {FORM}"));
        return;
    };
    if scheme != "https" {
        wrong(scheme, &format!("'https' is the only allowed URL scheme; {FORM}"));
    }
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = rest.split('/').next().unwrap_or_default();
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    if host.is_empty() {
        wrong(host, &format!("host must be specified; {FORM}"));
    }
    if !user.is_empty() {
        wrong(user, "user information is not permitted in the URL");
    }
    if !fragment.is_empty() {
        wrong(fragment, "fragments are not permitted in the URL");
    }
    if !query.is_empty() {
        wrong(query, "query parameters are not permitted in the URL");
    }
}

fn service(service: &Value, path: &str, causes: &mut Vec<Cause>) {
    // The real server's check takes name and namespace the other way round, and so blames the other one.
    for (given, blamed) in [("namespace", "name"), ("name", "namespace")] {
        if text(service, given).is_empty() {
            causes.push(Cause::required(format!("{path}.{blamed}"), ""));
        }
    }
    let port = &service["port"];
    if port.as_i64().is_some_and(|port| !(1..=65_535).contains(&port)) {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        causes.push(Cause::invalid(format!("{path}.port"), port, detail));
    }
    if let Some(way) = service["path"].as_str() {
        service_path(way, &format!("{path}.path"), causes);
    }
}

fn service_path(way: &str, at: &str, causes: &mut Vec<Cause>) {
    let mut wrong = |why: &str| causes.push(Cause::invalid(at, &way.into(), why));
    match way {
        "" | "/" => return,
        "//" => return wrong("segment[0] may not be empty"),
        _ => {}
    }
    if !way.starts_with('/') {
        wrong("must start with a '/'");
    }
    let mut characters = way.chars();
    characters.next();
    // A slash at the end is fine.
    let steps = characters.as_str();
    for (index, step) in steps.strip_suffix('/').unwrap_or(steps).split('/').enumerate() {
        if step.is_empty() {
            wrong(&format!("segment[{index}] may not be empty"));
            continue;
        }
        for fault in crate::builtins::names::subdomain(step) {
            wrong(&format!("segment[{index}]: {fault}"));
        }
    }
}
