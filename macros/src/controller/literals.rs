//! Literals of the attribute. Where a literal fits, the path of a constant fits too; those are checked at run time.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Lit, LitStr, Path};

use crate::args;
use crate::diag::Diag;
use crate::value;

/// A duration: its literal as read, or a constant's path.
#[derive(Clone)]
pub(crate) enum Duration {
    /// A literal.
    Literal(std::time::Duration, LitStr),
    /// A constant of type `Duration`.
    Constant(Path),
}

impl ToTokens for Duration {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.extend(match self {
            Self::Constant(path) => path.to_token_stream(),
            Self::Literal(duration, literal) => {
                let span = literal.span();
                let nanos = duration.as_nanos();
                let (name, count) = match nanos {
                    n if n % 1_000_000_000 == 0 => ("from_secs", n / 1_000_000_000),
                    n if n % 1_000_000 == 0 => ("from_millis", n / 1_000_000),
                    n => ("from_micros", n / 1_000),
                };
                let name = proc_macro2::Ident::new(name, proc_macro2::Span::call_site());
                let count = proc_macro2::Literal::u64_unsuffixed(u64::try_from(count).unwrap_or(u64::MAX));
                quote_spanned!(span.resolved_at(proc_macro2::Span::call_site())=> ::core::time::Duration::#name(#count))
            }
        });
    }
}

/// `"5ms"` or the path of a constant.
pub(crate) fn duration(tokens: TokenStream, example: &str, diag: &mut Diag) -> Option<Duration> {
    if let Some(path) = constant(&tokens) {
        return Some(Duration::Constant(path));
    }
    if has_more(&tokens, diag) {
        return None;
    }
    match syn::parse2::<Lit>(tokens.clone()) {
        Ok(Lit::Str(literal)) => match value::parse_duration(&literal.value()) {
            Ok(duration) if duration.is_zero() => {
                diag.error(literal, "a duration of zero: leave the key out, or write a longer one");
                None
            }
            Ok(duration) => Some(Duration::Literal(duration, literal)),
            Err(why) => {
                diag.error(literal, why);
                None
            }
        },
        Ok(number @ (Lit::Int(_) | Lit::Float(_))) => {
            let text = number.to_token_stream().to_string();
            let quoted = [text.clone(), format!("{text}s")]
                .into_iter()
                .find(|text| value::parse_duration(text).is_ok_and(|duration| !duration.is_zero()));
            let write = match (quoted, example.split_once(" = ")) {
                (Some(quoted), Some((key, _))) => format!("{key} = \"{quoted}\""),
                _ => example.to_owned(),
            };
            diag.error(number, format!("a duration is a string with a unit: write `{write}`"));
            None
        }
        _ => {
            diag.error(tokens, format!("expected a duration in quotes: write `{example}`"));
            None
        }
    }
}

