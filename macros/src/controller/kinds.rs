//! Kinds: the paths of Rust types.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::ToTokens;
use syn::Type;
use syn::parse::{ParseStream, Parser};

use super::{keys, literals};
use crate::args::{Shape, example, spaced, split};
use crate::diag::Diag;

/// A kind: the path of a Rust type.
#[derive(Clone)]
pub(crate) struct Kind(Type);

impl Kind {
    /// The path as text, by which two mentions are taken for the same kind.
    pub(crate) fn text(&self) -> String {
        self.0.to_token_stream().to_string().replace(' ', "")
    }

    /// The last segment of the path.
    pub(crate) fn last(&self) -> String {
        let text = self.text();
        text.rsplit("::").next().unwrap_or(&text).to_owned()
    }
}

impl ToTokens for Kind {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.0.to_tokens(tokens);
    }
}

/// The kinds of one attribute by their paths, of which one may end as the other does: `Secret` and
/// `kubewright::prelude::Secret` are taken for the same kind. That is how a message calls a kind that a glob brought.
#[derive(Default)]
pub(super) struct Names(Vec<String>);

impl Names {
    /// The path under which the kind was seen first.
    pub(super) fn canonical(&mut self, kind: &Kind) -> String {
        let text = kind.text();
        let ends = |long: &str, short: &str| long.strip_suffix(short).is_some_and(|rest| rest.ends_with("::"));
        let seen = self
            .0
            .iter()
            .find(|seen| **seen == text || ends(seen, &text) || ends(&text, seen));
        if let Some(seen) = seen {
            return seen.clone();
        }
        self.0.push(text.clone());
        text
    }
}

/// One kind, or several in brackets.
pub(super) fn parse_several(tokens: TokenStream, key: &str, diag: &mut Diag) -> Vec<Kind> {
    let parts = match in_other_brackets(&tokens) {
        Some(group) => {
            diag.error(
                &group,
                format!(
                    "a list of kinds stands in brackets: write `{key} = [{}]`",
                    spaced(&group.stream())
                ),
            );
            split(group.stream(), &mut Diag::default())
                .into_iter()
                .map(|part| part.into_iter().collect())
                .collect()
        }
        None => literals::elements(tokens.clone(), diag),
    };
    if parts.is_empty() {
        diag.error(
            tokens,
            format!(
                "the list is empty: write `{}`, or leave the key out",
                example(keys::CONTROLLER, key)
            ),
        );
        diag.lose();
    }
    parts.into_iter().filter_map(|part| parse(part, key, diag)).collect()
}

/// The one kind of `for`.
pub(super) fn parse_primary(tokens: TokenStream, diag: &mut Diag) -> Option<Kind> {
    let parts = literals::elements(tokens.clone(), &mut Diag::default());
    match &parts[..] {
        [one] if one.to_string() != tokens.to_string() => {
            diag.error(
                &tokens,
                format!("a controller has one primary kind: write `for = {}`", spaced(one)),
            );
            parse(one.clone(), "for", &mut Diag::default())
        }
        [one] => parse(one.clone(), "for", diag),
        [first, ..] => {
            diag.error(
                &tokens,
                format!(
                    "a controller has one primary kind: write `for = {}`, and a second controller for the other",
                    spaced(first)
                ),
            );
            parse(first.clone(), "for", &mut Diag::default())
        }
        [] => {
            diag.error(tokens, "the primary kind is missing: write `for = App`");
            None
        }
    }
}

/// `(A, B)` or `{A, B}`, where `[A, B]` is meant.
fn in_other_brackets(tokens: &TokenStream) -> Option<Group> {
    let mut all = tokens.clone().into_iter();
    match (all.next(), all.next()) {
        (Some(TokenTree::Group(group)), None)
            if matches!(group.delimiter(), Delimiter::Parenthesis | Delimiter::Brace) && !group.stream().is_empty() =>
        {
            Some(group)
        }
        _ => None,
    }
}

/// One kind.
pub(super) fn parse(tokens: TokenStream, key: &str, diag: &mut Diag) -> Option<Kind> {
    let parsed = parse_type.parse2(tokens.clone());
    match parsed {
        Ok((ty, rest)) if is_path(&ty) => match rest.into_iter().next() {
            None => Some(Kind(ty)),
            Some(extra) => after_kind(ty, &extra, &tokens, key, diag),
        },
        Ok((ty, _)) => {
            let meant = inside(&ty);
            let example = match meant {
                Some(path) => format!("{key} = {}", spaced(&path.to_token_stream())),
                None => example(keys::CONTROLLER, key).to_owned(),
            };
            diag.error(
                tokens,
                format!("expected a kind, which is a Rust type by its name: write `{example}`"),
            );
            if meant.is_none() {
                diag.lose();
            }
            meant.map(|ty| Kind(ty.clone()))
        }
        Err(_) => in_quotes(tokens, key, diag),
    }
}

