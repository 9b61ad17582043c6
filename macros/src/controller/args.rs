//! What stands in the parentheses of the attribute, read and checked one key at a time.

use proc_macro2::{Ident, TokenStream};

use super::kinds::{self, Kind};
use super::literals::Duration;
use super::options::{self, WatchOptions};
use super::rule::Rule;
use super::settings::{self, value_of};
use super::{keys, unknown};
use crate::args::{Arg, Shape, example, spaced};
use crate::diag::Diag;
use crate::path::CratePath;
use crate::predicate::{FunctionValue, Predicate};

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
    /// What stands in the parentheses of `#[cfg(…)]` before the key.
    pub(crate) cfg: Option<TokenStream>,
    /// The key, with the user's span.
    pub(crate) key: Ident,
    /// Its value.
    pub(crate) value: Value,
    /// Whether another key was written, and reported, and this one is what was probably meant.
    pub(crate) guessed: bool,
}

/// The value of a key.
pub(crate) enum Value {
    /// `owns`, or `tracks`, which has the same shapes and gives the same rights.
    Owns(Kind, WatchOptions),
    Watches(Kind, Option<FunctionValue>, WatchOptions),
    Live(Kind),
    Writes(Kind),
    Updates(Kind),
    Rbac(Rule),
    EventFilter(Predicate),
    Source(FunctionValue),
    Backoff {
        min: Option<Duration>,
        max: Option<Duration>,
    },
    RateLimit {
        per_second: TokenStream,
        burst: TokenStream,
    },
    RetiredFinalizers(Vec<TokenStream>),
    /// The variant of `OwnEvents`.
    OwnEvents(Ident),
    /// A key that stands alone.
    Flag,
    PreviousManagers(Vec<TokenStream>),
    Strip(Vec<TokenStream>),
    /// A key whose builder method takes the value as it stands.
    Plain(TokenStream),
    /// A duration.
    Duration(Duration),
}

impl Value {
    /// The kind, where it is written and its name is that of one whose objects hand out permissions.
    pub(crate) fn handed_out(&self) -> Option<&Kind> {
        const NAMES: [&str; 4] = ["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"];
        match self {
            Self::Owns(kind, _) | Self::Writes(kind) | Self::Updates(kind) => {
                NAMES.contains(&&*kind.last()).then_some(kind)
            }
            _ => None,
        }
    }
}

/// Reads the arguments; whatever is wrong is reported and left out.
pub(crate) fn parse(tokens: TokenStream, diag: &mut Diag) -> Args {
    let mut args = Args {
        written: crate::args::parse(tokens, keys::CONTROLLER, diag),
        ..Args::default()
    };
    for arg in args.written.clone() {
        if parse_known(&mut args, &arg, diag) {
            continue;
        }
        let Some(meant) = unknown::key(&arg, &args.written, diag) else {
            continue;
        };
        let mut unread = Diag::default();
        parse_known(&mut args, &meant, &mut unread);
        if !unread.is_empty() {
            diag.lose();
        }
    }
    args
}

/// Reads one argument; false if there is no such key.
fn parse_known(args: &mut Args, arg: &Arg, diag: &mut Diag) -> bool {
    let name = arg.name();
    match &*name {
        "for" => parse_for(args, arg, diag),
        "crate" => parse_crate(args, arg, diag),
        "owns" => parse_owns(args, arg, "owns", diag),
        "tracks" => parse_owns(args, arg, "tracks", diag),
        "watches" => parse_watches(args, arg, diag),
        "live" => parse_kinds(args, arg, Value::Live, diag),
        "writes" => parse_kinds(args, arg, Value::Writes, diag),
        "updates" => parse_kinds(args, arg, Value::Updates, diag),
        _ => match settings::parse(arg, diag) {
            Some(Some(value)) => args.push(arg, value),
            Some(None) => {}
            None => return false,
        },
    }
    true
}

impl Args {
    fn push(&mut self, arg: &Arg, value: Value) {
        self.calls.push(Call {
            cfg: arg.cfg.clone(),
            key: arg.key.clone(),
            value,
            guessed: arg.guessed,
        });
    }
}

fn parse_for(args: &mut Args, arg: &Arg, diag: &mut Diag) {
    let given = args.has_for;
    args.has_for = true;
    if given {
        diag.error(
            &arg.key,
            "`for` is given twice: a controller has one primary kind; write a second controller for the other",
        );
        return;
    }
    if arg.cfg.is_some() {
        diag.error(
            &arg.key,
            "`for` is always needed: put `#[cfg(…)]` on the whole struct, and write a second one for the other case",
        );
    }
    let kind = in_parentheses(arg, diag).and_then(|v| kinds::parse_primary(v, diag));
    args.primary = kind.map(|kind| (arg.key.clone(), kind));
}

