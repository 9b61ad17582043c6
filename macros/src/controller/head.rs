use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};

use crate::diag::Diag;

/// The part of the item that the expansion needs.
pub(crate) struct Head {
    /// Name of the struct or enum.
    pub(crate) name: Ident,
}

/// Reads the head of a struct or enum; its body may be broken.
pub(crate) fn parse(item: &TokenStream, diag: &mut Diag) -> Option<Head> {
    let mut tokens = item.clone().into_iter().peekable();
    loop {
        match tokens.next() {
            Some(TokenTree::Punct(p)) if p.as_char() == '#' => {
                tokens.next();
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
                diag.error(
                    other,
                    "`#[controller(…)]` goes on a struct: write `struct AppController;` below it",
                );
                return None;
            }
            None => {
                diag.error_at(
                    proc_macro2::Span::call_site(),
                    "`#[controller(…)]` goes on a struct: write `struct AppController;` below it",
                );
                return None;
            }
        }
    }
    // A missing name is rustc's to report.
    let Some(TokenTree::Ident(name)) = tokens.next() else {
        return None;
    };
    if let Some(TokenTree::Punct(p)) = tokens.peek()
        && p.as_char() == '<'
    {
        diag.error(
            p,
            format!(
                "a controller has no generic parameters, since its name and watches belong to one type: \
                 remove them, or implement `Declare` for `{name}` by hand"
            ),
        );
        return None;
    }
    Some(Head { name })
}