/// A string that `check` accepts, or the path of a constant.
///
/// A refused string is answered all the same: what follows from the key's presence should not be reported again.
pub(crate) fn text(tokens: TokenStream, example: &str, check: value::Check, diag: &mut Diag) -> Option<TokenStream> {
    if constant(&tokens).is_some() {
        return Some(tokens);
    }
    if has_more(&tokens, diag) {
        return None;
    }
    let Ok(Lit::Str(literal)) = syn::parse2::<Lit>(tokens.clone()) else {
        // A bare word that is right but for its quotes is proposed with them.
        let bare = syn::parse2::<proc_macro2::Ident>(tokens.clone()).map(|word| word.to_string());
        let write = match bare {
            Ok(word) if check(&word).is_ok() => format!("\"{word}\""),
            _ => example.to_owned(),
        };
        diag.error(tokens, format!("expected a string in quotes: write `{write}`"));
        return None;
    };
    if let Err(why) = check(&literal.value()) {
        diag.error(&literal, why);
    }
    Some(quote!(#literal))
}

/// `["a", "b"]` or `"a"`; nothing where one of them cannot be read.
pub(crate) fn texts(
    tokens: TokenStream,
    example: &str,
    check: value::Check,
    diag: &mut Diag,
) -> Option<Vec<TokenStream>> {
    let parts = elements(tokens.clone(), diag);
    if parts.is_empty() {
        diag.error(
            tokens,
            format!("the list is empty: write `{example}`, or leave the key out"),
        );
        return None;
    }
    let texts: Vec<Option<TokenStream>> = parts.into_iter().map(|part| text(part, example, check, diag)).collect();
    texts.into_iter().collect()
}

/// The elements of `[…]`, or the tokens themselves.
pub(crate) fn elements(tokens: TokenStream, diag: &mut Diag) -> Vec<TokenStream> {
    let mut all = tokens.clone().into_iter();
    match (all.next(), all.next()) {
        (Some(TokenTree::Group(group)), None) if group.delimiter() == Delimiter::Bracket => {
            args::split(group.stream(), diag)
                .into_iter()
                .map(|part| part.into_iter().collect())
                .collect()
        }
        _ => vec![tokens],
    }
}

/// A whole number above zero, or the path of a constant.
pub(crate) fn positive(tokens: TokenStream, example: &str, diag: &mut Diag) -> Option<TokenStream> {
    if constant(&tokens).is_some() {
        return Some(tokens);
    }
    if has_more(&tokens, diag) {
        return None;
    }
    let Ok(Lit::Int(literal)) = syn::parse2::<Lit>(tokens.clone()) else {
        diag.error(tokens, format!("expected a whole number above zero: write `{example}`"));
        return None;
    };
    match literal.base10_parse::<u32>() {
        Ok(0) => {
            diag.error(
                &literal,
                format!("0 lets nothing run: use 1 or more, as in `{example}`"),
            );
            None
        }
        Ok(_) if literal.suffix().is_empty() => Some(quote!(#literal)),
        Ok(_) => {
            diag.error(
                &literal,
                format!("leave out the suffix `{}`: write `{example}`", literal.suffix()),
            );
            None
        }
        Err(_) if literal.to_string().starts_with('-') => {
            diag.error(
                tokens,
                format!("a number below zero lets nothing run: use 1 or more, as in `{example}`"),
            );
            None
        }
        Err(_) => {
            diag.error(&literal, format!("{literal} is too large: the limit is {}", u32::MAX));
            None
        }
    }
}

/// A whole number of 64 bits, or the path of a constant.
pub(crate) fn whole(tokens: TokenStream, example: &str, diag: &mut Diag) -> Option<TokenStream> {
    if constant(&tokens).is_some() {
        return Some(tokens);
    }
    match syn::parse2::<Lit>(tokens.clone()) {
        Ok(Lit::Int(literal)) if literal.suffix().is_empty() && literal.base10_parse::<u64>().is_ok() => {
            Some(quote!(#literal))
        }
        _ => {
            diag.error(
                tokens,
                format!("expected a whole number from 0 to {}: write `{example}`", u64::MAX),
            );
            None
        }
    }
}

/// `true` or `false`.
pub(crate) fn boolean(tokens: TokenStream, example: &str, diag: &mut Diag) -> Option<TokenStream> {
    match syn::parse2::<syn::LitBool>(tokens.clone()) {
        Ok(literal) => Some(quote!(#literal)),
        Err(_) => {
            diag.error(tokens, format!("expected `true` or `false`: write `{example}`"));
            None
        }
    }
}

/// `4 5`: reports what follows a literal where nothing should.
fn has_more(tokens: &TokenStream, diag: &mut Diag) -> bool {
    let mut all = tokens.clone().into_iter();
    match (all.next(), all.next()) {
        // An operator makes an expression, which is told as a whole.
        (Some(TokenTree::Literal(_)), Some(extra)) if !matches!(extra, TokenTree::Punct(_)) => {
            diag.error(
                extra,
                "one value stands here: remove this, or put a `,` and a key before it",
            );
            true
        }
        _ => false,
    }
}

/// The path of a constant; by convention its last segment has no lower-case letter.
fn constant(tokens: &TokenStream) -> Option<Path> {
    let path: Path = syn::parse2(tokens.clone()).ok()?;
    let last = path.segments.last()?.ident.to_string();
    let upper = last.chars().any(char::is_uppercase) && !last.chars().any(char::is_lowercase);
    upper.then_some(path)
}
