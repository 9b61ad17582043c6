//! Keys with one value, and those whose parentheses hold numbers and durations.

use proc_macro2::{Group, TokenStream};

use super::args::Value;
use super::{keys, literals, options, rule, unknown};
use crate::args::{Arg, Known, Shape, example, fits, spaced};
use crate::diag::Diag;
use crate::value;

/// Reads a setting. `None`: no such key; `Some(None)`: reported.
pub(super) fn parse(arg: &Arg, diag: &mut Diag) -> Option<Option<Value>> {
    let name = &*arg.name();
    let example = example(keys::CONTROLLER, name);
    let mut plain = |parse: fn(TokenStream, &str, &mut Diag) -> Option<TokenStream>| {
        value_of(arg, example, diag)
            .and_then(|v| parse(v, example, diag))
            .map(Value::Plain)
    };
    let read = match name {
        "workers" => plain(literals::positive),
        "name" => plain(|v, e, d| literals::text(v, e, value::check_dns_label, d)),
        "finalizer" => plain(|v, e, d| literals::text(v, e, value::check_finalizer, d)),
        "field_manager" => plain(|v, e, d| literals::text(v, e, value::check_field_manager, d)),
        "labels" => plain(|v, e, d| literals::text(v, e, value::check_label_selector, d)),
        "fields" => plain(|v, e, d| literals::text(v, e, value::check_field_selector, d)),
        "needs_leader" => plain(literals::boolean),
        "ungranted_client" => plain(|v, e, d| literals::text(v, e, value::check_reason, d)),
        "resync" | "timeout" => value_of(arg, example, diag)
            .and_then(|v| literals::duration(v, example, diag))
            .map(Value::Duration),
        "retired_finalizers" => value_of(arg, example, diag)
            .and_then(|v| literals::texts(v, example, value::check_finalizer, diag))
            .map(Value::RetiredFinalizers),
        "previous_managers" => value_of(arg, example, diag)
            .and_then(|v| literals::texts(v, example, value::check_field_manager, diag))
            .map(Value::PreviousManagers),
        "strip" => value_of(arg, example, diag)
            .and_then(|v| literals::texts(v, example, value::check_strip_path, diag))
            .map(Value::Strip),
        "event_filter" => value_of(arg, example, diag)
            .and_then(|v| options::parse_predicate(&v, diag))
            .map(Value::EventFilter),
        "source" => value_of(arg, example, diag)
            .and_then(|v| options::parse_function(&v, example, diag))
            .map(Value::Source),
        "own_events" => value_of(arg, example, diag)
            .and_then(|v| options::parse_own_events(v, diag))
            .map(Value::OwnEvents),
        "warmup" => Some(flag(arg, diag)),
        "backoff" => list_of(arg, example, diag).map(|list| parse_backoff(&list, diag)),
        "rate_limit" => list_of(arg, example, diag).and_then(|list| parse_rate_limit(&list, diag)),
        "rbac" => list_of(arg, example, diag)
            .and_then(|list| rule::parse(&list, diag))
            .map(Value::Rbac),
        _ => return None,
    };
    if read.is_none() && matches!(name, "finalizer" | "rbac" | "ungranted_client") {
        // What goes with it elsewhere is no mistake.
        diag.lose();
    }
    Some(read)
}

/// A key that stands alone. What is written behind it is reported, and the key counts.
fn flag(arg: &Arg, diag: &mut Diag) -> Value {
    let message = format!("`{0}` takes no value: write `{0}` alone, or leave it out", arg.key);
    match &arg.shape {
        Shape::Value(tokens) => diag.error(tokens, message),
        Shape::List(group) => diag.error(group, message),
        Shape::Flag | Shape::Unreadable => {}
    }
    Value::Flag
}

fn parse_backoff(list: &Group, diag: &mut Diag) -> Value {
    let (mut min, mut max) = (None, None);
    let args = inner(list, "backoff", keys::BACKOFF, diag);
    if list.stream().is_empty() {
        let example = example(keys::CONTROLLER, "backoff");
        diag.error(list, format!("nothing is set: write `{example}`, or leave the key out"));
    }
    let mut unread = Diag::default();
    for arg in args {
        let slot = if arg.name() == "min" { &mut min } else { &mut max };
        let example = example(keys::BACKOFF, &arg.name());
        let diag = quiet_if(arg.guessed, diag, &mut unread);
        let duration = value_of(&arg, example, diag).and_then(|v| literals::duration(v, example, diag));
        set_once(slot, duration, &arg, diag);
    }
    Value::Backoff { min, max }
}

