//! Predicates in an attribute: `generation_changed & !labels_changed`, `(a | b)`, `object(f)`, `my::path`, `my::f(…)`.
//!
//! The operators become calls of `predicates::and`, `or` and `not`, so that a wrong operand is told on the operand.
//! Bare names of the standard predicates need no import.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::Path;
use syn::parse::{Parse, ParseStream};

use crate::args::nearest;
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
            // A bare name that is no predicate is told in our words; what a call answers, in rustc's.
            Self::Named(path, None) => quote!(#krate::predicates::given(#path)),
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
        if input.peek(syn::Token![&&]) {
            let twice: syn::Token![&&] = input.parse()?;
            return Err(syn::Error::new_spanned(
                twice,
                "predicates are joined by a single `&`: write `&`",
            ));
        }
        if input.peek(syn::Token![||]) {
            let twice: syn::Token![||] = input.parse()?;
            return Err(syn::Error::new_spanned(
                twice,
                "predicates are joined by a single `|`: write `|`",
            ));
        }
        match input.parse::<Ident>() {
            Ok(word) if word == "and" => Err(syn::Error::new_spanned(word, "predicates are joined by `&`: write `&`")),
            Ok(word) if word == "or" => Err(syn::Error::new_spanned(word, "predicates are joined by `|`: write `|`")),
            Ok(word) => Err(syn::Error::new_spanned(word, "expected `&`, `|` or `,` before this")),
            Err(_) => Err(at_rest(input, "expected `&`, `|` or the end of the predicate")),
        }
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
        return Err(at_rest(
            input,
            "a closure does not fit here: write it as a function and name it, as in `object(is_ready)`",
        ));
    }
    let is_path = [
        input.peek(syn::Ident),
        input.peek(syn::Token![::]),
        input.peek(syn::Token![crate]),
        input.peek(syn::Token![self]),
        input.peek(syn::Token![super]),
        input.peek(syn::Token![Self]),
    ];
    if !is_path.contains(&true) {
        return Err(at_rest(
            input,
            "expected a predicate, such as `generation_changed` or `object(is_ready)`",
        ));
    }
    let path: Path = input.parse()?;
    let arguments = if input.peek(syn::token::Paren) {
        Some(parse_parentheses(input)?)
    } else {
        None
    };
    classify(path, arguments, input)
}

fn classify(path: Path, arguments: Option<Group>, rest: ParseStream<'_>) -> syn::Result<Predicate> {
    let Some(name) = path.get_ident().cloned() else {
        return Ok(Predicate::Named(path, arguments));
    };
    let text = name.to_string();
    let standard = STANDARD.contains(&&*text);
    match arguments {
        None if standard => Ok(Predicate::Standard(name)),
        Some(group) if standard && group.stream().is_empty() => Ok(Predicate::Standard(name)),
        Some(group) if standard => Err(syn::Error::new_spanned(
            group,
            format!("`{name}` takes no arguments: write it alone"),
        )),
        Some(group) if STANDARD_CALLS.contains(&&*text) => Ok(Predicate::StandardCall(name, group)),
        None if text == "not" && !rest.is_empty() => Err(syn::Error::new_spanned(
            name,
            "a predicate is negated by `!`: write `!`",
        )),
        None if STANDARD_CALLS.contains(&&*text) => Err(syn::Error::new_spanned(
            &name,
            format!("`{name}` needs an argument: write it as in `object(is_ready)`"),
        )),
        None => match nearest(&text, STANDARD) {
            Some(meant) => Err(syn::Error::new_spanned(
                name,
                format!("there is no predicate `{text}`: did you mean `{meant}`?"),
            )),
            None => Ok(Predicate::Named(path, None)),
        },
        arguments => Ok(Predicate::Named(path, arguments)),
    }
}

/// An error on all that is left; where nothing is, the caller finds a place.
fn at_rest(input: ParseStream<'_>, message: &str) -> syn::Error {
    if input.is_empty() {
        return input.error(message);
    }
    match input.parse::<TokenStream>() {
        Ok(rest) => syn::Error::new_spanned(rest, message),
        Err(error) => error,
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

impl FunctionValue {
    /// Reads a function; `example` is a whole argument that would be right.
    pub(crate) fn parse(input: ParseStream<'_>, example: &str) -> syn::Result<Self> {
        if input.peek(syn::Token![|]) || input.peek(syn::Token![move]) || input.peek(syn::Token![async]) {
            return Err(at_rest(
                input,
                &format!("a closure does not fit here: write a function and name it, as in `{example}`"),
            ));
        }
        if !(input.peek(syn::Ident)
            || input.peek(syn::Token![::])
            || input.peek(syn::Token![crate])
            || input.peek(syn::Token![self])
            || input.peek(syn::Token![super])
            || input.peek(syn::Token![Self])
            || input.peek(syn::Token![<]))
        {
            return Err(at_rest(
                input,
                &format!("expected the name of a function, as in `{example}`"),
            ));
        }
        let path = input.parse()?;
        let arguments = if input.peek(syn::token::Paren) {
            Some(parse_parentheses(input)?)
        } else {
            None
        };
        if !input.is_empty() {
            return Err(at_rest(input, "expected `,` before this"));
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
             ::kubewright::predicates::and(::kubewright::predicates::not(::kubewright::predicates::given(mine)),\
             ::kubewright::predicates::object(ready)))"
        );
    }

    #[test]
    fn wrong_operators_and_closures_are_told() {
        for (text, says) in [
            ("a && b", "single `&`"),
            ("a || b", "single `|`"),
            ("a and b", "joined by `&`"),
            ("not a", "negated by `!`"),
            ("generation_change", "did you mean `generation_changed`?"),
            ("generation_changed(3)", "takes no arguments"),
            ("object", "needs an argument"),
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
