//! The options of one watch.

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser};

use super::kinds::Kind;
use super::settings::{set_once, value_of};
use super::{literals, unknown};
use crate::args::{self, Arg, Known, Shape, example};
use crate::diag::Diag;
use crate::predicate::{FunctionValue, Predicate};
use crate::value;

/// Options of one watch, in the order of the builder.
#[derive(Clone, Default)]
pub(crate) struct WatchOptions {
    /// `predicate = P`.
    pub(crate) predicate: Option<(syn::Ident, Predicate)>,
    /// `metadata_only`.
    pub(crate) metadata_only: Option<syn::Ident>,
    /// `labels = "…"`.
    pub(crate) labels: Option<(syn::Ident, TokenStream)>,
    /// `fields = "…"`.
    pub(crate) fields: Option<(syn::Ident, TokenStream)>,
    /// `strip = ["…"]`.
    pub(crate) strip: Option<(syn::Ident, Vec<TokenStream>)>,
    /// `adopt = …`.
    pub(crate) adopt: Option<(syn::Ident, Adopt)>,
}

/// What an apply may take over.
#[derive(Clone)]
pub(crate) enum Adopt {
    /// `always`
    Always,
    /// `labels("…")`
    Labels(TokenStream),
}

impl WatchOptions {
    /// Whether all are at their defaults.
    pub(crate) fn is_empty(&self) -> bool {
        self.predicate.is_none()
            && self.metadata_only.is_none()
            && self.labels.is_none()
            && self.fields.is_none()
            && self.strip.is_none()
            && self.adopt.is_none()
    }
}

/// What follows the kind. `map` is `Some(None)` where a map function may be given, and becomes `None` where one was
/// written and could not be read.
pub(super) fn parse(
    tokens: TokenStream,
    outer: &'static str,
    kind: &Kind,
    known: Known,
    map: &mut Option<Option<FunctionValue>>,
    diag: &mut Diag,
) -> WatchOptions {
    let mut options = WatchOptions::default();
    for arg in args::parse(tokens, known, diag) {
        if arg.cfg.is_some() {
            diag.error(
                &arg.key,
                format!("`#[cfg(…)]` stands before a whole key: put it before `{outer}`"),
            );
        }
        let in_other = match (outer, &*arg.name()) {
            ("tracks", "map") => Some(format!(
                "`tracks` maps to the primary whose uid the label names: write `watches({}, {})` for another mapping",
                kind.text(),
                unknown::own_words(&arg, "map = users_of")
            )),
            ("owns", "map") => Some(format!(
                "`owns` maps to the controller owner: write `watches({}, {})` for another mapping",
                kind.text(),
                unknown::own_words(&arg, "map = users_of")
            )),
            ("watches", "adopt") => Some(format!(
                "only what the controller owns is adopted: write `owns({}, {})`",
                kind.text(),
                unknown::own_words(&arg, "adopt = always")
            )),
            _ => None,
        };
        if let Some(message) = in_other {
            diag.error(&arg.key, message);
            diag.lose();
        } else if known.iter().any(|(key, _)| *key == arg.name()) {
            parse_option(&mut options, &arg, known, map, diag);
        } else if let Some(meant) = unknown::inner_key(&arg, outer, known, diag) {
            parse_option(&mut options, &meant, known, map, &mut Diag::default());
        }
    }
    options
}

