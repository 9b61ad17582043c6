//! What `#[kube(…)]` says, checked before kube's derive sees it: it stops at the first mistake and makes nothing, so that
//! every mention of the kind would be an error of its own. What is wrong is reported here and mended for the twin.

use proc_macro2::{Delimiter, Group, Ident, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Attribute, Meta};

use crate::args::{Known, example, nearest, spaced, split};
use crate::diag::Diag;
use crate::value;

/// Keys that kube's derive takes.
const KNOWN: Known = &[
    ("group", "group = \"example.com\""),
    ("version", "version = \"v1\""),
    ("kind", "kind = \"App\""),
    ("namespaced", "namespaced"),
    ("status", "status = \"AppStatus\""),
    ("plural", "plural = \"apps\""),
    ("singular", "singular = \"app\""),
    ("shortname", "shortname = \"a\""),
    ("category", "category = \"all\""),
    (
        "printcolumn",
        "printcolumn(name = \"Image\", type_ = \"string\", json_path = \".spec.image\")",
    ),
    ("selectable", "selectable = \".spec.image\""),
    (
        "scale",
        "scale(spec_replicas_path = \".spec.replicas\", status_replicas_path = \".status.replicas\")",
    ),
    ("validation", "validation = \"self.metadata.name != 'default'\""),
    ("doc", "doc = \"An app\""),
    ("root", "root = \"App\""),
    ("derive", "derive = \"PartialEq\""),
    ("attr", "attr = \"allow(dead_code)\""),
    ("schema", "schema = \"derived\""),
    ("annotation", "annotation(\"a\", \"b\")"),
    ("label", "label(\"a\", \"b\")"),
    ("no_spec", "no_spec"),
    ("cel", "cel"),
    ("storage", "storage = true"),
    ("served", "served = true"),
    ("deprecated", "deprecated"),
    ("crates", "crates(kube_core = \"::kube::core\")"),
];

/// Keys whose value is a string.
const TEXTS: [&str; 9] = [
    "group",
    "version",
    "kind",
    "status",
    "plural",
    "singular",
    "shortname",
    "category",
    "root",
];

/// The attributes of the item, mended.
pub(super) fn mend(kube: &[&Attribute], ident: &Ident, diag: &mut Diag) -> TokenStream {
    let kind = suggested_kind(ident);
    if !kube.iter().any(|attr| matches!(attr.meta, Meta::List(_))) {
        let place = kube
            .first()
            .map_or_else(|| ident.to_token_stream(), |attr| attr.meta.to_token_stream());
        diag.error(
            place,
            format!(
                "the resource is not described: add `#[kube(group = \"example.com\", version = \"v1\", kind = \"{kind}\", \
                 namespaced)]`"
            ),
        );
        return quote!(#[kube(group = "example.com", version = "v1", kind = #kind, namespaced)]);
    }
    let mut written = Vec::new();
    let mut mended = TokenStream::new();
    for attr in kube {
        let Meta::List(list) = &attr.meta else {
            continue;
        };
        let parts = split(list.tokens.clone(), diag)
            .into_iter()
            .filter_map(|part| mend_part(part, &mut written, diag))
            .collect::<Vec<_>>();
        mended.extend(quote!(#[kube(#(#parts),*)]));
    }
    for key in ["group", "version", "kind"] {
        if written.iter().any(|written| written == key) {
            continue;
        }
        let value = match key {
            "kind" => format!("kind = \"{kind}\""),
            key => example(KNOWN, key).to_owned(),
        };
        let place = kube.first().map(|attr| attr.meta.to_token_stream());
        diag.error(place, format!("`{key}` is missing: add `{value}`"));
        if let Ok(value) = value.parse::<TokenStream>() {
            mended.extend(quote!(#[kube(#value)]));
        }
    }
    mended
}

/// One argument, with the key that was meant and quotes where they are missing.
fn mend_part(mut part: Vec<TokenTree>, written: &mut Vec<String>, diag: &mut Diag) -> Option<TokenStream> {
    let Some(TokenTree::Ident(key)) = part.first().cloned() else {
        diag.error(&part[0], format!("expected a key, such as `{}`", example(KNOWN, "")));
        return None;
    };
    let mut name = key.to_string();
    if !KNOWN.iter().any(|(known, _)| *known == name) {
        let Some(meant) = nearest(&name, KNOWN.iter().map(|(key, _)| *key)) else {
            let keys: Vec<String> = KNOWN.iter().map(|(key, _)| format!("`{key}`")).collect();
            diag.error(
                &key,
                format!("`#[kube(…)]` has no key `{name}`: keys are {}", keys.join(", ")),
            );
            return None;
        };
        diag.error(
            &key,
            format!("`#[kube(…)]` has no key `{name}`: did you mean `{meant}`?"),
        );
        meant.clone_into(&mut name);
        part[0] = TokenTree::Ident(Ident::new(meant, key.span()));
    }
    if TEXTS.contains(&&*name) {
        mend_text(&name, &mut part, diag)?;
    }
    written.push(name);
    Some(part.into_iter().collect())
}

/// `status = AppStatus`, where `status = "AppStatus"` is meant.
fn mend_text(name: &str, part: &mut Vec<TokenTree>, diag: &mut Diag) -> Option<()> {
    let value: TokenStream = part.iter().skip(2).cloned().collect();
    let shown = example(KNOWN, name);
    let is_value = matches!(part.get(1), Some(TokenTree::Punct(p)) if p.as_char() == '=') && !value.is_empty();
    if !is_value {
        diag.error(&part[0], format!("`{name}` needs a value: write `{shown}`"));
        return None;
    }
    // A value that a macro hands on comes in a group without delimiters.
    let value = match (part.get(2), part.len()) {
        (Some(TokenTree::Group(group)), 3) if group.delimiter() == Delimiter::None => Group::stream(group),
        _ => value,
    };
    if let Ok(text) = syn::parse2::<syn::LitStr>(value.clone()) {
        let checked = match name {
            "group" => value::check_api_group(&text.value()),
            "version" => value::check_api_version(&text.value()),
            "kind" => value::check_kind(&text.value()),
            _ => Ok(()),
        };
        if let Err(why) = checked {
            diag.error(&text, why);
        }
        return Some(());
    }
    let Ok(path) = syn::parse2::<syn::Path>(value.clone()) else {
        diag.error(value, format!("expected a string in quotes: write `{shown}`"));
        return None;
    };
    let text = spaced(&path.to_token_stream()).replace(' ', "");
    diag.error(
        &value,
        format!("expected a string in quotes: write `{name} = \"{text}\"`"),
    );
    let mut literal = Literal::string(&text);
    literal.set_span(crate::args::first_span(&value, Span::call_site()));
    part.truncate(2);
    part.push(TokenTree::Literal(literal));
    Some(())
}

/// `AppSpec` describes an `App`.
fn suggested_kind(ident: &Ident) -> String {
    let name = ident.to_string();
    match name.strip_suffix("Spec") {
        Some(kind) if !kind.is_empty() => kind.to_owned(),
        _ => "App".to_owned(),
    }
}
