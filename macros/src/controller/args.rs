//! What stands in the parentheses of the attribute, read and checked one key at a time.

use proc_macro2::{Group, Ident, TokenStream};

use super::keys;
use super::literals::{self, Duration};
use super::rule::{self, Rule};
use super::watch::{self, Kind, WatchOptions};
use crate::args::{Arg, Shape, nearest};
use crate::diag::Diag;
use crate::path::CratePath;
use crate::predicate::{FunctionValue, Predicate};
use crate::value;

/// The arguments, as far as they could be read.
#[derive(Default)]
pub(crate) struct Args {
    /// `crate = path`.
    pub(crate) krate: CratePath,
    /// `for = K`.
    pub(crate) primary: Option<(Ident, Kind)>,
    /// Whether something was written as `for`, right or wrong.
    pub(crate) has_for: bool,
    /// Everything else, in the order written.
    pub(crate) calls: Vec<Call>,
    /// All keys as written, unknown ones included, for the editor.
    pub(crate) written: Vec<Arg>,
}

/// One builder call.
pub(crate) struct Call {
    /// The key, with the user's span.
    pub(crate) key: Ident,
    /// Its value.
    pub(crate) value: Value,
}

/// The value of a key.
pub(crate) enum Value {
    Owns(Kind, WatchOptions),
    Watches(Kind, Option<FunctionValue>, WatchOptions),
    Live(Kind),
    Writes(Kind),
    Updates(Kind),
    Rbac(Rule),
    EventFilter(Predicate),
    Backoff {
        min: Option<Duration>,
        max: Option<Duration>,
    },
    RateLimit {
        per_second: TokenStream,
        burst: TokenStream,
    },
    RetiredFinalizers(Vec<TokenStream>),
    /// A key whose builder method takes the value as it stands.
    Plain(TokenStream),
    /// A duration.
    Duration(Duration),
}

/// Reads the arguments; whatever is wrong is reported and left out.
pub(crate) fn parse(tokens: TokenStream, diag: &mut Diag) -> Args {
    let mut args = Args {
        written: crate::args::parse(tokens, "for = App", diag),
        ..Args::default()
    };
    for arg in args.written.clone() {
        parse_arg(&mut args, &arg, diag);
    }
    args
}

fn parse_arg(args: &mut Args, arg: &Arg, diag: &mut Diag) {
    let name = arg.name();
    let example = keys::example(&keys::CONTROLLER, &name);
    match &*name {
        "for" => {
            args.has_for = true;
            if let Some(kind) = value_of(arg, example, diag).and_then(|v| watch::parse_kind(v, "for", diag)) {
                set_primary(args, arg, kind, diag);
            }
        }
        "crate" => {
            if let Some(tokens) = value_of(arg, example, diag) {
                match syn::parse2(tokens.clone()) {
                    Ok(path) => args.krate = CratePath::given(path),
                    Err(_) => diag.error(tokens, format!("expected a path, as in `{example}`")),
                }
            }
        }
        "owns" => parse_owns(args, arg, diag),
        "watches" => parse_watches(args, arg, diag),
        "live" => parse_kinds(args, arg, example, Value::Live, diag),
        "writes" => parse_kinds(args, arg, example, Value::Writes, diag),
        "updates" => parse_kinds(args, arg, example, Value::Updates, diag),
        _ => match parse_setting(arg, &name, example, diag) {
            Some(Some(value)) => args.calls.push(Call {
                key: arg.key.clone(),
                value,
            }),
            Some(None) => {}
            None => unknown_key(arg, &name, diag),
        },
    }
}

