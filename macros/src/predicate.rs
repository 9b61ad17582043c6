//! Predicates in an attribute: `generation_changed & !labels_changed`, `(a | b)`, `object(f)`, `my::path`, `my::f(…)`.
//!
//! The operators become calls of `predicates::and`, `or` and `not`, so that a wrong operand is told on the operand.
//! Bare names of the standard predicates need no import.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::Path;
use syn::parse::{Parse, ParseStream};

use crate::path::CratePath;

/// Functions of `kubewright::predicates` that stand for themselves when written bare.
const STANDARD: [&str; 5] = [
    "generation_changed",
    "labels_changed",
    "annotations_changed",
    "status_changed",
    "resource_version_changed",
];

/// Functions of `kubewright::predicates` that take arguments and need no import.
const STANDARD_CALLS: [&str; 4] = ["object", "and", "or", "not"];

/// A parsed predicate.
#[derive(Clone)]
pub(crate) enum Predicate {
    /// `a & b`
    And(Box<Predicate>, Box<Predicate>),
    /// `a | b`
    Or(Box<Predicate>, Box<Predicate>),
    /// `!a`
    Not(Box<Predicate>),
    /// One of [`STANDARD`].
    Standard(Ident),
    /// One of [`STANDARD_CALLS`], with its arguments.
    StandardCall(Ident, Group),
    /// Anything the user has in scope, with arguments if it is called.
    Named(Path, Option<Group>),
}

