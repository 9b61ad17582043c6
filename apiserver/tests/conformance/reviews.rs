//! The reviews of a step, in an order that can be compared.

use crate::case::{Case, Order};
use crate::json::Json;
use crate::names::Names;

/// Entries of managedFields by operation, manager, version and subresource: their own order hangs on the second in
/// which something was written.
pub(crate) fn by_owner(value: &mut Json) {
    match value {
        Json::Object(fields) => {
            for (name, value) in fields {
                by_owner(value);
                if let (true, Json::Array(entries)) = (name == "managedFields", value) {
                    entries.sort_by_key(|entry| {
                        // Where there is no subresource, the recorder sorted by this word.
                        let part = |name: &str| entry.get(name).as_str().unwrap_or("None").to_owned();
                        ["operation", "manager", "apiVersion", "subresource"].map(part)
                    });
                }
            }
        }
        Json::Array(items) => items.iter_mut().for_each(by_owner),
        _ => {}
    }
}

/// The reviews as the case wants them compared.
pub(crate) fn ordered(case: &Case, calls: Vec<Json>, names: &Names) -> Vec<Json> {
    let mut out: Vec<Json> = Vec::new();
    for mut call in calls {
        by_owner(&mut call);
        if matches!(case.order, Order::Set | Order::Distinct) {
            // How often something is converted is the server's own affair.
            anonymous(&mut call);
            if out.contains(&call) {
                continue;
            }
        }
        out.push(call);
    }
    match case.order {
        Order::AsCalled | Order::Distinct => {
            // Validating webhooks are called at the same time, after the mutating ones.
            let aside = |call: &Json| {
                let hook = call.get("hook").as_str().unwrap_or_default();
                let parallel = case.parallel.iter().any(|name| name == hook);
                (parallel, if parallel { hook.to_owned() } else { String::new() })
            };
            out.sort_by_key(aside);
        }
        Order::Sorted | Order::Set => out.sort_by_cached_key(|call| names.scrubbed(&sorted(call).to_string())),
    }
    out
}

/// Whether every review that came is among those that were recorded: the real server converts more often than a
/// client can tell.
pub(crate) fn are_some_of(recorded: &Json, got: &Json) -> bool {
    got.items().iter().all(|call| recorded.items().contains(call))
}

fn anonymous(call: &mut Json) {
    if let Json::Object(fields) = call {
        for (name, value) in fields {
            match name.as_str() {
                "body" | "request" => anonymous(value),
                "uid" => *value = "<review>".into(),
                _ => {}
            }
        }
    }
}

fn sorted(value: &Json) -> Json {
    match value {
        Json::Object(fields) => {
            let mut fields: Vec<(String, Json)> = fields
                .iter()
                .map(|(name, value)| (name.clone(), sorted(value)))
                .collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            Json::Object(fields)
        }
        Json::Array(items) => Json::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}