fn parse_rate_limit(list: &Group, diag: &mut Diag) -> Option<Value> {
    let (mut per_second, mut burst) = (None, None);
    let args = inner(list, "rate_limit", keys::RATE_LIMIT, diag);
    let wrote = |key: &str| args.iter().any(|arg| arg.name() == key) || args.iter().any(|arg| arg.guessed);
    if !(wrote("per_second") && wrote("burst")) {
        let example = example(keys::CONTROLLER, "rate_limit");
        diag.error(
            list,
            format!("both `per_second` and `burst` are needed: write `{example}`"),
        );
    }
    let mut unread = Diag::default();
    for arg in args {
        let slot = if arg.name() == "burst" {
            &mut burst
        } else {
            &mut per_second
        };
        let example = example(keys::RATE_LIMIT, &arg.name());
        let diag = quiet_if(arg.guessed, diag, &mut unread);
        let number = value_of(&arg, example, diag).and_then(|v| literals::positive(v, example, diag));
        set_once(slot, number, &arg, diag);
    }
    Some(Value::RateLimit {
        per_second: per_second?,
        burst: burst?,
    })
}

/// The arguments in a key's parentheses; unknown ones are reported, and answered as what was meant.
pub(super) fn inner(list: &Group, outer: &str, known: Known, diag: &mut Diag) -> Vec<Arg> {
    let mut args = Vec::new();
    for arg in crate::args::parse_in_order(list.stream(), known, diag) {
        if arg.cfg.is_some() {
            diag.error(
                &arg.key,
                format!("`#[cfg(…)]` stands before a whole key: put it before `{outer}`"),
            );
        }
        if known.iter().any(|(key, _)| *key == arg.name()) {
            args.push(arg);
        } else {
            args.extend(unknown::inner_key(&arg, outer, known, diag));
        }
    }
    args
}

/// Where the mistakes of an argument go: nowhere, if it was guessed.
pub(super) fn quiet_if<'a>(guessed: bool, diag: &'a mut Diag, unread: &'a mut Diag) -> &'a mut Diag {
    if guessed { unread } else { diag }
}

/// The tokens after `=`, or a message that shows the right shape.
pub(crate) fn value_of(arg: &Arg, example: &str, diag: &mut Diag) -> Option<TokenStream> {
    match &arg.shape {
        Shape::Value(tokens) => Some(tokens.clone()),
        Shape::Flag => {
            diag.error(&arg.key, format!("`{}` needs a value: write `{example}`", arg.key));
            None
        }
        Shape::Unreadable => None,
        Shape::List(group) if group.stream().is_empty() => {
            diag.error(group, format!("`{}` takes a value: write `{example}`", arg.key));
            None
        }
        Shape::List(group) => {
            let value = group.stream();
            let shown = if fits(example, &value) {
                format!("{} = {}", arg.key, spaced(&value))
            } else {
                example.to_owned()
            };
            diag.error(group, format!("`{}` takes a value: write `{shown}`", arg.key));
            None
        }
    }
}

/// The parentheses after the key, or a message that shows the right shape.
fn list_of(arg: &Arg, example: &str, diag: &mut Diag) -> Option<Group> {
    match &arg.shape {
        Shape::List(group) => Some(group.clone()),
        Shape::Flag => {
            diag.error(&arg.key, format!("`{}` needs parentheses: write `{example}`", arg.key));
            None
        }
        Shape::Value(tokens) => {
            diag.error(tokens, format!("`{}` takes parentheses: write `{example}`", arg.key));
            None
        }
        Shape::Unreadable => None,
    }
}

pub(super) fn set_once<T>(slot: &mut Option<T>, value: Option<T>, arg: &Arg, diag: &mut Diag) {
    if slot.is_some() {
        diag.error(&arg.key, format!("`{}` is given twice: keep one", arg.key));
    } else {
        *slot = value;
    }
}
