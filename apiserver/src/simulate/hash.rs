//! Hashes of pod templates, as they show in names and labels.

use serde_json::Value;

/// The characters that Kubernetes uses where a name is made up.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// A short name for `template`: equal for equal templates, whatever their namespace or owner. `collisions` gives
/// another name to a template whose first one is taken.
#[must_use]
pub fn of_template(template: &Value, collisions: Option<i64>) -> String {
    // Maps are sorted, so equal templates have equal texts.
    let text = template.to_string();
    let mut hash = fnv1a(0x811C_9DC5, text.as_bytes());
    if let Some(collisions) = collisions {
        hash = fnv1a(hash, &collisions.to_le_bytes());
    }
    let digits = hash.to_string();
    digits
        .bytes()
        .map(|digit| char::from(ALPHABET[usize::from(digit) % ALPHABET.len()]))
        .collect()
}

fn fnv1a(start: u32, bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(start, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_templates_have_equal_hashes_and_a_collision_changes_them() {
        let a = json!({"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {}});
        let b = json!({"spec": {}, "metadata": {"labels": {"b": "2", "a": "1"}}});
        assert_eq!(of_template(&a, None), of_template(&b, None));
        assert_ne!(of_template(&a, None), of_template(&a, Some(1)));
        assert!(of_template(&a, None).bytes().all(|c| ALPHABET.contains(&c)));
    }
}
