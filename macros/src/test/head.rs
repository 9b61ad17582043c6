//! The part of a test that stands before its body, read by hand: the body may be broken, and is the user's.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::quote;

use crate::args;
use crate::diag::Diag;

const WHERE: &str =
    "`#[kubewright_testkit::test]` goes on an async function: write `async fn it_works(cluster: TestCluster) { … }`";

/// What the expansion needs to know of a test.
pub(crate) struct Head {
    /// The attributes, which belong to the test that is seen from outside.
    pub(crate) attributes: TokenStream,
    /// Those of them that say when the test is there: `#[cfg(…)]`.
    pub(crate) conditions: Vec<TokenStream>,
    /// The function without them.
    pub(crate) function: TokenStream,
    /// `pub` and the like.
    pub(crate) visibility: TokenStream,
    /// The function's name.
    pub(crate) name: Ident,
    /// The type of its parameter, if it has one.
    pub(crate) parameter: Option<TokenStream>,
    /// What it returns: a type, or `_` where that cannot be named.
    pub(crate) returns: TokenStream,
    /// Whether it bears `#[should_panic]`.
    pub(crate) should_panic: bool,
}

/// Reads the head of a function; `None` if it is none that could be a test.
pub(crate) fn parse(item: &TokenStream, diag: &mut Diag) -> Option<Head> {
    let tokens: Vec<TokenTree> = item.clone().into_iter().collect();
    let (attributes, rest) = split_attributes(&tokens, diag);
    let fn_at = rest
        .iter()
        .take_while(|token| !is_braces(token))
        .position(|token| is_word(token, "fn"));
    let Some(fn_at) = fn_at else {
        match rest.first() {
            Some(first) => diag.error(first, WHERE),
            None => diag.error_at(Span::call_site(), WHERE),
        }
        return None;
    };
    // A missing name, and a missing list of parameters, are rustc's to report.
    let Some(TokenTree::Ident(name)) = rest.get(fn_at + 1) else {
        return None;
    };
    let sound = check_qualifiers(&rest[..fn_at], &rest[fn_at], diag);
    let parameters = match rest.get(fn_at + 2) {
        Some(TokenTree::Punct(p)) if p.as_char() == '<' => {
            diag.error(p, "a test has no parameters in `<…>`: nobody would say what they are");
            return None;
        }
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => group,
        _ => return None,
    };
    let parameter = check_parameters(parameters, diag)?;
    sound.then(|| Head {
        attributes: without_tests(attributes),
        conditions: conditions(attributes),
        should_panic: attributes.iter().any(is_should_panic),
        visibility: visibility(&rest[..fn_at]),
        name: name.clone(),
        parameter,
        returns: returned(&rest[fn_at + 3..]),
        function: rest.iter().cloned().collect(),
    })
}

/// The attributes, and what follows them. Attributes that would make a second test are reported.
fn split_attributes<'a>(tokens: &'a [TokenTree], diag: &mut Diag) -> (&'a [TokenTree], &'a [TokenTree]) {
    let mut end = 0;
    while let [TokenTree::Punct(hash), TokenTree::Group(attribute), ..] = &tokens[end..]
        && hash.as_char() == '#'
    {
        check_attribute(attribute, diag);
        end += 2;
    }
    tokens.split_at(end)
}

/// `#[test]`, `#[tokio::test]`, `#[kubewright_testkit::test]` once more.
fn check_attribute(attribute: &Group, diag: &mut Diag) {
    if let Some(path) = path_of_test(attribute) {
        let path = path.to_string().replace(' ', "");
        diag.error(
            attribute.stream(),
            format!("remove `#[{path}]`: `#[kubewright_testkit::test]` alone makes the function a test"),
        );
    }
}

/// The path of an attribute that makes a test.
fn path_of_test(attribute: &Group) -> Option<TokenStream> {
    let is_path = |token: &TokenTree| !matches!(token, TokenTree::Group(_));
    let path: TokenStream = attribute.stream().into_iter().take_while(is_path).collect();
    let last = path.clone().into_iter().last();
    last.is_some_and(|last| is_word(&last, "test")).then_some(path)
}

/// The attributes but for those that make a test, which have been reported: rustc would report them once more.
fn without_tests(attributes: &[TokenTree]) -> TokenStream {
    let stays = |attribute: &&[TokenTree]| match attribute {
        [_, TokenTree::Group(group)] => path_of_test(group).is_none(),
        _ => true,
    };
    let kept = attributes.chunks(2).filter(stays);
    kept.flatten().cloned().collect()
}

