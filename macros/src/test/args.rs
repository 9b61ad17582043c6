//! The options of a test, read and checked one at a time.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::Lit;

use crate::args::{self, Arg, Known, nearest};
use crate::controller::{listed, literals, value_of};
use crate::diag::Diag;
use crate::path::CratePath;
use crate::value;

/// The options, each with an example.
const KEYS: Known = &[
    ("seed", "seed = 7"),
    ("repeat", "repeat = 3"),
    ("latency", "latency = \"1ms..20ms\""),
    ("now", "now = \"2026-03-01T12:00:00Z\""),
    ("timeout", "timeout = \"2h\""),
    ("crate", "crate = my_crate::kubewright_testkit"),
];

/// What people try first, and what they mean.
const OTHER_WORDS: [(&str, &str); 8] = [
    ("start_paused", "time is always paused here: remove `start_paused`"),
    (
        "flavor",
        "a test runs in one thread, so that its order is its seed's: remove `flavor`",
    ),
    (
        "worker_threads",
        "a test runs in one thread, so that its order is its seed's: remove `worker_threads`",
    ),
    (
        "seeds",
        "many seeds are tried from outside: write `seed = 7` for one, and run with `KUBEWRIGHT_SEEDS=100` for many",
    ),
    ("times", "write `repeat = 3` for runs of the same seed"),
    ("runs", "write `repeat = 3` for runs of the same seed"),
    (
        "start",
        "write `now = \"2026-03-01T12:00:00Z\"` for the time at which the test starts",
    ),
    (
        "simulate",
        "the cluster is configured in the body: leave the parameter out, and write `TestCluster::builder()`",
    ),
];

/// The options, as far as they could be read.
pub(crate) struct Args {
    /// `crate = path`.
    pub(crate) krate: CratePath,
    /// The others, in the order written: the method's name and its arguments.
    pub(crate) calls: Vec<(Ident, TokenStream)>,
    /// All options as written, unknown ones included, for the editor.
    pub(crate) written: Vec<Arg>,
}

/// Reads the options; whatever is wrong is reported and left out.
pub(crate) fn parse(tokens: TokenStream, diag: &mut Diag) -> Args {
    let mut args = Args {
        krate: CratePath::Testkit,
        calls: Vec::new(),
        written: args::parse(tokens, KEYS, diag),
    };
    for (index, arg) in args.written.clone().iter().enumerate() {
        let name = arg.name();
        if let Some(cfg) = &arg.cfg {
            diag.error(cfg, "an option of a test has no condition: put `#[cfg(…)]` on the test");
        }
        let Some((_, example)) = KEYS.iter().find(|(key, _)| *key == name) else {
            diag.error(&arg.key, unknown(&name));
            continue;
        };
        if args.written[..index].iter().any(|before| before.name() == name) {
            diag.error(&arg.key, format!("`{name}` is given twice: keep one"));
            continue;
        }
        let Some(value) = value_of(arg, example, diag) else {
            continue;
        };
        if name == "crate" {
            match syn::parse2(value.clone()) {
                Ok(path) => args.krate = CratePath::given(path),
                Err(_) => diag.error(value, format!("expected a path, as in `{example}`")),
            }
        } else if let Some(value) = parse_value(&name, value, example, diag) {
            args.calls.push((arg.key.clone(), value));
        }
    }
    args
}

fn parse_value(name: &str, value: TokenStream, example: &str, diag: &mut Diag) -> Option<TokenStream> {
    match name {
        "seed" => literals::whole(value, example, diag),
        "repeat" => literals::positive(value, example, diag),
        "latency" => latency(value, example, diag),
        "now" => literals::text(value, example, value::check_timestamp, diag),
        _ => literals::duration(value, example, diag).map(ToTokens::into_token_stream),
    }
}

/// `"none"`, `"5ms"`, `"1ms..20ms"`: the least and the most.
fn latency(tokens: TokenStream, example: &str, diag: &mut Diag) -> Option<TokenStream> {
    let Ok(Lit::Str(literal)) = syn::parse2::<Lit>(tokens.clone()) else {
        diag.error(
            tokens,
            format!("expected a string in quotes: write `{example}`, or `latency = \"none\"`"),
        );
        return None;
    };
    let text = literal.value();
    if text == "none" {
        return Some(quote!(::core::time::Duration::ZERO, ::core::time::Duration::ZERO));
    }
    let (least, most) = text.split_once("..").unwrap_or((&text, &text));
    match (value::parse_duration(least), value::parse_duration(most)) {
        (Ok(least), Ok(most)) if least <= most => {
            let [least, most] = [least, most].map(|d| literals::Duration::Literal(d, literal.clone()));
            Some(quote!(#least, #most))
        }
        (Ok(_), Ok(_)) => {
            diag.error(
                literal,
                format!("the range \"{text}\" is upside down: write \"{most}..{least}\""),
            );
            None
        }
        (Err(why), _) | (_, Err(why)) => {
            diag.error(
                literal,
                format!("{why}; a range is written as in `{example}`, no latency as `latency = \"none\"`"),
            );
            None
        }
    }
}

fn unknown(name: &str) -> String {
    if let Some((_, instead)) = OTHER_WORDS.iter().find(|(word, _)| *word == name) {
        return (*instead).to_owned();
    }
    match nearest(name, KEYS.iter().map(|(key, _)| *key)) {
        Some(meant) => format!("there is no option `{name}`: did you mean `{meant}`?"),
        None => format!("there is no option `{name}`: options are {}", listed(KEYS)),
    }
}
