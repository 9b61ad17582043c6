//! Events as the API server takes them.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::event::{Event, Regarding};

/// The namespace that an event about `regarding` lives in.
pub(super) fn namespace_of(regarding: &Regarding) -> &str {
    regarding.key.namespace().unwrap_or("default")
}

/// The object to create. Texts are cut to the lengths that the server's validation allows.
pub(super) fn body(event: &Event, name: &str, controller: &str, instance: &str, now: Timestamp) -> Value {
    let reason = or_unknown(cut(&event.reason, 128));
    let action = if event.action.is_empty() {
        reason
    } else {
        cut(&event.action, 128)
    };
    let mut body = json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": { "name": name, "namespace": namespace_of(&event.regarding) },
        "eventTime": micro_time(now),
        "reportingController": controller,
        "reportingInstance": cut(instance, 128),
        "type": event.event_type.to_string(),
        "reason": reason,
        "action": action,
        "note": cut(&event.note, 1024),
        "regarding": reference(&event.regarding),
    });
    if let Some(related) = &event.related {
        body["related"] = reference(related);
    }
    body
}

/// The merge patch that tells of repeats.
pub(super) fn series(count: u32, last_seen: Timestamp) -> Value {
    json!({ "series": { "count": count, "lastObservedTime": micro_time(last_seen) } })
}

/// `<object>.<number>`, at most 253 bytes, as client-go names events.
pub(super) fn name(regarding: &Regarding, number: u64) -> String {
    format!(
        "{}.{number:016x}",
        cut(&regarding.key.name, 236).trim_end_matches(['.', '-'])
    )
}

fn reference(object: &Regarding) -> Value {
    let mut reference = json!({
        "apiVersion": object.kind.api_version(),
        "kind": object.kind.kind(),
        "name": &*object.key.name,
        "uid": &*object.uid,
    });
    if let Some(namespace) = object.key.namespace() {
        reference["namespace"] = json!(namespace);
    }
    reference
}

fn micro_time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

fn or_unknown(reason: &str) -> &str {
    if reason.is_empty() { "Unknown" } else { reason }
}

/// The longest beginning of at most `limit` bytes that ends between characters.
fn cut(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text;
    }
    let end = (0..=limit).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(cut("häuser", 2), "h");
        assert_eq!(cut("häuser", 3), "hä");
        assert_eq!(cut("x", 3), "x");
    }
}
