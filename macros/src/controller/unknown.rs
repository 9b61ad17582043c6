//! Keys that do not exist: what was meant, in words and for what follows.

use proc_macro2::{Ident, TokenStream, TokenTree};

use super::keys;
use crate::args::{Arg, Known, Shape, example, fits, nearest, spaced};
use crate::diag::Diag;

/// Reports an unknown key at the top level; answers it under the name that was probably meant.
pub(super) fn key(arg: &Arg, written: &[Arg], diag: &mut Diag) -> Option<Arg> {
    let name = arg.name();
    if let Some(meant) = keys::meant(&name) {
        diag.error(
            &arg.key,
            format!(
                "there is no key `{name}`: did you mean `{meant}`, as in `{}`?",
                rewritten(arg, meant)
            ),
        );
        return Some(renamed(arg, meant));
    }
    if is_kind(&name) && matches!(arg.shape, Shape::Flag) {
        return lone_kind(arg, written, diag);
    }
    let of_a_watch = keys::WATCHES.iter().chain(keys::OWNS).find(|(key, _)| *key == name);
    let message = match of_a_watch {
        Some(("map", example)) => {
            let kind = first_kind(written, "watches").unwrap_or_else(|| "Secret".to_owned());
            format!(
                "`map` belongs to a watch: write `watches({kind}, {})`",
                own_words(arg, example)
            )
        }
        Some((key, example)) => {
            let kind = first_kind(written, "owns");
            let instead = kind.as_ref().map(|kind| format!(" in place of `owns = {kind}`"));
            format!(
                "`{key}` belongs to one watch: write `owns({}, {})`{}",
                kind.as_deref().unwrap_or("Deployment"),
                own_words(arg, example),
                instead.unwrap_or_default()
            )
        }
        None => format!("there is no key `{name}`: keys are {}", listed(keys::CONTROLLER)),
    };
    diag.error(&arg.key, message);
    diag.lose();
    None
}

/// Reports a key that `outer(…)` does not have; answers it under the name that was probably meant.
pub(super) fn inner_key(arg: &Arg, outer: &str, known: Known, diag: &mut Diag) -> Option<Arg> {
    let name = arg.name();
    diag.lose();
    if let Some(meant) = nearest(&name, known.iter().map(|(key, _)| *key)) {
        diag.error(
            &arg.key,
            format!("`{outer}(…)` has no key `{name}`: did you mean `{meant}`?"),
        );
        return Some(renamed(arg, meant));
    }
    if outer == "watches" && matches!(arg.shape, Shape::Flag) && !is_kind(&name) {
        diag.error(
            &arg.key,
            format!("a key is missing before `{name}`: write `map = {name}`"),
        );
        let value = TokenStream::from(TokenTree::Ident(arg.key.clone()));
        return Some(Arg {
            shape: Shape::Value(value),
            ..renamed(arg, "map")
        });
    }
    let message = if is_kind(&name) && matches!(arg.shape, Shape::Flag) && outer == "owns" {
        format!("`owns(…)` holds one kind and its options: for `{name}`, write `owns = {name}` beside it")
    } else {
        format!("`{outer}(…)` has no key `{name}`: keys are {}", listed(known))
    };
    diag.error(&arg.key, message);
    None
}

/// `#[controller(App)]`, `#[controller(for = App, owns = Secret, Pod)]`
fn lone_kind(arg: &Arg, written: &[Arg], diag: &mut Diag) -> Option<Arg> {
    let name = arg.name();
    let key = if written.iter().any(|arg| arg.name() == "for") {
        "owns"
    } else {
        "for"
    };
    diag.error(
        &arg.key,
        format!("a key is missing before `{name}`: write `{key} = {name}`"),
    );
    let value = TokenStream::from(TokenTree::Ident(arg.key.clone()));
    Some(Arg {
        shape: Shape::Value(value),
        ..renamed(arg, key)
    })
}

/// The argument under another key. A flag gets no value, so that reading it may fail.
fn renamed(arg: &Arg, key: &str) -> Arg {
    Arg {
        key: Ident::new(key, arg.key.span()),
        guessed: true,
        ..arg.clone()
    }
}

/// The argument under another key, in the user's words where they have the shape that the key takes.
fn rewritten(arg: &Arg, key: &str) -> String {
    let example = example(keys::CONTROLLER, key);
    let takes_list = example.starts_with(&format!("{key}("));
    let takes_kinds = matches!(key, "owns" | "tracks" | "live" | "writes" | "updates");
    match &arg.shape {
        Shape::Value(value) if !takes_list && (takes_kinds || fits(example, value)) => {
            format!("{key} = {}", spaced(value))
        }
        Shape::List(list) if takes_list && key != "watches" => format!("{key}({})", spaced(&list.stream())),
        _ => example.to_owned(),
    }
}

/// `key = value` as written, or the example where it has no value but needs one.
pub(super) fn own_words(arg: &Arg, example: &str) -> String {
    match &arg.shape {
        Shape::Value(value) if example.contains('=') => format!("{} = {}", arg.key, spaced(value)),
        _ => example.to_owned(),
    }
}

/// The kind that the first `key = K` names, where it is one.
fn first_kind(written: &[Arg], key: &str) -> Option<String> {
    written
        .iter()
        .filter(|arg| arg.name() == key)
        .find_map(|arg| match &arg.shape {
            Shape::Value(value) => match value.clone().into_iter().next() {
                Some(TokenTree::Ident(_)) => Some(spaced(value)),
                _ => None,
            },
            _ => None,
        })
}

/// By convention, types begin with an upper-case letter.
fn is_kind(name: &str) -> bool {
    name.chars().next().is_some_and(char::is_uppercase)
}

/// The names of keys, for a message.
pub(crate) fn listed(keys: Known) -> String {
    keys.iter()
        .map(|(key, _)| format!("`{key}`"))
        .collect::<Vec<_>>()
        .join(", ")
}
