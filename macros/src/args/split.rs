use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

use crate::diag::Diag;

/// Splits at commas, those inside `<…>` apart. Reports empty parts, and commas that are missing or are something else;
/// a trailing comma is fine.
pub(crate) fn split(tokens: TokenStream, diag: &mut Diag) -> Vec<Vec<TokenTree>> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut parts = Vec::new();
    let mut part: Vec<TokenTree> = Vec::new();
    let mut depth = 0_usize;
    for (i, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Punct(p) if matches!(p.as_char(), ',' | ';') && depth == 0 => {
                if p.as_char() == ';' {
                    diag.error(p, "expected `,`, found `;`");
                } else if part.is_empty() {
                    diag.error(p, "nothing stands before this comma: remove it");
                }
                if !part.is_empty() {
                    parts.push(std::mem::take(&mut part));
                }
                continue;
            }
            TokenTree::Punct(p) if p.as_char() == '<' => depth += 1,
            TokenTree::Punct(p) if p.as_char() == '>' && !ends_arrow(&part) => depth = depth.saturating_sub(1),
            TokenTree::Ident(key) if depth == 0 && lacks_comma(&part, &tokens[i + 1..]) => {
                diag.error(key, format!("expected `,` before `{key}`"));
                parts.push(std::mem::take(&mut part));
            }
            _ => {}
        }
        part.push(token.clone());
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

/// Whether an identifier between `part` and `rest` begins an argument of its own: it is followed by `=`, and an
/// argument stands before it.
fn lacks_comma(part: &[TokenTree], rest: &[TokenTree]) -> bool {
    let ends = match part.last() {
        Some(TokenTree::Punct(p)) => p.as_char() == '>' && !ends_arrow(&part[..part.len() - 1]),
        Some(TokenTree::Group(group)) => group.delimiter() != Delimiter::Bracket || !is_attribute(part),
        Some(_) => true,
        None => false,
    };
    let is_key = match rest {
        [TokenTree::Punct(p), ..] => p.as_char() == '=' && p.spacing() == Spacing::Alone,
        _ => false,
    };
    ends && is_key
}

/// Whether the last token is the `[…]` of `#[…]`.
fn is_attribute(part: &[TokenTree]) -> bool {
    matches!(part, [.., TokenTree::Punct(p), TokenTree::Group(_)] if p.as_char() == '#')
}

/// Whether the last token is the `-` or `=` of an arrow.
fn ends_arrow(part: &[TokenTree]) -> bool {
    matches!(part.last(), Some(TokenTree::Punct(p)) if matches!(p.as_char(), '-' | '='))
}
