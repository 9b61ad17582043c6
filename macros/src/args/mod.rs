//! Arguments of an attribute: `key`, `key = value` and `key(…)`, separated by commas; `#[cfg(…)]` may stand before each.
//!
//! A mistake in one argument hides no other: what cannot be read is reported and, where it is clear what was meant,
//! read as that.

mod nearest;
mod split;

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;

pub(crate) use nearest::nearest;
pub(crate) use split::split;

use crate::diag::Diag;

/// Keys that an attribute knows, each with an example of a whole argument.
pub(crate) type Known = &'static [(&'static str, &'static str)];

/// One argument.
#[derive(Clone)]
pub(crate) struct Arg {
    /// What stands in the parentheses of `#[cfg(…)]` before the key.
    pub(crate) cfg: Option<TokenStream>,
    /// The key as the user wrote it; keywords (`for`, `crate`) included.
    pub(crate) key: Ident,
    /// What follows the key.
    pub(crate) shape: Shape,
    /// Whether something else was written, and reported, and this is what was probably meant: a mistake in it is none of
    /// its own.
    pub(crate) guessed: bool,
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
    /// Something that could not be read and has been reported.
    Unreadable,
}

impl Arg {
    /// Name of the key, without `r#`.
    pub(crate) fn name(&self) -> String {
        let name = self.key.to_string();
        name.strip_prefix("r#").map(str::to_owned).unwrap_or(name)
    }
}

/// Reads all arguments. `known` serves for messages; whether a key is known is for the caller to tell.
pub(crate) fn parse(tokens: TokenStream, known: Known, diag: &mut Diag) -> Vec<Arg> {
    split(tokens, diag)
        .into_iter()
        .filter_map(|part| parse_one(part, known, diag))
        .collect()
}

/// As [`parse`]; a literal without a key is reported, and taken for the value of the key that stands in its place among
/// those known.
pub(crate) fn parse_in_order(tokens: TokenStream, known: Known, diag: &mut Diag) -> Vec<Arg> {
    let mut args = Vec::new();
    for (i, part) in split(tokens, diag).into_iter().enumerate() {
        let (Some((key, _)), [TokenTree::Literal(literal)]) = (known.get(i), &part[..]) else {
            args.extend(parse_one(part, known, diag));
            continue;
        };
        diag.error(literal, format!("a key is missing: write `{key} = {literal}`"));
        args.push(Arg {
            cfg: None,
            key: Ident::new(key, literal.span()),
            shape: Shape::Value(part.into_iter().collect()),
            guessed: true,
        });
    }
    args
}

/// How a key is written, or any key where there is none of this name.
pub(crate) fn example(known: Known, name: &str) -> &'static str {
    let of = |name: &str| known.iter().find(|(key, _)| *key == name).map(|(_, example)| *example);
    of(name)
        .or_else(|| known.first().map(|(_, example)| *example))
        .unwrap_or_default()
}

