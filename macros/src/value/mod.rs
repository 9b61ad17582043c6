//! Values that the macros read and check: durations, times, selectors, names, verbs.
//!
//! Each check takes the text of a literal and answers in words that say what to write instead; the caller reports
//! them on the literal. (Stable Rust gives no span inside a literal, so the words quote the characters at fault.)

/// Tells what is wrong with a text.
pub(crate) type Check = fn(&str) -> Result<(), String>;

mod duration;
mod names;
mod path;
mod selector;
mod timestamp;

pub(crate) use duration::parse_duration;
pub(crate) use names::{
    check_api_group, check_api_version, check_dns_label, check_field_manager, check_finalizer, check_kind,
    check_object_name, check_reason, check_resource, check_url, check_url_verb, check_verb,
};
pub(crate) use path::check_strip_path;
pub(crate) use selector::{check_field_selector, check_label_selector};
pub(crate) use timestamp::check_timestamp;