fn parse_option(
    options: &mut WatchOptions,
    arg: &Arg,
    known: Known,
    map: &mut Option<Option<FunctionValue>>,
    diag: &mut Diag,
) {
    let name = arg.name();
    let example = example(known, &name);
    let key = arg.key.clone();
    match &*name {
        "map" => parse_map(arg, example, map, diag),
        "predicate" => {
            let predicate = value_of(arg, example, diag).and_then(|v| parse_predicate(&v, diag));
            set_once(&mut options.predicate, predicate.map(|p| (key, p)), arg, diag);
        }
        "metadata_only" => {
            if let Shape::Value(tokens) = &arg.shape {
                diag.error(tokens, FLAG);
            } else if let Shape::List(group) = &arg.shape {
                diag.error(group, FLAG);
            }
            set_once(&mut options.metadata_only, Some(key), arg, diag);
        }
        "labels" => {
            let text = value_of(arg, example, diag)
                .and_then(|v| literals::text(v, example, value::check_label_selector, diag));
            set_once(&mut options.labels, text.map(|t| (key, t)), arg, diag);
        }
        "fields" => {
            let text = value_of(arg, example, diag)
                .and_then(|v| literals::text(v, example, value::check_field_selector, diag));
            set_once(&mut options.fields, text.map(|t| (key, t)), arg, diag);
        }
        "strip" => {
            let paths =
                value_of(arg, example, diag).and_then(|v| literals::texts(v, example, value::check_strip_path, diag));
            set_once(&mut options.strip, paths.map(|p| (key, p)), arg, diag);
        }
        "adopt" => {
            let adopt = value_of(arg, example, diag).and_then(|v| parse_adopt(v, diag));
            set_once(&mut options.adopt, adopt.map(|a| (key, a)), arg, diag);
        }
        _ => {}
    }
}

const FLAG: &str = "`metadata_only` takes no value: write `metadata_only` alone, or leave it out";

/// `always`, or `labels("app=web")`.
fn parse_adopt(tokens: TokenStream, diag: &mut Diag) -> Option<Adopt> {
    let mut parts = tokens.clone().into_iter();
    match (parts.next(), parts.next(), parts.next()) {
        (Some(TokenTree::Ident(word)), None, None) if word == "always" => Some(Adopt::Always),
        (Some(TokenTree::Ident(word)), Some(TokenTree::Group(group)), None) if word == "labels" => {
            if group.stream().is_empty() {
                diag.error(
                    group,
                    "a label selector is missing: write `adopt = labels(\"app=web\")`",
                );
                return None;
            }
            literals::text(group.stream(), "labels(\"app=web\")", value::check_label_selector, diag).map(Adopt::Labels)
        }
        _ => {
            diag.error(
                tokens,
                "expected `always` or `labels(…)`: write `adopt = always` or `adopt = labels(\"app=web\")`; to adopt nothing, \
                 leave the key out",
            );
            None
        }
    }
}

/// `skip`, or `wake`, which is the default.
pub(super) fn parse_own_events(tokens: TokenStream, diag: &mut Diag) -> Option<Ident> {
    let mut parts = tokens.clone().into_iter();
    if let (Some(TokenTree::Ident(word)), None) = (parts.next(), parts.next()) {
        for (name, variant) in [("skip", "Skip"), ("wake", "Wake")] {
            if word == name {
                return Some(Ident::new(variant, proc_macro2::Span::call_site()));
            }
        }
    }
    diag.error(
        tokens,
        "expected `skip`: write `own_events = skip`; to be woken by own writes, leave the key out",
    );
    None
}

fn parse_map(arg: &Arg, example: &str, map: &mut Option<Option<FunctionValue>>, diag: &mut Diag) {
    if let Some(Some(_)) = map {
        diag.error(&arg.key, "`map` is given twice: keep one, and let it answer all keys");
        return;
    }
    *map = value_of(arg, example, diag)
        .and_then(|tokens| parse_function(&tokens, example, diag))
        .map(Some);
}

/// The name of a function, or a call that answers one.
pub(super) fn parse_function(tokens: &TokenStream, example: &str, diag: &mut Diag) -> Option<FunctionValue> {
    let parsed = (|input: ParseStream<'_>| FunctionValue::parse(input, example)).parse2(tokens.clone());
    report(parsed, tokens, diag)
}

/// A predicate.
pub(super) fn parse_predicate(tokens: &TokenStream, diag: &mut Diag) -> Option<Predicate> {
    report(syn::parse2(tokens.clone()), tokens, diag)
}

/// Moves a parser's error to `diag`. An error at the end of the input has no token of its own: it goes on the last.
fn report<T>(result: syn::Result<T>, tokens: &TokenStream, diag: &mut Diag) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            let message = error.to_string();
            match message.strip_prefix("unexpected end of input, ") {
                Some(message) => match tokens.clone().into_iter().last() {
                    Some(last) => diag.error(last, message),
                    None => diag.error_at(error.span(), message),
                },
                None => diag.push(error),
            }
            None
        }
    }
}
