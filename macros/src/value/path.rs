/// Where a part of an object lies that is not kept: `status`, `spec.containers[*].env`, `metadata.annotations['a/b']`.
pub(crate) fn check_strip_path(text: &str) -> Result<(), String> {
    let wrong = |why: &str| {
        Err(format!(
            "\"{text}\" is no path to strip: {why}; write it as \"status\", \"spec.containers[*].env\" or \
             \"metadata.annotations['example.com/large']\""
        ))
    };
    let mut steps = Vec::new();
    let mut rest = text;
    loop {
        let (step, after) = if let Some(after) = rest.strip_prefix("[*]") {
            ("[*]", after)
        } else if let Some(quoted) = rest.strip_prefix("['") {
            match quoted.split_once("']") {
                Some((name, after)) if !name.is_empty() => (name, after),
                _ => return wrong("a quoted member is empty or lacks its `']`"),
            }
        } else {
            let (name, after) = rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len()));
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            if name.is_empty() || !name.chars().all(is_plain) {
                return wrong("a member's name is letters, digits, `-` and `_`, or stands in `['…']`");
            }
            (name, after)
        };
        steps.push(step);
        rest = match after.strip_prefix('.') {
            Some(after) => after,
            None if after.is_empty() => break,
            None if after.starts_with('[') => after,
            None => return wrong("a `.` is missing after `]`"),
        };
    }
    match &steps[..] {
        ["[*]", ..] => wrong("an object is no list"),
        ["apiVersion" | "kind" | "metadata"] => wrong("the cache cannot do without it"),
        ["metadata", second, ..] if !matches!(*second, "annotations" | "managedFields") => {
            wrong("of the metadata only annotations can be left out")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::check_strip_path;

    #[test]
    fn paths_are_told_from_nonsense() {
        for path in [
            "status",
            "spec.a[*].b['x.y/z'].c",
            "metadata.annotations['a/b']",
            "data['x y']",
        ] {
            assert_eq!(check_strip_path(path), Ok(()));
        }
        for path in [
            "",
            "a.",
            "a..b",
            "[*].a",
            "a[0]",
            "a['b",
            "a['b']c",
            "metadata",
            "kind",
            "metadata.labels",
            "a b",
        ] {
            assert!(check_strip_path(path).is_err(), "{path}");
        }
    }
}
