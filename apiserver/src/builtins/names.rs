//! The rules for names, label keys and label values, in the words of the real server.

/// How the objects of a kind may be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// Labels joined by dots, at most 253 characters: most kinds.
    Subdomain,
    /// One label of at most 63 characters: namespaces, services.
    Label,
    /// One label that starts with a letter.
    Label1035,
    /// Whatever fits into one segment of a path: RBAC kinds.
    PathSegment,
}

impl NameRule {
    /// The rule for a kind.
    #[must_use]
    pub fn of(group: &str, kind: &str) -> Self {
        match (group, kind) {
            ("", "Namespace" | "Service") | ("apps", "StatefulSet") => Self::Label,
            ("rbac.authorization.k8s.io", _) | ("certificates.k8s.io", "CertificateSigningRequest") => {
                Self::PathSegment
            }
            ("apiregistration.k8s.io", "APIService") => Self::PathSegment,
            _ => Self::Subdomain,
        }
    }

    /// What is wrong with `name`. With `prefix`, it is the beginning of a name, which may end in a dash.
    #[must_use]
    pub fn faults(self, name: &str, prefix: bool) -> Vec<String> {
        let masked;
        let name = match name.strip_suffix('-') {
            Some(head) if prefix && self != Self::PathSegment && !head.is_empty() => {
                masked = format!(
                    "{}a",
                    &head[..head.len() - head.chars().next_back().map_or(0, char::len_utf8)]
                );
                &masked
            }
            _ => name,
        };
        match self {
            Self::Subdomain => subdomain(name),
            Self::Label => label(name),
            Self::Label1035 => label_1035(name),
            Self::PathSegment => path_segment(name, prefix),
        }
    }
}

/// Labels joined by dots (RFC 1123).
#[must_use]
pub fn subdomain(name: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if name.len() > 253 {
        faults.push("must be no more than 253 characters".to_owned());
    }
    if !is_subdomain(name) {
        faults.push("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')".to_owned());
    }
    faults
}

/// One label (RFC 1123).
#[must_use]
pub fn label(name: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if name.len() > 63 {
        faults.push("must be no more than 63 characters".to_owned());
    }
    if !is_label(name) {
        if is_subdomain(name) {
            faults.push("must not contain dots".to_owned());
        } else {
            faults.push("a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')".to_owned());
        }
    }
    faults
}

/// One label that starts with a letter (RFC 1035).
#[must_use]
pub fn label_1035(name: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if name.len() > 63 {
        faults.push("must be no more than 63 characters".to_owned());
    }
    if !is_label_1035(name) {
        faults.push("a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')".to_owned());
    }
    faults
}

/// What fits into one segment of a path.
#[must_use]
pub fn path_segment(name: &str, prefix: bool) -> Vec<String> {
    if !prefix && matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    ['/', '%']
        .iter()
        .filter(|c| name.contains(**c))
        .map(|c| format!("may not contain '{c}'"))
        .collect()
}

/// A label key, an annotation key or a qualified finalizer: `name` or `prefix/name`.
#[must_use]
pub fn qualified(name: &str) -> Vec<String> {
    let shape = "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    let mut faults = Vec::new();
    let parts: Vec<&str> = name.split('/').collect();
    let name = match parts.as_slice() {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                faults.push("prefix part must be non-empty".to_owned());
            } else {
                faults.extend(
                    subdomain(prefix)
                        .into_iter()
                        .map(|fault| format!("prefix part {fault}")),
                );
            }
            name
        }
        _ => {
            let prefix = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key must consist of {shape} {prefix}")];
        }
    };
    if name.is_empty() {
        faults.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        faults.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_qualified(name) {
        faults.push(format!("name part must consist of {shape}"));
    }
    faults
}

/// A label value.
#[must_use]
pub fn label_value(value: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if value.len() > 63 {
        faults.push("must be no more than 63 bytes".to_owned());
    }
    if !value.is_empty() && !is_qualified(value) {
        faults.push("a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')".to_owned());
    }
    faults
}