/// What stands after a kind that something else should follow.
fn after_kind(ty: Type, extra: &TokenTree, tokens: &TokenStream, key: &str, diag: &mut Diag) -> Option<Kind> {
    diag.lose();
    match extra {
        TokenTree::Group(_) => {
            let kind = without_function(ty);
            diag.error(
                extra,
                format!(
                    "a kind is a Rust type, not a value: write it by its name, as in `{key} = {}`",
                    spaced(&kind.to_token_stream())
                ),
            );
            Some(kind)
        }
        TokenTree::Punct(p) if matches!(p.as_char(), '|' | '&' | '+') && key != "for" => {
            diag.error(
                extra,
                format!(
                    "a list of kinds stands in brackets: write `{key} = [{}]`",
                    joined(tokens)
                ),
            );
            Some(Kind(ty))
        }
        TokenTree::Literal(_) => {
            diag.error(
                extra,
                "one value stands here: remove this, or put a `,` and a key before it",
            );
            Some(Kind(ty))
        }
        _ => {
            diag.error(extra, "expected `,` before this");
            Some(Kind(ty))
        }
    }
}

/// `A | B` as `A, B`.
fn joined(tokens: &TokenStream) -> String {
    spaced(tokens).replace(" |", ",").replace(" &", ",").replace(" +", ",")
}

/// `App` of `App::default()`.
fn without_function(ty: Type) -> Kind {
    let Type::Path(mut of) = ty else {
        return Kind(ty);
    };
    let is_function = |segment: &syn::PathSegment| segment.ident.to_string().starts_with(char::is_lowercase);
    if of.path.segments.len() > 1 && of.path.segments.last().is_some_and(is_function) {
        of.path.segments.pop();
        of.path.segments.pop_punct();
    }
    Kind(Type::Path(of))
}

/// `"Deployment"`, where `Deployment` is meant.
fn in_quotes(tokens: TokenStream, key: &str, diag: &mut Diag) -> Option<Kind> {
    let example = example(keys::CONTROLLER, key);
    let Ok(name) = syn::parse2::<syn::LitStr>(tokens.clone()) else {
        diag.error(
            tokens,
            format!("expected a kind, which is a Rust type by its name: write `{example}`"),
        );
        diag.lose();
        return None;
    };
    let text = name.value();
    let kind = name.parse::<Type>().ok().filter(is_path);
    match kind {
        Some(ty)
            if text
                .rsplit("::")
                .next()
                .is_some_and(|last| last.starts_with(char::is_uppercase)) =>
        {
            diag.error(
                &name,
                format!("a kind is a Rust type, without quotes: write `{key} = {text}`"),
            );
            Some(Kind(ty))
        }
        _ => {
            diag.error(
                &name,
                format!("a kind is a Rust type, not the name of a resource: write `{example}`"),
            );
            diag.lose();
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

/// The named type behind a reference or in parentheses.
fn inside(ty: &Type) -> Option<&Type> {
    match ty {
        Type::Reference(of) => inside(&of.elem),
        Type::Paren(of) => inside(&of.elem),
        ty if is_path(ty) => Some(ty),
        _ => None,
    }
}

/// A type and what follows it.
fn parse_type(input: ParseStream<'_>) -> syn::Result<(Type, TokenStream)> {
    Ok((input.parse()?, input.parse()?))
}

/// `(K, rest…)`: the kind and the tokens after its comma.
pub(super) fn parse_with_rest(group: &Group, key: &str, example: &str, diag: &mut Diag) -> Option<(Kind, TokenStream)> {
    let mut parts = split(group.stream(), diag);
    if parts.is_empty() {
        diag.error(group, format!("`{key}` needs a kind: write `{example}`"));
        diag.lose();
        return None;
    }
    let mut at = 0;
    if is_option(&parts[0]) {
        let found = parts.iter().position(|part| !is_option(part));
        let shown = found.map_or_else(|| example.to_owned(), |found| kind_first(key, &parts, found));
        diag.error(&parts[0][0], format!("the kind comes first: write `{shown}`"));
        diag.lose();
        at = found?;
    }
    let kind = parse(parts.remove(at).into_iter().collect(), key, diag)?;
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

/// `owns(metadata_only, Secret)` as it should be.
fn kind_first(key: &str, parts: &[Vec<TokenTree>], at: usize) -> String {
    let text = |part: &Vec<TokenTree>| spaced(&part.iter().cloned().collect());
    let others = parts
        .iter()
        .enumerate()
        .filter(|(i, _)| *i != at)
        .map(|(_, part)| text(part));
    let ordered: Vec<String> = std::iter::once(text(&parts[at])).chain(others).collect();
    format!("{key}({})", ordered.join(", "))
}

fn is_option(part: &[TokenTree]) -> bool {
    matches!(part.get(1), Some(TokenTree::Punct(p)) if p.as_char() == '=')
        || (part.len() == 1 && keys::WATCHES.iter().any(|(name, _)| part[0].to_string() == *name))
}

/// Whether a key was written with options.
pub(super) fn options(shape: &Shape) -> Option<&Group> {
    match shape {
        Shape::List(group) => Some(group),
        _ => None,
    }
}
