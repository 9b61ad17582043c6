//! The values of keys.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Lit, Type};

use super::args::Call;
use crate::args::{Arg, Shape, split};
use crate::controller::literals;
use crate::diag::Diag;
use crate::path::CratePath;
use crate::value;

/// A kind: the path of a Rust type.
pub(super) fn kind(tokens: TokenStream, example: &str, diag: &mut Diag) -> Option<TokenStream> {
    match syn::parse2::<Type>(tokens.clone()) {
        Ok(Type::Path(path)) => Some(path.into_token_stream()),
        _ => {
            diag.error(
                tokens,
                format!("expected a kind, which is a Rust type by its name: write `{example}`"),
            );
            diag.lose();
            None
        }
    }
}

/// One kind, or several in brackets.
pub(super) fn kinds(tokens: TokenStream, example: &str, diag: &mut Diag) -> Vec<TokenStream> {
    let parts = literals::elements(tokens, diag);
    parts.into_iter().filter_map(|part| kind(part, example, diag)).collect()
}

/// `loses(v1alpha1::App, "spec.mode")`
pub(super) fn lost(arg: &Arg, example: &str, diag: &mut Diag) -> Option<(TokenStream, TokenStream)> {
    let wrong = |tokens: &dyn ToTokens, diag: &mut Diag| {
        diag.error(
            tokens.to_token_stream(),
            format!("expected the version and the field that gets lost: write `{example}`"),
        );
    };
    let Shape::List(group) = &arg.shape else {
        if !matches!(arg.shape, Shape::Unreadable) {
            wrong(&arg.key, diag);
        }
        return None;
    };
    let parts: Vec<TokenStream> = split(group.stream(), diag)
        .into_iter()
        .map(|part| part.into_iter().collect())
        .collect();
    let [version, field] = &parts[..] else {
        wrong(group, diag);
        return None;
    };
    let Ok(Lit::Str(field)) = syn::parse2(field.clone()) else {
        wrong(field, diag);
        return None;
    };
    Some((kind(version.clone(), example, diag)?, quote!(#field)))
}

/// A key with one value, as builder calls.
pub(super) fn setting(arg: &Arg, value: TokenStream, krate: &CratePath, example: &str, diag: &mut Diag) -> Vec<Call> {
    let name = arg.name();
    let call = |values: TokenStream| Call {
        key: arg.key.clone(),
        kind: None,
        values,
    };
    let one = match &*name {
        "operations" => operations(value, krate, example, diag),
        "failure_policy" => word(&value, &[("fail", "Fail"), ("ignore", "Ignore")]).map_or_else(
            || {
                let shown = value.to_string();
                diag.error(
                    &value,
                    format!(
                        "there is no failure policy `{shown}`: write `failure_policy = fail` or `failure_policy = ignore`"
                    ),
                );
                None
            },
            |policy| Some(quote!(#krate::webhook::FailurePolicy::#policy)),
        ),
        "side_effects" => word(&value, &[("none", "None"), ("none_on_dry_run", "NoneOnDryRun")]).map_or_else(
            || {
                diag.error(
                    &value,
                    "the API server calls no webhook with other effects: write `side_effects = none` or \
                     `side_effects = none_on_dry_run`",
                );
                None
            },
            |effects| Some(quote!(#krate::webhook::SideEffects::#effects)),
        ),
        "object_selector" => literals::text(value, example, value::check_label_selector, diag),
        "timeout" => timeout(value, example, diag),
        "match_conditions" => return conditions(arg, value, example, diag),
        _ => None,
    };
    one.map(call).into_iter().collect()
}

/// `[create, update]`
fn operations(value: TokenStream, krate: &CratePath, example: &str, diag: &mut Diag) -> Option<TokenStream> {
    const OPERATIONS: [(&str, &str); 4] = [
        ("create", "Create"),
        ("update", "Update"),
        ("delete", "Delete"),
        ("connect", "Connect"),
    ];
    let parts = literals::elements(value.clone(), diag);
    if parts.is_empty() {
        diag.error(
            value,
            format!("the list is empty: write `{example}`, or leave the key out"),
        );
        return None;
    }
    let mut seen = Vec::new();
    for part in parts {
        let shown = part.to_string();
        match word(&part, &OPERATIONS) {
            None => diag.error(
                part,
                format!("there is no operation `{shown}`: operations are `create`, `update`, `delete` and `connect`"),
            ),
            Some(operation) if seen.contains(&operation) => {
                diag.error(part, format!("`{shown}` is listed twice: keep one"));
            }
            Some(operation) => seen.push(operation),
        }
    }
    Some(quote!([#(#krate::webhook::Operation::#seen),*]))
}

/// `"10s"`
fn timeout(value: TokenStream, example: &str, diag: &mut Diag) -> Option<TokenStream> {
    let duration = literals::duration(value, example, diag)?;
    if let literals::Duration::Literal(read, literal) = &duration
        && (read.subsec_nanos() != 0 || !(1..=30).contains(&read.as_secs()))
    {
        diag.error(
            literal,
            format!("the API server waits from 1 to 30 whole seconds: write `{example}`"),
        );
    }
    Some(duration.into_token_stream())
}

/// `[("name", "expression")]`, a call for each.
fn conditions(arg: &Arg, value: TokenStream, example: &str, diag: &mut Diag) -> Vec<Call> {
    let mut calls = Vec::new();
    for part in literals::elements(value, diag) {
        let texts = match part.clone().into_iter().next() {
            Some(TokenTree::Group(pair)) => split(pair.stream(), diag)
                .into_iter()
                .map(|text| syn::parse2::<syn::LitStr>(text.into_iter().collect()))
                .collect::<Result<Vec<_>, _>>()
                .unwrap_or_default(),
            _ => Vec::new(),
        };
        let [name, expression] = &texts[..] else {
            diag.error(part, format!("expected a name and an expression: write `{example}`"));
            continue;
        };
        calls.push(Call {
            key: Ident::new("match_condition", arg.key.span()),
            kind: None,
            values: quote!(#name, #expression),
        });
    }
    calls
}

/// One of some words, as the variant that it stands for.
fn word(tokens: &TokenStream, words: &[(&str, &str)]) -> Option<Ident> {
    let given = tokens.to_string();
    let (_, variant) = words.iter().find(|(word, _)| *word == given)?;
    Some(Ident::new(variant, Span::call_site()))
}
