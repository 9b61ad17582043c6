use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser};
use syn::{Generics, WhereClause};

use crate::diag::Diag;

/// The part of the item that the expansion needs.
pub(crate) struct Head {
    /// Name of the struct or enum.
    pub(crate) name: Ident,
    /// Its parameters; each set of arguments is a controller of its own.
    pub(crate) generics: Generics,
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
    Some(Head { name, generics })
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
