//! The name of a controller that gave itself none.

/// `my::AppController` becomes `app`, `PodIPReconciler` becomes `pod-ip`.
pub(super) fn of_type(type_name: &str) -> String {
    let path = type_name.split('<').next().unwrap_or(type_name);
    let last = path.rsplit("::").next().unwrap_or(path);
    let stem = ["Controller", "Reconciler"]
        .iter()
        .find_map(|suffix| last.strip_suffix(suffix).filter(|stem| !stem.is_empty()))
        .unwrap_or(last);
    kebab_case(stem)
}

/// A dash goes where a word starts: before an upper-case letter that follows a lower-case one, and before the last of
/// a run of upper-case letters that a lower-case one follows.
fn kebab_case(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut out = String::new();
    for (i, &c) in letters.iter().enumerate() {
        let after_lower = i > 0 && !letters[i - 1].is_uppercase() && letters[i - 1] != '_';
        let before_lower = letters.get(i + 1).is_some_and(|n| n.is_lowercase());
        let starts_word = c.is_uppercase() && i > 0 && letters[i - 1] != '_' && (after_lower || before_lower);
        if starts_word || (c == '_' && !out.is_empty()) {
            out.push('-');
        }
        if c != '_' {
            out.extend(c.to_lowercase());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::of_type;

    #[test]
    fn a_controller_is_named_after_its_struct() {
        assert_eq!(of_type("demo::AppController"), "app");
        assert_eq!(of_type("demo::PodIPReconciler"), "pod-ip");
        assert_eq!(of_type("demo::Controller"), "controller");
        assert_eq!(of_type("demo::HTTPRoute<demo::X>"), "http-route");
        assert_eq!(of_type("demo::My_App2Controller"), "my-app2");
    }
}