/// Keys with one value. `None`: no such key; `Some(None)`: reported.
fn parse_setting(arg: &Arg, name: &str, example: &str, diag: &mut Diag) -> Option<Option<Value>> {
    let mut plain = |parse: fn(TokenStream, &str, &mut Diag) -> Option<TokenStream>| {
        value_of(arg, example, diag)
            .and_then(|v| parse(v, example, diag))
            .map(Value::Plain)
    };
    Some(match name {
        "workers" => plain(literals::positive),
        "name" => plain(|v, e, d| literals::text(v, e, value::check_dns_label, d)),
        "finalizer" => plain(|v, e, d| literals::text(v, e, value::check_finalizer, d)),
        "field_manager" => plain(|v, e, d| literals::text(v, e, value::check_field_manager, d)),
        "labels" => plain(|v, e, d| literals::text(v, e, value::check_label_selector, d)),
        "fields" => plain(|v, e, d| literals::text(v, e, value::check_field_selector, d)),
        "needs_leader" => plain(literals::boolean),
        "resync" | "timeout" => value_of(arg, example, diag)
            .and_then(|v| literals::duration(v, example, diag))
            .map(Value::Duration),
        "retired_finalizers" => value_of(arg, example, diag)
            .map(|v| literals::texts(v, example, value::check_finalizer, diag))
            .map(Value::RetiredFinalizers),
        "event_filter" => value_of(arg, example, diag)
            .and_then(|v| watch::parse_predicate(&v, diag))
            .map(Value::EventFilter),
        "backoff" => list_of(arg, example, diag).and_then(|list| parse_backoff(&list, diag)),
        "rate_limit" => list_of(arg, example, diag).and_then(|list| parse_rate_limit(&list, diag)),
        "rbac" => list_of(arg, example, diag)
            .and_then(|list| rule::parse(&list, diag))
            .map(Value::Rbac),
        _ => return None,
    })
}

fn set_primary(args: &mut Args, arg: &Arg, kind: Kind, diag: &mut Diag) {
    if args.primary.is_some() {
        diag.error(
            &arg.key,
            "`for` is given twice: a controller has one primary kind; write a second controller for the other",
        );
    } else {
        args.primary = Some((arg.key.clone(), kind));
    }
}

/// `owns = K`, `owns = [K, L]`, `owns(K, options…)`.
fn parse_owns(args: &mut Args, arg: &Arg, diag: &mut Diag) {
    let Shape::List(group) = &arg.shape else {
        let example = keys::example(&keys::CONTROLLER, "owns");
        parse_kinds(
            args,
            arg,
            example,
            |kind| Value::Owns(kind, WatchOptions::default()),
            diag,
        );
        return;
    };
    let Some((kind, rest)) = watch::parse_kind_and_rest(group, "owns", "owns(Deployment, metadata_only)", diag) else {
        return;
    };
    let options = watch::parse_options(rest, "owns", &keys::OWNS, &mut None, diag);
    args.calls.push(Call {
        key: arg.key.clone(),
        value: Value::Owns(kind, options),
    });
}

/// `watches(K, map = f, options…)`.
fn parse_watches(args: &mut Args, arg: &Arg, diag: &mut Diag) {
    let example = keys::example(&keys::CONTROLLER, "watches");
    let Shape::List(group) = &arg.shape else {
        diag.error(
            &arg.key,
            format!(
                "`watches` needs a function from the watched object to the keys it wakes: write `{example}`; \
                 to read without watching, `live = …`"
            ),
        );
        return;
    };
    let Some((kind, rest)) = watch::parse_kind_and_rest(group, "watches", example, diag) else {
        return;
    };
    let mut map = Some(None);
    let options = watch::parse_options(rest, "watches", &keys::WATCHES, &mut map, diag);
    // `Some(None)` still: nothing was written as `map`, right or wrong.
    if let Some(None) = map {
        diag.error(
            &arg.key,
            format!(
                "`map` is missing: name the function from the watched object to the keys it wakes, as in `{example}`"
            ),
        );
    }
    args.calls.push(Call {
        key: arg.key.clone(),
        value: Value::Watches(kind, map.flatten(), options),
    });
}

/// `key = K` or `key = [K, L]`.
fn parse_kinds(args: &mut Args, arg: &Arg, example: &str, value: impl Fn(Kind) -> Value, diag: &mut Diag) {
    let name = arg.name();
    for kind in value_of(arg, example, diag).map_or_else(Vec::new, |v| watch::parse_kinds(v, &name, diag)) {
        args.calls.push(Call {
            key: arg.key.clone(),
            value: value(kind),
        });
    }
}

fn parse_backoff(list: &Group, diag: &mut Diag) -> Option<Value> {
    let (mut min, mut max) = (None, None);
    for arg in crate::args::parse(list.stream(), "min = \"5ms\"", diag) {
        let slot = match &*arg.name() {
            "min" => &mut min,
            "max" => &mut max,
            name => {
                unknown_inner_key(&arg, name, "backoff", &keys::BACKOFF, diag);
                continue;
            }
        };
        let example = keys::example(&keys::BACKOFF, &arg.name());
        let duration = value_of(&arg, example, diag).and_then(|v| literals::duration(v, example, diag));
        set_once(slot, duration, &arg, diag);
    }
    Some(Value::Backoff { min, max })
}

