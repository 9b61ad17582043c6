//! What stands in the parentheses of the attribute, read and checked one key at a time.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::values;
use crate::args::{self, Arg, Known, Shape, example, nearest};
use crate::controller::{listed, value_of};
use crate::diag::Diag;
use crate::path::CratePath;

/// The keys, each with an example.
pub(super) const KEYS: Known = &[
    ("for", "for = App"),
    ("validate", "validate"),
    ("mutate", "mutate"),
    ("convert", "convert = v1alpha1::App"),
    ("loses", "loses(v1alpha1::App, \"spec.mode\")"),
    ("operations", "operations = [create, update]"),
    ("failure_policy", "failure_policy = fail"),
    ("side_effects", "side_effects = none"),
    (
        "match_conditions",
        "match_conditions = [(\"not-mine\", \"request.name != 'a'\")]",
    ),
    ("object_selector", "object_selector = \"app=web\""),
    ("timeout", "timeout = \"10s\""),
    ("crate", "crate = my_crate::kubewright"),
];

/// What other frameworks call a key, and what people try first.
const OTHER_WORDS: [(&str, &str); 14] = [
    ("kind", "for"),
    ("default", "mutate"),
    ("defaulting", "mutate"),
    ("defaults", "mutate"),
    ("mutating", "mutate"),
    ("validating", "validate"),
    ("validation", "validate"),
    ("versions", "convert"),
    ("conversion", "convert"),
    ("verbs", "operations"),
    ("on_failure", "failure_policy"),
    ("selector", "object_selector"),
    ("labels", "object_selector"),
    ("lossy", "loses"),
];

/// The arguments, as far as they could be read.
#[derive(Default)]
pub(super) struct Args {
    /// `crate = path`.
    pub(super) krate: CratePath,
    /// `for = K`.
    pub(super) kind: Option<(Ident, TokenStream)>,
    /// Everything else, in the order written: the key, what stands between `::<` and `>`, and the arguments.
    pub(super) calls: Vec<Call>,
    /// All keys as written, unknown ones included, for the editor.
    pub(super) written: Vec<Arg>,
}

/// One builder call.
pub(super) struct Call {
    /// The key, with the user's span.
    pub(super) key: Ident,
    /// A kind, where the method takes one.
    pub(super) kind: Option<TokenStream>,
    /// The method's arguments.
    pub(super) values: TokenStream,
}

/// Reads the arguments; whatever is wrong is reported and left out.
pub(super) fn parse(tokens: TokenStream, diag: &mut Diag) -> Args {
    let mut args = Args {
        written: args::parse(tokens, KEYS, diag),
        ..Args::default()
    };
    // `crate` says where what the others name is found.
    for arg in args.written.clone().iter().filter(|arg| arg.name() == "crate") {
        parse_crate(&mut args, arg, diag);
    }
    for (index, arg) in args.written.clone().iter().enumerate() {
        if let Some(cfg) = &arg.cfg {
            diag.error(cfg, "a key of webhooks has no condition: put `#[cfg(…)]` on the struct");
        }
        let name = arg.name();
        if !KEYS.iter().any(|(key, _)| *key == name) {
            unknown(arg, diag);
            continue;
        }
        let repeats = name == "loses";
        if !repeats && args.written[..index].iter().any(|before| before.name() == name) {
            diag.error(&arg.key, format!("`{name}` is given twice: keep one"));
            continue;
        }
        parse_known(&mut args, arg, diag);
    }
    check(&args, diag);
    args
}

