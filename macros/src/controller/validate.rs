//! Rules about several keys at once. Each function shows the input that it refuses.
//!
//! Keys under `#[cfg(…)]` may exclude each other, and keys that were guessed have been reported: neither is compared.

use std::collections::BTreeSet;

use super::args::{Args, Call, Value};
use super::kinds::{Kind, Names};
use super::literals::Duration;
use crate::diag::Diag;

pub(crate) fn check(args: &Args, diag: &mut Diag) {
    check_primary_given(args, diag);
    let calls: Vec<&Call> = args
        .calls
        .iter()
        .filter(|call| call.cfg.is_none() && !call.guessed)
        .collect();
    check_single_keys_once(&calls, diag);
    check_kinds_once(&calls, diag);
    check_owned_not_written(&calls, diag);
    check_owned_not_tracked(&calls, diag);
    check_backoff_order(&calls, diag);
    check_finalizer_not_retired(&calls, diag);
    check_warmup_waits(&calls, diag);
}

/// `#[controller(owns = Deployment)]`
fn check_primary_given(args: &Args, diag: &mut Diag) {
    // A mistake in its place has been reported.
    let unreadable = diag.has_lost() && args.written.is_empty();
    if !args.has_for && !unreadable {
        diag.error_at(
            proc_macro2::Span::call_site(),
            "`for` is missing: name the primary kind, as in `#[controller(for = App)]`",
        );
    }
}

/// `#[controller(for = App, workers = 2, workers = 3)]`
fn check_single_keys_once(calls: &[&Call], diag: &mut Diag) {
    let mut seen = BTreeSet::new();
    for call in calls.iter().filter(|call| !may_repeat(&call.value)) {
        if !seen.insert(call.key.to_string()) {
            diag.error(&call.key, format!("`{}` is given twice: keep one", call.key));
        }
    }
}

/// `#[controller(for = App, owns = Secret, owns = Secret)]`
fn check_kinds_once(calls: &[&Call], diag: &mut Diag) {
    let (mut names, mut seen) = (Names::default(), BTreeSet::new());
    for call in calls {
        let (kind, map) = match &call.value {
            Value::Owns(kind, _) | Value::Live(kind) | Value::Writes(kind) | Value::Updates(kind) => (kind, None),
            // Two watches of one kind may differ in their map functions.
            Value::Watches(kind, Some(map), _) => (kind, Some(quote::quote!(#map).to_string())),
            _ => continue,
        };
        if seen.insert((call.key.to_string(), names.canonical(kind), map.clone())) {
            continue;
        }
        let written = match map {
            Some(map) => format!("{}({}, map = {map})", call.key, kind.text()),
            None => format!("{} = {}", call.key, kind.text()),
        };
        diag.error(kind, format!("`{written}` is given twice: keep one"));
    }
}

/// `#[controller(for = App, owns = Secret, tracks = Secret)]`
fn check_owned_not_tracked(calls: &[&Call], diag: &mut Diag) {
    let mut names = Names::default();
    let mut owned = BTreeSet::new();
    for call in calls.iter().filter(|call| call.key == "owns") {
        owned.extend(owned_kind(call).map(|kind| names.canonical(kind)));
    }
    for call in calls.iter().filter(|call| call.key == "tracks") {
        if let Some(kind) = owned_kind(call)
            && owned.contains(&names.canonical(kind))
        {
            diag.error(
                kind,
                format!(
                    "`{0}` is owned already: keep `owns = {0}` for children beside the primary, or `tracks = {0}` for \
                     those elsewhere",
                    kind.text()
                ),
            );
        }
    }
}

/// `#[controller(for = App, owns = Secret, writes = Secret)]`
fn check_owned_not_written(calls: &[&Call], diag: &mut Diag) {
    let mut names = Names::default();
    let owned: BTreeSet<String> = calls
        .iter()
        .filter_map(|call| owned_kind(call).map(|kind| names.canonical(kind)))
        .collect();
    for call in calls {
        if let Value::Writes(kind) = &call.value
            && owned.contains(&names.canonical(kind))
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
fn check_backoff_order(calls: &[&Call], diag: &mut Diag) {
    const DEFAULT_MIN: std::time::Duration = std::time::Duration::from_millis(5);
    const DEFAULT_MAX: std::time::Duration = std::time::Duration::from_secs(1000);
    for call in calls {
        match &call.value {
            Value::Backoff {
                min: Some(Duration::Literal(min, literal)),
                max: Some(Duration::Literal(max, _)),
            } if min > max => diag.error(literal, "`min` is longer than `max`: exchange them"),
            Value::Backoff {
                min: Some(Duration::Literal(min, literal)),
                max: None,
            } if *min > DEFAULT_MAX => diag.error(
                literal,
                format!(
                    "`min` is longer than `max`, which is 1000 s by default: add `max = {}`",
                    quote::quote!(#literal)
                ),
            ),
            Value::Backoff {
                min: None,
                max: Some(Duration::Literal(max, literal)),
            } if *max < DEFAULT_MIN => diag.error(
                literal,
                format!(
                    "`max` is shorter than `min`, which is 5 ms by default: add `min = {}`",
                    quote::quote!(#literal)
                ),
            ),
            _ => {}
        }
    }
}

/// `#[controller(for = App, finalizer = "demo.dev/x", retired_finalizers = ["demo.dev/x"])]`
fn check_finalizer_not_retired(calls: &[&Call], diag: &mut Diag) {
    let in_use = calls.iter().find_map(|call| match &call.value {
        Value::Plain(name) if call.key == "finalizer" => Some(name.to_string()),
        _ => None,
    });
    for call in calls {
        let Value::RetiredFinalizers(names) = &call.value else {
            continue;
        };
        let mut seen = BTreeSet::new();
        for name in names {
            let text = name.to_string();
            if Some(&text) == in_use.as_ref() {
                diag.error(
                    name,
                    format!("{text} is the finalizer in use: remove it from `retired_finalizers`"),
                );
            } else if !seen.insert(text.clone()) {
                diag.error(name, format!("{text} is listed twice: keep one"));
            }
        }
    }
}

/// `#[controller(for = App, needs_leader = false, warmup)]`
fn check_warmup_waits(calls: &[&Call], diag: &mut Diag) {
    let everywhere = calls.iter().any(|call| match &call.value {
        Value::Plain(value) => call.key == "needs_leader" && value.to_string() == "false",
        _ => false,
    });
    for call in calls.iter().filter(|call| everywhere && call.key == "warmup") {
        diag.error(
            &call.key,
            "with `needs_leader = false` the controller runs at once and has nothing to warm up for: remove `warmup`",
        );
    }
}

fn may_repeat(value: &Value) -> bool {
    matches!(
        value,
        Value::Owns(..)
            | Value::Watches(..)
            | Value::Live(_)
            | Value::Writes(_)
            | Value::Updates(_)
            | Value::Rbac(_)
            | Value::Source(_)
    )
}

fn owned_kind<'a>(call: &&'a Call) -> Option<&'a Kind> {
    match &call.value {
        Value::Owns(kind, _) => Some(kind),
        _ => None,
    }
}
