//! The paths at which webhooks are called.
//!
//! When a webhook cannot be reached, all that a user sees is the API server's message with the webhook's name and URL. So
//! the URL says whose it is and what to look at.

use crate::kind::Kind;

/// What a webhook does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Purpose {
    Validate,
    Mutate,
    Convert,
}

impl Purpose {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Validate => "validate",
            Self::Mutate => "mutate",
            Self::Convert => "convert",
        }
    }
}

const HINT: &str = "/when-this-fails/see-whether-pods-run-of/";

/// `/validate/apps.demo.dev/v1`: what metrics call a webhook. Conversion is of all versions.
pub(super) fn short(purpose: Purpose, kind: &Kind) -> String {
    match purpose {
        Purpose::Convert => format!("/{}/{kind}", purpose.word()),
        _ => format!("/{}/{kind}/{}", purpose.word(), kind.version()),
    }
}

/// The short path, and what to do when it cannot be reached.
pub(super) fn whole(purpose: Purpose, kind: &Kind, operator: &str) -> String {
    format!("{}{HINT}{operator}", short(purpose, kind))
}

/// The short path in what was asked for.
pub(super) fn shortened(path: &str) -> &str {
    path.split_once(HINT).map_or(path, |(short, _)| short)
}

/// The name of a webhook in its configuration, which must have three parts at least.
pub(super) fn webhook_name(purpose: Purpose, kind: &Kind) -> String {
    let group = if kind.group().is_empty() { "core" } else { kind.group() };
    format!("{}.{}.{group}", purpose.word(), kind.plural())
}