/// Whether the item stands in an `impl`, as far as that can be seen: its function has a receiver.
pub(crate) fn is_method(item: &TokenStream) -> bool {
    let receives = |token: TokenTree| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => {
            group.stream().into_iter().any(|token| is_word(&token, "self"))
        }
        _ => false,
    };
    item.clone().into_iter().any(receives)
}

/// `fn f()`, `unsafe fn f()`, `const fn f()`.
fn check_qualifiers(before: &[TokenTree], keyword: &TokenTree, diag: &mut Diag) -> bool {
    let mut is_async = false;
    for token in before {
        if is_word(token, "async") {
            is_async = true;
        } else if let Some(word) = ["const", "unsafe", "extern"]
            .into_iter()
            .find(|word| is_word(token, word))
        {
            diag.error(token, format!("a test is not `{word}`: write `async fn`"));
            return false;
        }
    }
    if !is_async {
        diag.error(keyword, "a test of a cluster awaits: write `async fn`");
    }
    is_async
}

/// `(self)`, `(a: TestCluster, b: u8)`. Answers the type of the one that is there; `None` after an error.
fn check_parameters(list: &Group, diag: &mut Diag) -> Option<Option<TokenStream>> {
    let parameters = args::split(list.stream(), diag);
    let Some(first) = parameters.first() else {
        return Some(None);
    };
    if let Some(receiver) = first.iter().find(|token| is_word(token, "self")) {
        diag.error(
            receiver,
            "a test is a free function: take `cluster: TestCluster`, or nothing, and make the rest in the body",
        );
        return None;
    }
    if let Some(second) = parameters.get(1) {
        let second: TokenStream = second.iter().cloned().collect();
        diag.error(
            second,
            "a test takes `cluster: TestCluster` or nothing: make this in the body",
        );
        return None;
    }
    if first
        .iter()
        .any(|token| matches!(token, TokenTree::Punct(p) if p.as_char() == '&'))
    {
        let first: TokenStream = first.iter().cloned().collect();
        diag.error(
            first,
            "the cluster is the test's own: write `cluster: TestCluster`, without `&`",
        );
        return None;
    }
    let colon = first
        .iter()
        .position(|token| matches!(token, TokenTree::Punct(p) if p.as_char() == ':'));
    // A missing type is rustc's to report.
    let kind = first[colon.map_or(first.len(), |at| at + 1)..].iter().cloned();
    Some(Some(named(kind.collect())))
}

/// `-> kubewright::Result<()> { … }`, from behind the parameters on.
fn returned(rest: &[TokenTree]) -> TokenStream {
    match rest {
        [TokenTree::Punct(dash), TokenTree::Punct(tip), after @ ..]
            if dash.as_char() == '-' && tip.as_char() == '>' =>
        {
            let kind = after
                .iter()
                .take_while(|token| !is_braces(token) && !is_word(token, "where"));
            named(kind.cloned().collect())
        }
        _ => quote!(()),
    }
}

/// A type that can stand between `<` and `>`, or `_` for one that cannot: `impl Trait`, `!`, none.
fn named(kind: TokenStream) -> TokenStream {
    let unnamed =
        |token: &TokenTree| is_word(token, "impl") || matches!(token, TokenTree::Punct(p) if p.as_char() == '!');
    let mut tokens = kind.clone().into_iter().peekable();
    if tokens.peek().is_none() || tokens.any(|token| unnamed(&token)) {
        quote!(_)
    } else {
        kind
    }
}

/// `pub`, `pub(crate)`, or nothing.
fn visibility(before: &[TokenTree]) -> TokenStream {
    match before {
        [public, TokenTree::Group(within), ..] if is_word(public, "pub") => quote!(#public #within),
        [public, ..] if is_word(public, "pub") => quote!(#public),
        _ => TokenStream::new(),
    }
}

/// The `#[cfg(…)]` among attributes.
fn conditions(attributes: &[TokenTree]) -> Vec<TokenStream> {
    let is_cfg = |attribute: &&[TokenTree]| attribute.last().is_some_and(|group| begins_with(group, "cfg"));
    let of = |attribute: &[TokenTree]| attribute.iter().cloned().collect();
    attributes.chunks(2).filter(is_cfg).map(of).collect()
}

/// `[should_panic]`, `[should_panic(expected = "…")]`
fn is_should_panic(attribute: &TokenTree) -> bool {
    begins_with(attribute, "should_panic")
}

/// Whether the `[…]` of an attribute begins with this word.
fn begins_with(attribute: &TokenTree, word: &str) -> bool {
    match attribute {
        TokenTree::Group(group) => group.stream().into_iter().next().is_some_and(|t| is_word(&t, word)),
        _ => false,
    }
}

fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == word)
}

fn is_braces(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}
