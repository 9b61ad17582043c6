use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{ParseStream, Parser};
use syn::{Generics, Type, WhereClause};

use crate::diag::Diag;

/// The part of the item that the expansion needs.
pub(crate) struct Head {
    /// The controller's type, with its arguments.
    pub(crate) ty: TokenStream,
    /// Its parameters; each set of arguments is a controller of its own.
    pub(crate) generics: Generics,
    /// Whether it cannot be a controller as it stands; that has been reported.
    pub(crate) unfit: bool,
}

/// Reads the head of a struct or enum; its body may be broken.
pub(crate) fn parse(item: &TokenStream, diag: &mut Diag) -> Option<Head> {
    const WHERE: &str = "`#[controller(…)]` goes on a struct: write `struct AppController;` below it";
    let mut tokens = item.clone().into_iter().peekable();
    loop {
        match tokens.next() {
            Some(TokenTree::Punct(p)) if p.as_char() == '#' => {
                let Some(TokenTree::Group(attribute)) = tokens.next() else {
                    return None;
                };
                if let Some(again) = controller_attribute(&attribute) {
                    // The inner one declares the controller; a second declaration would be an error of its own.
                    diag.error(
                        again,
                        "a type is declared as a controller once: merge the two attributes",
                    );
                    return None;
                }
            }
            Some(TokenTree::Ident(word)) if word == "pub" => {
                let restricted =
                    matches!(tokens.peek(), Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Parenthesis);
                if restricted {
                    tokens.next();
                }
            }
            Some(TokenTree::Ident(word)) if word == "struct" || word == "enum" => break,
            Some(TokenTree::Ident(word)) if word == "impl" => return parse_impl(&word, tokens.collect(), diag),
            Some(other) => {
                diag.error(other, WHERE);
                return None;
            }
            None => {
                diag.error_at(Span::call_site(), WHERE);
                return None;
            }
        }
    }
    // A missing name, and parameters that do not parse, are rustc's to report.
    let Some(TokenTree::Ident(name)) = tokens.next() else {
        return None;
    };
    let generics = parse_generics.parse2(tokens.collect()).ok()?;
    let (_, arguments, _) = generics.split_for_impl();
    let ty = quote!(#name #arguments);
    let unfit = check_lifetimes(&generics, diag);
    Some(Head { ty, generics, unfit })
}

/// The attribute on `impl Reconciler for C`: reported, and taken for one on `C`.
fn parse_impl(word: &Ident, rest: TokenStream, diag: &mut Diag) -> Option<Head> {
    let parsed = parse_impl_head.parse2(rest).ok();
    let place = match &parsed {
        Some((_, ty)) => format!("put it above `struct {}`", ty.to_token_stream()),
        None => "put it above the struct".to_owned(),
    };
    diag.error(
        word,
        format!("`#[controller(…)]` goes on the struct, not on an impl of it: {place}"),
    );
    let (generics, ty) = parsed?;
    Some(Head {
        ty: ty.into_token_stream(),
        generics,
        unfit: true,
    })
}

/// `<T> Reconciler for C<T> where T: X { … }`
fn parse_impl_head(input: ParseStream<'_>) -> syn::Result<(Generics, Type)> {
    let mut generics: Generics = input.parse()?;
    let mut ty: Type = input.parse()?;
    if input.peek(syn::Token![for]) {
        input.parse::<syn::Token![for]>()?;
        ty = input.parse()?;
    }
    generics.where_clause = input.parse::<Option<WhereClause>>()?;
    input.parse::<TokenStream>()?;
    Ok((generics, ty))
}

/// `struct C<'a> { … }`
fn check_lifetimes(generics: &Generics, diag: &mut Diag) -> bool {
    for lifetime in generics.lifetimes() {
        diag.error(
            &lifetime.lifetime,
            format!(
                "a controller lives as long as its manager, so it cannot borrow for `{}`: own the value, hold an `Arc` \
                 of it, or borrow it for `'static`",
                lifetime.lifetime
            ),
        );
    }
    generics.lifetimes().next().is_some()
}

/// The name in `controller(…)` or `kubewright::controller(…)`.
fn controller_attribute(attribute: &Group) -> Option<Ident> {
    let path_end = attribute
        .stream()
        .into_iter()
        .take_while(|token| !matches!(token, TokenTree::Group(_)))
        .last();
    match path_end {
        Some(TokenTree::Ident(name)) if name == "controller" => Some(name),
        _ => None,
    }
}

/// `<T> where T: X { … }`, `<T>( … ) where T: X;`, `;`
fn parse_generics(input: ParseStream<'_>) -> syn::Result<Generics> {
    let mut generics: Generics = input.parse()?;
    if input.peek(syn::token::Paren) {
        input.parse::<TokenTree>()?;
    }
    generics.where_clause = input.parse::<Option<WhereClause>>()?;
    // The body is the user's.
    input.parse::<TokenStream>()?;
    Ok(generics)
}