impl Predicate {
    /// The builder's argument. `object` is the type that `object(f)` is asked about, where one watch is meant.
    pub(crate) fn expand(&self, object: Option<&TokenStream>, krate: &CratePath) -> TokenStream {
        let binary = |name: &str, a: &Self, b: &Self| {
            let name = Ident::new(name, Span::call_site());
            let (a, b) = (a.expand(object, krate), b.expand(object, krate));
            quote!(#krate::predicates::#name(#a, #b))
        };
        match self {
            Self::And(a, b) => binary("and", a, b),
            Self::Or(a, b) => binary("or", a, b),
            Self::Not(a) => {
                let a = a.expand(object, krate);
                quote!(#krate::predicates::not(#a))
            }
            Self::Standard(name) => quote!(#krate::predicates::#name()),
            // A function of another kind would pass everything; with the type written out it does not compile.
            Self::StandardCall(name, arguments) if name == "object" => {
                let of = object.map(|object| quote!(::<#object, _>));
                quote!(#krate::predicates::#name #of #arguments)
            }
            Self::StandardCall(name, arguments) => quote!(#krate::predicates::#name #arguments),
            Self::Named(path, arguments) => quote!(#path #arguments),
        }
    }
}

impl Parse for Predicate {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let predicate = parse_or(input)?;
        if input.is_empty() {
            return Ok(predicate);
        }
        if input.peek(syn::Token![&&]) || input.peek(syn::Token![||]) {
            return Err(input.error("predicates are joined by a single `&` or `|`"));
        }
        Err(input.error("expected `&`, `|` or the end of the predicate"))
    }
}

fn parse_or(input: ParseStream<'_>) -> syn::Result<Predicate> {
    let mut left = parse_and(input)?;
    while input.peek(syn::Token![|]) && !input.peek(syn::Token![||]) {
        input.parse::<syn::Token![|]>()?;
        left = Predicate::Or(Box::new(left), Box::new(parse_and(input)?));
    }
    Ok(left)
}

fn parse_and(input: ParseStream<'_>) -> syn::Result<Predicate> {
    let mut left = parse_not(input)?;
    while input.peek(syn::Token![&]) && !input.peek(syn::Token![&&]) {
        input.parse::<syn::Token![&]>()?;
        left = Predicate::And(Box::new(left), Box::new(parse_not(input)?));
    }
    Ok(left)
}

fn parse_not(input: ParseStream<'_>) -> syn::Result<Predicate> {
    if input.peek(syn::Token![!]) {
        input.parse::<syn::Token![!]>()?;
        return Ok(Predicate::Not(Box::new(parse_not(input)?)));
    }
    if input.peek(syn::token::Paren) {
        let group = parse_parentheses(input)?;
        return syn::parse2(group.stream());
    }
    if input.peek(syn::Token![|]) || input.peek(syn::Token![move]) {
        return Err(
            input.error("a closure does not fit here: write it as a function and name it, as in `object(is_ready)`")
        );
    }
    if input.is_empty() || !(input.peek(syn::Ident) || input.peek(syn::Token![::]) || input.peek(syn::Token![crate])) {
        return Err(input.error("expected a predicate, such as `generation_changed` or `object(is_ready)`"));
    }
    let path: Path = input.parse()?;
    let arguments = if input.peek(syn::token::Paren) {
        Some(parse_parentheses(input)?)
    } else {
        None
    };
    Ok(classify(path, arguments))
}

fn classify(path: Path, arguments: Option<Group>) -> Predicate {
    let Some(name) = path.get_ident().cloned() else {
        return Predicate::Named(path, arguments);
    };
    let text = name.to_string();
    match arguments {
        None if STANDARD.contains(&&*text) => Predicate::Standard(name),
        Some(group) if STANDARD.contains(&&*text) && group.stream().is_empty() => Predicate::Standard(name),
        Some(group) if STANDARD_CALLS.contains(&&*text) => Predicate::StandardCall(name, group),
        arguments => Predicate::Named(path, arguments),
    }
}

fn parse_parentheses(input: ParseStream<'_>) -> syn::Result<Group> {
    match input.parse::<TokenTree>()? {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => Ok(group),
        other => Err(syn::Error::new(other.span(), "expected `(…)`")),
    }
}

/// A map function: a path, or a call that answers one.
#[derive(Clone)]
pub(crate) struct FunctionValue {
    path: Path,
    arguments: Option<Group>,
}

impl Parse for FunctionValue {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.peek(syn::Token![|]) || input.peek(syn::Token![move]) || input.peek(syn::Token![async]) {
            return Err(
                input.error("a closure does not fit here: write a function and name it, as in `map = users_of`")
            );
        }
        if !(input.peek(syn::Ident)
            || input.peek(syn::Token![::])
            || input.peek(syn::Token![crate])
            || input.peek(syn::Token![self])
            || input.peek(syn::Token![super])
            || input.peek(syn::Token![Self])
            || input.peek(syn::Token![<]))
        {
            return Err(input.error("expected the name of a function, as in `map = users_of`"));
        }
        let path = input.parse()?;
        let arguments = if input.peek(syn::token::Paren) {
            Some(parse_parentheses(input)?)
        } else {
            None
        };
        if !input.is_empty() {
            return Err(input.error("expected `,` after the name of the function"));
        }
        Ok(Self { path, arguments })
    }
}

impl ToTokens for FunctionValue {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.path.to_tokens(tokens);
        self.arguments.to_tokens(tokens);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(text: &str) -> String {
        let predicate: Predicate = syn::parse_str(text).expect(text);
        predicate
            .expand(None, &CratePath::default())
            .to_string()
            .replace(' ', "")
    }

    #[test]
    fn and_binds_closer_than_or() {
        assert_eq!(
            expand("generation_changed | !mine & object(ready)"),
            "::kubewright::predicates::or(::kubewright::predicates::generation_changed(),\
             ::kubewright::predicates::and(::kubewright::predicates::not(mine),\
             ::kubewright::predicates::object(ready)))"
        );
    }

    #[test]
    fn wrong_operators_and_closures_are_told() {
        for (text, says) in [
            ("a && b", "single `&`"),
            ("|x| true", "closure"),
            ("a b", "expected `&`"),
            ("", "expected a predicate"),
            ("\"a\"", "expected a predicate"),
        ] {
            let error = syn::parse_str::<Predicate>(text).err().expect(text).to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