fn parse_crate(args: &mut Args, arg: &Arg, diag: &mut Diag) {
    let example = example(keys::CONTROLLER, "crate");
    let Some(tokens) = value_of(arg, example, diag) else {
        return;
    };
    if let Ok(path) = syn::parse2(tokens.clone()) {
        args.krate = CratePath::given(path);
        return;
    }
    match syn::parse2::<syn::LitStr>(tokens.clone()).map(|text| (text.parse(), text.value())) {
        Ok((Ok(path), text)) => {
            diag.error(tokens, format!("a path stands without quotes: write `crate = {text}`"));
            args.krate = CratePath::given(path);
        }
        _ => diag.error(tokens, format!("expected a path, as in `{example}`")),
    }
}

/// `owns = K`, `owns = [K, L]`, `owns(K, options…)`, and the same of `tracks`.
fn parse_owns(args: &mut Args, arg: &Arg, key: &'static str, diag: &mut Diag) {
    let Some(group) = kinds::options(&arg.shape) else {
        parse_kinds(args, arg, |kind| Value::Owns(kind, WatchOptions::default()), diag);
        return;
    };
    if let Some((kind, rest)) = kinds::parse_with_rest(group, key, &format!("{key}(ConfigMap, metadata_only)"), diag) {
        let options = options::parse(rest, key, &kind, keys::OWNS, &mut None, diag);
        args.push(arg, Value::Owns(kind, options));
    }
}

/// `watches(K, map = f, options…)`.
fn parse_watches(args: &mut Args, arg: &Arg, diag: &mut Diag) {
    let example = example(keys::CONTROLLER, "watches");
    let Some(group) = kinds::options(&arg.shape) else {
        watch_without_map(args, arg, diag);
        return;
    };
    let Some((kind, rest)) = kinds::parse_with_rest(group, "watches", example, diag) else {
        return;
    };
    let mut map = Some(None);
    let options = options::parse(rest, "watches", &kind, keys::WATCHES, &mut map, diag);
    // `Some(None)` still: nothing was written as `map`, right or wrong.
    if let Some(None) = map {
        diag.error(
            &arg.key,
            format!(
                "`map` is missing: name the function from the watched object to the keys it wakes, as in \
                 `watches({}, map = users_of)`",
                kind.text()
            ),
        );
    }
    args.push(arg, Value::Watches(kind, map.flatten(), options));
}

/// `watches = K`
fn watch_without_map(args: &mut Args, arg: &Arg, diag: &mut Diag) {
    let kinds = match &arg.shape {
        Shape::Value(value) => kinds::parse_several(value.clone(), "watches", &mut Diag::default()),
        Shape::Flag | Shape::List(_) => Vec::new(),
        Shape::Unreadable => return,
    };
    let kind = kinds.first().map_or_else(|| "Secret".to_owned(), Kind::text);
    diag.error(
        &arg.key,
        format!(
            "`watches` needs a function from the watched object to the keys it wakes: write \
             `watches({kind}, map = users_of)`; to read without watching, `live = {kind}`"
        ),
    );
    if kinds.is_empty() {
        diag.lose();
    }
    for kind in kinds {
        args.push(arg, Value::Watches(kind, None, WatchOptions::default()));
    }
}

/// `key = K` or `key = [K, L]`.
fn parse_kinds(args: &mut Args, arg: &Arg, value: impl Fn(Kind) -> Value, diag: &mut Diag) {
    let name = arg.name();
    let Some(tokens) = in_parentheses(arg, diag) else {
        diag.lose();
        return;
    };
    for kind in kinds::parse_several(tokens, &name, diag) {
        args.push(arg, value(kind));
    }
}

/// The value after `=`. One in parentheses is reported, and taken for the value all the same.
fn in_parentheses(arg: &Arg, diag: &mut Diag) -> Option<TokenStream> {
    match &arg.shape {
        Shape::List(group) if !group.stream().is_empty() => {
            let value = group.stream();
            let several = crate::args::split(value.clone(), &mut Diag::default()).len() > 1;
            let shown = if several {
                format!("[{}]", spaced(&value))
            } else {
                spaced(&value)
            };
            diag.error(group, format!("`{0}` takes a value: write `{0} = {shown}`", arg.key));
            Some(if several { quote::quote!([#value]) } else { value })
        }
        _ => value_of(arg, example(keys::CONTROLLER, &arg.name()), diag),
    }
}
