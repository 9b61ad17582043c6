//! Rules about several keys at once. Each function shows the input that it refuses.

use std::collections::HashMap;

use super::args::{Args, Call, Value};
use super::literals::Duration;
use crate::diag::Diag;

pub(crate) fn check(args: &Args, diag: &mut Diag) {
    check_primary_given(args, diag);
    check_single_keys_once(args, diag);
    check_kinds_once(args, diag);
    check_owned_not_written(args, diag);
    check_backoff_order(args, diag);
}

/// `#[controller(owns = Deployment)]`
fn check_primary_given(args: &Args, diag: &mut Diag) {
    if !args.has_for {
        diag.error_at(
            proc_macro2::Span::call_site(),
            "`for` is missing: name the primary kind, as in `#[controller(for = App)]`",
        );
    }
}

/// `#[controller(for = App, workers = 2, workers = 3)]`
fn check_single_keys_once(args: &Args, diag: &mut Diag) {
    let mut seen = Vec::new();
    for call in args.calls.iter().filter(|call| !may_repeat(&call.value)) {
        let key = call.key.to_string();
        if seen.contains(&key) {
            diag.error(&call.key, format!("`{key}` is given twice: keep one"));
        } else {
            seen.push(key);
        }
    }
}

/// `#[controller(for = App, owns = Secret, owns = Secret)]`
fn check_kinds_once(args: &Args, diag: &mut Diag) {
    let mut seen: HashMap<(String, String), ()> = HashMap::new();
    for call in &args.calls {
        // Two watches of one kind may differ in their map functions.
        let (Value::Owns(kind, _) | Value::Live(kind) | Value::Writes(kind) | Value::Updates(kind)) = &call.value
        else {
            continue;
        };
        let key = call.key.to_string();
        if seen.insert((key.clone(), kind.text()), ()).is_some() {
            diag.error(kind, format!("`{key} = {}` is given twice: keep one", kind.text()));
        }
    }
}

/// `#[controller(for = App, owns = Secret, writes = Secret)]`
fn check_owned_not_written(args: &Args, diag: &mut Diag) {
    let owned: Vec<String> = args.calls.iter().filter_map(owned_kind).collect();
    for call in &args.calls {
        if let Value::Writes(kind) = &call.value
            && owned.contains(&kind.text())
        {
            diag.error(
                kind,
                format!(
                    "`{0}` is owned already, which lets the controller write it: remove `writes = {0}`",
                    kind.text()
                ),
            );
        }
    }
}

/// `#[controller(for = App, backoff(min = "5m", max = "1s"))]`
fn check_backoff_order(args: &Args, diag: &mut Diag) {
    for call in &args.calls {
        if let Value::Backoff {
            min: Some(Duration::Literal(min, literal)),
            max: Some(Duration::Literal(max, _)),
        } = &call.value
            && min > max
        {
            diag.error(literal, "`min` is longer than `max`: exchange them");
        }
    }
}

fn may_repeat(value: &Value) -> bool {
    matches!(
        value,
        Value::Owns(..) | Value::Watches(..) | Value::Live(_) | Value::Writes(_) | Value::Updates(_) | Value::Rbac(_)
    )
}

fn owned_kind(call: &Call) -> Option<String> {
    match &call.value {
        Value::Owns(kind, _) => Some(kind.text()),
        _ => None,
    }
}
