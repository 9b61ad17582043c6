//! Arguments of an attribute: `key`, `key = value` and `key(…)`, separated by commas.
//!
//! A mistake in one argument hides no other: what cannot be read is reported and skipped up to the next comma.

use proc_macro2::{Delimiter, Group, Ident, Punct, Span, TokenStream, TokenTree};
use quote::ToTokens;

use crate::diag::Diag;

/// One argument.
#[derive(Clone)]
pub(crate) struct Arg {
    /// The key as the user wrote it; keywords (`for`, `crate`) included.
    pub(crate) key: Ident,
    /// What follows the key.
    pub(crate) shape: Shape,
}

/// What follows a key.
#[derive(Clone)]
pub(crate) enum Shape {
    /// Nothing.
    Flag,
    /// `= value`; never empty.
    Value(TokenStream),
    /// `(…)`.
    List(Group),
}

impl Arg {
    /// Name of the key, without `r#`.
    pub(crate) fn name(&self) -> String {
        let name = self.key.to_string();
        name.strip_prefix("r#").map(str::to_owned).unwrap_or(name)
    }
}

/// Reads all arguments. `example` is a whole argument that would be right, for messages.
pub(crate) fn parse(tokens: TokenStream, example: &str, diag: &mut Diag) -> Vec<Arg> {
    split(tokens, diag)
        .into_iter()
        .filter_map(|part| parse_one(part, example, diag))
        .collect()
}

/// Splits at commas, those inside `<…>` apart. Reports empty parts; a trailing comma is fine.
pub(crate) fn split(tokens: TokenStream, diag: &mut Diag) -> Vec<Vec<TokenTree>> {
    let mut parts = Vec::new();
    let mut part: Vec<TokenTree> = Vec::new();
    let mut depth = 0_usize;
    for token in tokens {
        match &token {
            TokenTree::Punct(p) if p.as_char() == ',' && depth == 0 => {
                if part.is_empty() {
                    diag.error(p, "nothing stands before this comma: remove it");
                } else {
                    parts.push(std::mem::take(&mut part));
                }
                continue;
            }
            TokenTree::Punct(p) if p.as_char() == '<' => depth += 1,
            TokenTree::Punct(p) if p.as_char() == '>' && !ends_arrow(&part) => depth = depth.saturating_sub(1),
            _ => {}
        }
        part.push(token);
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

/// Whether the last token is the `-` or `=` of an arrow.
fn ends_arrow(part: &[TokenTree]) -> bool {
    matches!(part.last(), Some(TokenTree::Punct(p)) if matches!(p.as_char(), '-' | '='))
}

fn parse_one(part: Vec<TokenTree>, example: &str, diag: &mut Diag) -> Option<Arg> {
    let mut tokens = part.into_iter();
    let key = match tokens.next()? {
        TokenTree::Ident(key) => key,
        other => {
            diag.error(other, format!("expected a key, such as `{example}`"));
            return None;
        }
    };
    let shape = match tokens.next() {
        None => Shape::Flag,
        Some(TokenTree::Punct(p)) if p.as_char() == '=' => Shape::Value(parse_value(&key, &p, tokens.by_ref(), diag)?),
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => Shape::List(group),
        Some(TokenTree::Punct(p)) if p.as_char() == ':' => {
            diag.error(p, format!("write `{key} = …`, with `=`"));
            return None;
        }
        Some(other) => {
            diag.error(other, format!("expected `=`, `(` or `,` after `{key}`"));
            return None;
        }
    };
    if let Some(extra) = tokens.next() {
        diag.error(extra, format!("expected `,` after `{key}(…)`"));
    }
    Some(Arg { key, shape })
}

fn parse_value(
    key: &Ident,
    equals: &Punct,
    tokens: impl Iterator<Item = TokenTree>,
    diag: &mut Diag,
) -> Option<TokenStream> {
    let value: TokenStream = tokens.collect();
    if value.is_empty() {
        diag.error(equals, format!("a value is missing after `{key} =`"));
        return None;
    }
    Some(value)
}

/// The span of the first token, or `fallback`.
pub(crate) fn first_span(tokens: &impl ToTokens, fallback: Span) -> Span {
    tokens
        .to_token_stream()
        .into_iter()
        .next()
        .map_or(fallback, |t| t.span())
}

/// The known name that was probably meant, if one is near.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known: Vec<&str> = known.into_iter().collect();
    let mut longer = known
        .iter()
        .filter(|candidate| name.len() >= 3 && candidate.starts_with(name));
    if let (Some(only), None) = (longer.next(), longer.next()) {
        return Some(only);
    }
    let limit = (name.len() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Edits (insert, remove, replace) from one to the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replace = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bad_argument_hides_no_other() {
        let mut diag = Diag::default();
        let tokens = "for = App, 4, owns(A<B, C>, x), , workers: 3, name ="
            .parse()
            .expect("tokens");
        let keys: Vec<String> = parse(tokens, "for = App", &mut diag).iter().map(Arg::name).collect();
        assert_eq!(keys, ["for", "owns"]);
        let errors = diag.into_tokens().to_string();
        assert_eq!(errors.matches("compile_error").count(), 4, "{errors}");
    }

    #[test]
    fn a_misspelt_name_finds_the_one_meant() {
        let known = ["workers", "watches", "writes"];
        assert_eq!(nearest("worker", known), Some("workers"));
        assert_eq!(nearest("watch", known), Some("watches"));
        assert_eq!(nearest("write", known), Some("writes"));
        assert_eq!(nearest("resync", known), None);
        assert_eq!(nearest("work", known), Some("workers"));
        assert_eq!(nearest("wr", known), None);
    }
}