/// A key of a ConfigMap or Secret.
#[must_use]
pub fn config_key(key: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if key.len() > 253 {
        faults.push("must be no more than 253 characters".to_owned());
    }
    if !is_config_key(key) {
        faults.push("a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')".to_owned());
    }
    match key {
        "." => faults.push("must not be '.'".to_owned()),
        ".." => faults.push("must not be '..'".to_owned()),
        other if other.starts_with("..") => faults.push("must not start with '..'".to_owned()),
        _ => {}
    }
    faults
}

/// The name of a port: at most 15 of a-z, 0-9 and dashes, with a letter.
#[must_use]
pub fn port_name(name: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if name.len() > 15 {
        faults.push("must be no more than 15 characters".to_owned());
    }
    if !name
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    {
        faults.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !name.bytes().any(|b| b.is_ascii_lowercase()) {
        faults.push("must contain at least one letter (a-z)".to_owned());
    }
    if name.contains("--") {
        faults.push("must not contain consecutive hyphens".to_owned());
    }
    if name.starts_with('-') || name.ends_with('-') {
        faults.push("must not begin or end with a hyphen".to_owned());
    }
    faults
}

// The patterns that the messages quote, by hand: names are checked on every write.

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

fn is_label(text: &str) -> bool {
    let plain = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    is_enclosed(text, plain, |b| plain(b) || *b == b'-')
}

fn is_label_1035(text: &str) -> bool {
    is_label(text) && text.starts_with(|c: char| c.is_ascii_lowercase())
}

fn is_qualified(text: &str) -> bool {
    let plain = u8::is_ascii_alphanumeric;
    is_enclosed(text, plain, |b| plain(b) || matches!(b, b'-' | b'_' | b'.'))
}

fn is_config_key(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    !text.is_empty() && text.bytes().all(allowed)
}

/// Whether the text is not empty, begins and ends with what `end` allows, and holds only what `inside` allows.
fn is_enclosed(text: &str, end: impl Fn(&u8) -> bool, inside: impl Fn(&u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(&end) && bytes.last().is_some_and(&end) && bytes.iter().all(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_rule_of_their_kind() {
        assert!(NameRule::of("", "ConfigMap").faults("a.b-c.1", false).is_empty());
        assert!(!NameRule::of("", "ConfigMap").faults("a..b", false).is_empty());
        assert_eq!(
            NameRule::of("", "Service").faults("a.b", false),
            ["must not contain dots"]
        );
        assert_eq!(
            NameRule::of("rbac.authorization.k8s.io", "Role").faults("a%b", false),
            ["may not contain '%'"]
        );
    }

    #[test]
    fn the_beginning_of_a_name_may_end_in_a_dash_but_not_in_a_dot() {
        assert!(NameRule::Subdomain.faults("a.b-", true).is_empty());
        assert!(!NameRule::Subdomain.faults("a.b.", true).is_empty());
    }

    #[test]
    fn names_match_the_patterns_that_the_messages_quote() {
        for good in ["a", "a-b", "0", "a.b", "a-b.c0"] {
            assert!(is_subdomain(good), "{good}");
        }
        for bad in ["", ".", "a.", ".a", "a..b", "-a", "a-", "A", "a_b", "ä", "a.-b", "a\n"] {
            assert!(!is_subdomain(bad), "{bad:?}");
        }
        assert!(is_label_1035("a0") && !is_label_1035("0a") && !is_label("a.b"));
        assert!(is_qualified("A_b.c-0") && !is_qualified("_a") && !is_qualified("a.") && !is_qualified(""));
        assert!(is_config_key(".a_B-") && !is_config_key("") && !is_config_key("a b"));
    }

    #[test]
    fn keys_have_an_optional_prefix() {
        assert!(qualified("p.example/A_b.C").is_empty());
        assert!(qualified("Upper.example/x")[0].starts_with("prefix part a lowercase RFC 1123 subdomain"));
        assert_eq!(qualified("/x"), ["prefix part must be non-empty"]);
        assert!(qualified("a/b/c")[0].starts_with("a valid label key must consist of"));
    }
}