fn parse_one(part: Vec<TokenTree>, known: Known, diag: &mut Diag) -> Option<Arg> {
    let mut tokens = part.into_iter().peekable();
    let mut cfgs = Vec::new();
    let mut end = None;
    while let Some(hash) = tokens.next_if(|t| matches!(t, TokenTree::Punct(p) if p.as_char() == '#')) {
        end = tokens.peek().cloned();
        match (parse_cfg(tokens.peek()), tokens.next()) {
            (Some(cfg), _) => cfgs.push(cfg),
            (None, attribute) => diag.error(attribute.unwrap_or(hash), "only `#[cfg(…)]` may stand before a key"),
        }
    }
    let cfg = match &cfgs[..] {
        [] => None,
        [one] => Some(one.clone()),
        all => Some(quote::quote!(all(#(#all),*))),
    };
    let Some(first) = tokens.next() else {
        diag.error(end, "a key is missing after this");
        return None;
    };
    let key = parse_key(first, known, diag)?;
    let shape = parse_shape(&key, &tokens.collect::<Vec<_>>(), known, diag)?;
    Some(Arg {
        cfg,
        key,
        shape,
        guessed: false,
    })
}

/// What stands in the parentheses of `[cfg(…)]`.
fn parse_cfg(attribute: Option<&TokenTree>) -> Option<TokenStream> {
    let Some(TokenTree::Group(attribute)) = attribute else {
        return None;
    };
    let mut tokens = attribute.stream().into_iter();
    match (tokens.next(), tokens.next(), tokens.next()) {
        (Some(TokenTree::Ident(name)), Some(TokenTree::Group(predicate)), None)
            if name == "cfg" && predicate.delimiter() == Delimiter::Parenthesis =>
        {
            Some(predicate.stream())
        }
        _ => None,
    }
}

fn parse_key(token: TokenTree, known: Known, diag: &mut Diag) -> Option<Ident> {
    let quoted = match &token {
        TokenTree::Ident(key) => return Some(key.clone()),
        TokenTree::Literal(literal) => literal.to_string(),
        _ => String::new(),
    };
    let name = quoted.trim_matches('"');
    if known.iter().any(|(key, _)| *key == name) {
        diag.error(&token, format!("a key stands without quotes: write `{name}`"));
        return Some(Ident::new(name, token.span()));
    }
    diag.error(token, format!("expected a key, such as `{}`", example(known, "")));
    diag.lose();
    None
}

/// Reads what follows the key. What follows it in another way than by `=` or in parentheses is reported, and taken for
/// its value all the same.
fn parse_shape(key: &Ident, rest: &[TokenTree], known: Known, diag: &mut Diag) -> Option<Shape> {
    let value = |skipped: usize| rest[skipped..].iter().cloned().collect::<TokenStream>();
    let punct = |i: usize| match rest.get(i) {
        Some(TokenTree::Punct(p)) => Some(p.as_char()),
        _ => None,
    };
    let skipped = match (punct(0), punct(1)) {
        (Some('='), Some('=' | '>')) | (Some(':'), Some('=')) => 2,
        (Some(':'), Some(':')) => {
            diag.error(key, format!("a key is one word, such as `{}`", example(known, "")));
            diag.lose();
            return None;
        }
        (Some('=' | ':'), _) => 1,
        _ => 0,
    };
    match rest.first() {
        None => return Some(Shape::Flag),
        Some(TokenTree::Group(group)) if group.delimiter() != Delimiter::Bracket => {
            let parentheses = group.delimiter() == Delimiter::Parenthesis;
            if !parentheses {
                diag.error(
                    group,
                    format!("expected parentheses: write `{key}({})`", spaced(&group.stream())),
                );
            } else if let Some(extra) = rest.get(1) {
                diag.error(extra, format!("expected `,` after `{key}(…)`"));
            }
            let mut list = Group::new(Delimiter::Parenthesis, group.stream());
            list.set_span(group.span());
            return Some(Shape::List(list));
        }
        _ => {}
    }
    let value = value(skipped);
    if value.is_empty() {
        let message = match known.iter().find(|(name, _)| key == name) {
            Some((_, example)) => format!("a value is missing: write `{example}`"),
            None => "a value is missing after this".to_owned(),
        };
        diag.error(rest.last(), message);
        diag.lose();
        return Some(Shape::Unreadable);
    }
    if skipped != 1 || punct(0) != Some('=') {
        let wrong: TokenStream = rest[..skipped.max(1)].iter().cloned().collect();
        diag.error(wrong, format!("expected `=`: write `{key} = {}`", spaced(&value)));
    }
    Some(Shape::Value(value))
}

/// Whether a value begins as the example's does: both with a quote, a digit, a bracket or a letter.
pub(crate) fn fits(example: &str, value: &TokenStream) -> bool {
    let first = |text: &str| {
        text.chars().next().map(|c| match c {
            c if c.is_alphabetic() => 'a',
            c if c.is_ascii_digit() => '0',
            c => c,
        })
    };
    let of_example = example.split_once("= ").map(|(_, value)| value).unwrap_or_default();
    first(of_example) == first(&value.to_string())
}

/// The tokens as a person writes them, for a message; shortened where they are long.
pub(crate) fn spaced(tokens: &TokenStream) -> String {
    let text = tokens.to_string().replace(" ,", ",");
    if text.chars().count() > 60 {
        "…".to_owned()
    } else {
        text
    }
}

/// The span of the first token, or `fallback`.
pub(crate) fn first_span(tokens: &impl ToTokens, fallback: Span) -> Span {
    tokens
        .to_token_stream()
        .into_iter()
        .next()
        .map_or(fallback, |t| t.span())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: Known = &[("for", "for = App"), ("workers", "workers = 4")];

    fn read(text: &str) -> (Vec<String>, Vec<String>) {
        let mut diag = Diag::default();
        let args = parse(text.parse().expect("tokens"), KNOWN, &mut diag);
        let keys = args.iter().map(Arg::name).collect();
        let errors = diag.into_tokens().to_string();
        let messages = errors.split('"').skip(1).step_by(2).map(str::to_owned).collect();
        (keys, messages)
    }

    #[test]
    fn one_bad_argument_hides_no_other() {
        let (keys, errors) = read("for = App, 4, owns(A<B, C>, x), , workers: 3, name =");
        assert_eq!(keys, ["for", "owns", "workers", "name"]);
        assert_eq!(
            errors,
            [
                "nothing stands before this comma: remove it",
                "expected a key, such as `for = App`",
                "expected `=`: write `workers = 3`",
                "a value is missing after this",
            ]
        );
    }

    #[test]
    fn what_was_meant_is_read() {
        for (text, says) in [
            ("for = App; workers = 4", "expected `,`, found `;`"),
            ("for = App workers = 4", "expected `,` before `workers`"),
            ("for = Vec<App> workers = 4", "expected `,` before `workers`"),
            ("for App, workers = 4", "expected `=`: write `for = App`"),
            ("for = App, workers == 4", "expected `=`: write `workers = 4`"),
            ("for = App, workers => 4", "expected `=`: write `workers = 4`"),
            ("for = App, workers[4]", "expected `=`: write `workers = [4]`"),
            ("for = App, workers{4}", "expected parentheses: write `workers(4)`"),
            (
                "for = App, #[doc(hidden)] workers = 4",
                "only `#[cfg(…)]` may stand before a key",
            ),
        ] {
            let (keys, errors) = read(text);
            assert_eq!(keys, ["for", "workers"], "{text}");
            assert_eq!(errors, [says], "{text}");
        }
        assert_eq!(read("#[cfg(a)] #[cfg(b)] for = App,").1, [""; 0]);
    }
}