fn parse_known(args: &mut Args, arg: &Arg, diag: &mut Diag) {
    let name = arg.name();
    let example = example(KEYS, &name);
    let krate = args.krate.clone();
    match &*name {
        "crate" => {}
        "for" => {
            let kind = value_of(arg, example, diag).and_then(|tokens| values::kind(tokens, example, diag));
            args.kind = kind.map(|kind| (arg.key.clone(), kind));
        }
        "validate" | "mutate" => match &arg.shape {
            Shape::Flag => args.push(arg, None, TokenStream::new()),
            Shape::Unreadable => {}
            Shape::Value(_) | Shape::List(_) => {
                let message = format!("`{name}` takes no value: write `{name}` alone, or leave it out");
                diag.error(&arg.key, message);
            }
        },
        "convert" => {
            let versions = value_of(arg, example, diag).map(|tokens| values::kinds(tokens, example, diag));
            for version in versions.unwrap_or_default() {
                args.push(arg, Some(version), TokenStream::new());
            }
        }
        "loses" => {
            if let Some((version, field)) = values::lost(arg, example, diag) {
                args.push(arg, Some(version), field);
            }
        }
        _ => {
            let value = value_of(arg, example, diag);
            for call in value
                .into_iter()
                .flat_map(|value| values::setting(arg, value, &krate, example, diag))
            {
                args.calls.push(call);
            }
        }
    }
}

impl Args {
    fn push(&mut self, arg: &Arg, kind: Option<TokenStream>, values: TokenStream) {
        self.calls.push(Call {
            key: arg.key.clone(),
            kind,
            values,
        });
    }

    fn wrote(&self, key: &str) -> Option<&Arg> {
        self.written.iter().find(|arg| arg.name() == key)
    }
}

fn parse_crate(args: &mut Args, arg: &Arg, diag: &mut Diag) {
    let example = example(KEYS, "crate");
    if let Some(tokens) = value_of(arg, example, diag) {
        match syn::parse2(tokens.clone()) {
            Ok(path) => args.krate = CratePath::given(path),
            Err(_) => diag.error(tokens, format!("expected a path, as in `{example}`")),
        }
    }
}

fn unknown(arg: &Arg, diag: &mut Diag) {
    diag.lose();
    let name = arg.name();
    let other_word = OTHER_WORDS.iter().find(|(word, _)| *word == name).map(|(_, key)| *key);
    let message = match other_word.or_else(|| nearest(&name, KEYS.iter().map(|(key, _)| *key))) {
        Some(meant) => format!(
            "there is no key `{name}`: did you mean `{meant}`, as in `{}`?",
            example(KEYS, meant)
        ),
        None => format!("there is no key `{name}`: keys are {}", listed(KEYS)),
    };
    diag.error(&arg.key, message);
}

/// Rules about several keys at once.
fn check(args: &Args, diag: &mut Diag) {
    if diag.has_lost() {
        return;
    }
    if args.wrote("for").is_none() {
        diag.error_at(
            proc_macro2::Span::call_site(),
            "`for` is missing: name the kind whose objects are judged, as in `for = App`",
        );
    }
    let admits = args.wrote("validate").is_some() || args.wrote("mutate").is_some();
    if !admits && args.wrote("convert").is_none() {
        diag.error_at(
            proc_macro2::Span::call_site(),
            "nothing is done: add `validate`, `mutate`, or `convert = v1alpha1::App`",
        );
    }
    if let Some(operations) = args.wrote("operations") {
        let only_deletes =
            matches!(&operations.shape, Shape::Value(value) if quote!([delete]).to_string() == value.to_string());
        if !admits && args.wrote("convert").is_some() {
            diag.error(
                &operations.key,
                "operations are those that `validate` and `mutate` are asked about: add one of them, or remove this",
            );
        } else if only_deletes && args.wrote("validate").is_none() && admits {
            diag.error(
                &operations.key,
                "a deletion has nothing to change: write `validate`, or `operations = [create, update]`",
            );
        }
    }
    let Some((_, hub)) = &args.kind else { return };
    for call in args.calls.iter().filter(|call| call.key == "convert") {
        if let Some(version) = call
            .kind
            .as_ref()
            .filter(|version| version.to_string() == hub.to_string())
        {
            let shown = hub.to_string().replace(' ', "");
            diag.error(
                version,
                format!("`{shown}` is the hub already, which `for` names: name the other versions"),
            );
        }
    }
}
