//! Kinds, and the options of one watch.

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::ToTokens;
use syn::Type;
use syn::parse::{ParseStream, Parser};

use super::args::{set_once, unknown_inner_key, value_of};
use super::{keys, literals};
use crate::args::{self, Arg, Shape};
use crate::diag::Diag;
use crate::predicate::{FunctionValue, Predicate};
use crate::value;

/// A kind: the path of a Rust type.
#[derive(Clone)]
pub(crate) struct Kind(Type);

impl Kind {
    /// The path as text, by which two mentions are taken for the same kind.
    pub(crate) fn text(&self) -> String {
        self.0.to_token_stream().to_string().replace(' ', "")
    }
}

impl ToTokens for Kind {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.0.to_tokens(tokens);
    }
}

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
            && self.adopt.is_none()
    }
}

/// One kind, or several in brackets.
pub(crate) fn parse_kinds(tokens: TokenStream, key: &str, diag: &mut Diag) -> Vec<Kind> {
    let parts = literals::elements(tokens.clone(), diag);
    if parts.is_empty() {
        diag.error(
            tokens,
            format!("the list is empty: write `{key} = Deployment`, or leave the key out"),
        );
    }
    parts
        .into_iter()
        .filter_map(|part| parse_kind(part, key, diag))
        .collect()
}

/// One kind.
pub(crate) fn parse_kind(tokens: TokenStream, key: &str, diag: &mut Diag) -> Option<Kind> {
    match parse_type.parse2(tokens.clone()) {
        Ok((ty, rest)) if is_path(&ty) => {
            if let Some(extra) = rest.into_iter().next() {
                diag.error(extra, "expected `,` before this");
            }
            Some(Kind(ty))
        }
        _ => {
            let hint = match syn::parse2::<syn::LitStr>(tokens.clone()) {
                Ok(name) => format!(
                    "a kind is a Rust type, without quotes: write `{key} = {}`",
                    name.value()
                ),
                Err(_) => format!("expected a kind, which is a Rust type: write `{key} = Deployment`"),
            };
            diag.error(tokens, hint);
            None
        }
    }
}

/// Whether the type is named; `$kind:ty` of a macro comes wrapped in a group.
fn is_path(ty: &Type) -> bool {
    match ty {
        Type::Path(_) => true,
        Type::Group(group) => is_path(&group.elem),
        _ => false,
    }
}

/// A type and what follows it.
fn parse_type(input: ParseStream<'_>) -> syn::Result<(Type, TokenStream)> {
    Ok((input.parse()?, input.parse()?))
}

/// `(K, rest…)`: the kind and the tokens after its comma.
pub(crate) fn parse_kind_and_rest(
    group: &Group,
    key: &str,
    example: &str,
    diag: &mut Diag,
) -> Option<(Kind, TokenStream)> {
    let mut parts = args::split(group.stream(), diag).into_iter();
    let Some(first) = parts.next() else {
        diag.error(group, format!("`{key}` needs a kind: write `{example}`"));
        return None;
    };
    let is_option = matches!(first.get(1), Some(TokenTree::Punct(p)) if p.as_char() == '=')
        || (first.len() == 1 && keys::WATCHES.iter().any(|(name, _)| first[0].to_string() == *name));
    if is_option {
        diag.error(&first[0], format!("the kind comes first: write `{example}`"));
        return None;
    }
    let kind = parse_kind(first.into_iter().collect(), key, diag)?;
    let mut rest = TokenStream::new();
    for part in parts {
        rest.extend(part);
        rest.extend([TokenTree::Punct(proc_macro2::Punct::new(
            ',',
            proc_macro2::Spacing::Alone,
        ))]);
    }
    Some((kind, rest))
}

/// What follows the kind. `map` is `Some(None)` where a map function may be given, and becomes `None` where one was
/// written and could not be read.
pub(crate) fn parse_options(
    tokens: TokenStream,
    outer: &str,
    known: &'static [(&'static str, &'static str)],
    map: &mut Option<Option<FunctionValue>>,
    diag: &mut Diag,
) -> WatchOptions {
    let mut options = WatchOptions::default();
    for arg in args::parse(tokens, "predicate = generation_changed", diag) {
        let name = arg.name();
        let example = keys::example(known, &name);
        let key = arg.key.clone();
        match &*name {
            "map" if outer == "watches" => parse_map(&arg, example, map, diag),
            "map" => diag.error(
                &arg.key,
                "`owns` maps to the controller owner: `map` belongs to `watches(…)`",
            ),
            "predicate" => {
                let predicate = value_of(&arg, example, diag).and_then(|v| parse_predicate(&v, diag));
                set_once(&mut options.predicate, predicate.map(|p| (key, p)), &arg, diag);
            }
            "metadata_only" => match &arg.shape {
                Shape::Flag => set_once(&mut options.metadata_only, Some(key), &arg, diag),
                Shape::Value(tokens) => diag.error(
                    tokens,
                    "`metadata_only` takes no value: write it alone, or leave it out",
                ),
                Shape::List(group) => {
                    diag.error(group, "`metadata_only` takes no value: write it alone, or leave it out");
                }
            },
            "labels" => {
                let text = value_of(&arg, example, diag)
                    .and_then(|v| literals::text(v, example, value::check_label_selector, diag));
                set_once(&mut options.labels, text.map(|t| (key, t)), &arg, diag);
            }
            "fields" => {
                let text = value_of(&arg, example, diag)
                    .and_then(|v| literals::text(v, example, value::check_field_selector, diag));
                set_once(&mut options.fields, text.map(|t| (key, t)), &arg, diag);
            }
            "adopt" if outer == "owns" => {
                let adopt = value_of(&arg, example, diag).and_then(|v| parse_adopt(v, diag));
                set_once(&mut options.adopt, adopt.map(|a| (key, a)), &arg, diag);
            }
            "adopt" => diag.error(
                &arg.key,
                "only what the controller owns is adopted: write `owns(Deployment, adopt = always)`",
            ),
            _ => unknown_inner_key(&arg, &name, outer, known, diag),
        }
    }
    options
}

/// `always`, or `labels("app=web")`.
fn parse_adopt(tokens: TokenStream, diag: &mut Diag) -> Option<Adopt> {
    let mut parts = tokens.clone().into_iter();
    match (parts.next(), parts.next(), parts.next()) {
        (Some(TokenTree::Ident(word)), None, None) if word == "always" => Some(Adopt::Always),
        (Some(TokenTree::Ident(word)), Some(TokenTree::Group(group)), None) if word == "labels" => {
            literals::text(group.stream(), "labels(\"app=web\")", value::check_label_selector, diag).map(Adopt::Labels)
        }
        _ => {
            diag.error(
                tokens,
                "expected `always` or `labels(\"app=web\")`; to adopt nothing, leave the key out",
            );
            None
        }
    }
}

fn parse_map(arg: &Arg, example: &str, map: &mut Option<Option<FunctionValue>>, diag: &mut Diag) {
    if let Some(Some(_)) = map {
        diag.error(&arg.key, "`map` is given twice: keep one, and let it answer all keys");
        return;
    }
    *map = value_of(arg, example, diag)
        .and_then(|tokens| report(syn::parse2(tokens.clone()), &tokens, diag))
        .map(Some);
}

/// A predicate.
pub(crate) fn parse_predicate(tokens: &TokenStream, diag: &mut Diag) -> Option<Predicate> {
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
                None => diag.error_at(error.span(), message),
            }
            None
        }
    }
}
