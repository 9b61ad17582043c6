//! The item that the attribute is on.

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};

use crate::diag::Diag;

/// The name of the struct or enum; its body may be broken.
pub(super) fn parse(item: &TokenStream, diag: &mut Diag) -> Option<Ident> {
    const WHERE: &str = "`#[webhooks(…)]` goes on a struct: write `struct AppWebhooks;` below it";
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
                diag.error(other, WHERE);
                return None;
            }
            None => {
                diag.error_at(Span::call_site(), WHERE);
                return None;
            }
        }
    }
    // A missing name is rustc's to report.
    let Some(TokenTree::Ident(name)) = tokens.next() else {
        return None;
    };
    if let Some(TokenTree::Punct(open)) = tokens.peek()
        && open.as_char() == '<'
    {
        diag.error(
            open,
            "webhooks are declared on a type without parameters: name the kind in `for`, and hold what differs in fields",
        );
        return None;
    }
    Some(name)
}
