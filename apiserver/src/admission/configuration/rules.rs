//! Rules that say which requests a webhook or policy is about, and their selectors.

use serde_json::Value;

use super::{list, one_of};
use crate::builtins::names;
use crate::error::Cause;

/// Checks a rule with operations.
pub(super) fn rule(rule: &Value, path: &str, causes: &mut Vec<Cause>) {
    for field in ["operations", "apiGroups", "apiVersions", "resources"] {
        let entries = list(rule, field);
        let at = format!("{path}.{field}");
        if entries.is_empty() {
            causes.push(Cause::required(at, ""));
            continue;
        }
        let what = match field {
            "operations" => "operations",
            "apiGroups" => "API groups",
            "apiVersions" => "API versions",
            _ => {
                resources(rule, &at, causes);
                continue;
            }
        };
        if entries.len() > 1 && entries.iter().any(|entry| entry == "*") {
            let shown = if field == "operations" { what } else { &what.to_owned() };
            causes.push(Cause::invalid(
                &at,
                &rule[field],
                format!("if '*' is present, must not specify other {shown}"),
            ));
        }
        if field == "operations" {
            let known = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
            for (index, entry) in entries
                .iter()
                .enumerate()
                .filter(|(_, e)| !known.iter().any(|k| e == k))
            {
                causes.push(Cause::unsupported(format!("{at}[{index}]"), entry, &known));
            }
        }
        if field == "apiVersions" {
            for (index, _) in entries.iter().enumerate().filter(|(_, entry)| *entry == "") {
                causes.push(Cause::required(format!("{at}[{index}]"), ""));
            }
        }
    }
    one_of(
        rule,
        "scope",
        &format!("{path}."),
        &["*", "Cluster", "Namespaced"],
        causes,
    );
}

fn resources(rule: &Value, path: &str, causes: &mut Vec<Cause>) {
    let entries = list(rule, "resources");
    if entries.len() > 1 && entries.iter().any(|entry| entry == "*/*") {
        let detail = "if '*/*' is present, must not specify other resources";
        causes.push(Cause::invalid(path, &rule["resources"], detail));
        return;
    }
    let texts: Vec<&str> = entries.iter().filter_map(Value::as_str).collect();
    for (index, entry) in texts.iter().enumerate() {
        let at = format!("{path}[{index}]");
        if entry.is_empty() {
            causes.push(Cause::required(at, ""));
            continue;
        }
        let (resource, sub) = entry.split_once('/').unwrap_or((entry, ""));
        let of_all = !sub.is_empty() && resource != "*" && texts.contains(&format!("*/{sub}").as_str());
        let of_resource = !sub.is_empty() && sub != "*" && texts.contains(&format!("{resource}/*").as_str());
        if of_all {
            causes.push(Cause::invalid(
                &at,
                &(*entry).into(),
                format!("if '*/{sub}' is present, must not specify {entry}"),
            ));
        }
        if of_resource {
            causes.push(Cause::invalid(
                &at,
                &(*entry).into(),
                format!("if '{resource}/*' is present, must not specify {entry}"),
            ));
        }
    }
    if texts.len() > 1 && texts.contains(&"*") && texts.iter().any(|entry| !entry.contains('/') && *entry != "*") {
        let detail = "if '*' is present, must not specify other resources without subresources";
        causes.push(Cause::invalid(path, &rule["resources"], detail));
    }
}

/// Checks a label selector.
pub(super) fn selector(selector: &Value, path: &str, causes: &mut Vec<Cause>) {
    for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
        let at = format!("{path}.matchLabels");
        causes.extend(
            names::qualified(key)
                .into_iter()
                .map(|fault| Cause::invalid(&at, &key.as_str().into(), fault)),
        );
        let value_text = value.as_str().unwrap_or_default();
        causes.extend(
            names::label_value(value_text)
                .into_iter()
                .map(|fault| Cause::invalid(&at, value, fault)),
        );
    }
    for (index, expression) in list(selector, "matchExpressions").iter().enumerate() {
        let at = format!("{path}.matchExpressions[{index}]");
        let values = list(expression, "values");
        match expression["operator"].as_str().unwrap_or_default() {
            "In" | "NotIn" if values.is_empty() => {
                let detail = "must be specified when `operator` is 'In' or 'NotIn'";
                causes.push(Cause::required(format!("{at}.values"), detail));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                causes.push(Cause::forbidden(format!("{at}.values"), detail));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => {
                let detail = "not a valid selector operator";
                causes.push(Cause::invalid(
                    format!("{at}.operator"),
                    &expression["operator"],
                    detail,
                ));
            }
        }
    }
}