fn parse_rate_limit(list: &Group, diag: &mut Diag) -> Option<Value> {
    let (mut per_second, mut burst) = (None, None);
    let (mut wrote_rate, mut wrote_burst) = (false, false);
    for arg in crate::args::parse(list.stream(), "per_second = 10", diag) {
        let slot = match &*arg.name() {
            "per_second" => {
                wrote_rate = true;
                &mut per_second
            }
            "burst" => {
                wrote_burst = true;
                &mut burst
            }
            name => {
                unknown_inner_key(&arg, name, "rate_limit", &keys::RATE_LIMIT, diag);
                continue;
            }
        };
        let example = keys::example(&keys::RATE_LIMIT, &arg.name());
        let number = value_of(&arg, example, diag).and_then(|v| literals::positive(v, example, diag));
        set_once(slot, number, &arg, diag);
    }
    if !(wrote_rate && wrote_burst) {
        let example = keys::example(&keys::CONTROLLER, "rate_limit");
        diag.error(
            list,
            format!("both `per_second` and `burst` are needed: write `{example}`"),
        );
    }
    Some(Value::RateLimit {
        per_second: per_second?,
        burst: burst?,
    })
}

/// The tokens after `=`, or a message that shows the right shape.
pub(crate) fn value_of(arg: &Arg, example: &str, diag: &mut Diag) -> Option<TokenStream> {
    match &arg.shape {
        Shape::Value(tokens) => Some(tokens.clone()),
        Shape::Flag => {
            diag.error(&arg.key, format!("`{}` needs a value: write `{example}`", arg.key));
            None
        }
        Shape::List(group) => {
            diag.error(group, format!("`{}` takes one value: write `{example}`", arg.key));
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
    }
}

pub(crate) fn set_once<T>(slot: &mut Option<T>, value: Option<T>, arg: &Arg, diag: &mut Diag) {
    if slot.is_some() {
        diag.error(&arg.key, format!("`{}` is given twice: keep one", arg.key));
    } else {
        *slot = value;
    }
}

fn unknown_key(arg: &Arg, name: &str, diag: &mut Diag) {
    let inside_watch = keys::WATCHES.iter().chain(&keys::OWNS).find(|(key, _)| *key == name);
    let message = match inside_watch {
        Some(("map", _)) => "`map` belongs to a watch: write `watches(Secret, map = users_of)`".to_owned(),
        Some((key, example)) => format!("`{key}` belongs to one watch: write `owns(Deployment, {example})`"),
        None => match meant(name) {
            Some(meant) => format!(
                "there is no key `{name}`: did you mean `{meant}`, as in `{}`?",
                keys::example(&keys::CONTROLLER, meant)
            ),
            None => format!("there is no key `{name}`: keys are {}", listed(&keys::CONTROLLER)),
        },
    };
    diag.error(&arg.key, message);
}

/// The key that a person probably meant: by another framework's word, or misspelt.
fn meant(name: &str) -> Option<&'static str> {
    let other_word = keys::OTHER_WORDS
        .iter()
        .find(|(word, _)| *word == name)
        .map(|(_, key)| *key);
    other_word.or_else(|| nearest(name, keys::CONTROLLER.iter().map(|(key, _)| *key)))
}

/// Reports a key that `outer(…)` does not have.
pub(crate) fn unknown_inner_key(
    arg: &Arg,
    name: &str,
    outer: &str,
    known: &'static [(&'static str, &'static str)],
    diag: &mut Diag,
) {
    let message = match nearest(name, known.iter().map(|(key, _)| *key)) {
        Some(meant) => format!("`{outer}(…)` has no key `{name}`: did you mean `{meant}`?"),
        None => format!("`{outer}(…)` has no key `{name}`: keys are {}", listed(known)),
    };
    diag.error(&arg.key, message);
}

fn listed(keys: &[(&str, &str)]) -> String {
    keys.iter()
        .map(|(key, _)| format!("`{key}`"))
        .collect::<Vec<_>>()
        .join(", ")
}
