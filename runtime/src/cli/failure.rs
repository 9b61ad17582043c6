//! What ends the process with an error: one line that names the cause and what to do.

use std::fmt;

/// Why the command could not be carried out. `Display` is one line.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    /// A failure that already says what is wrong and what to do.
    pub(crate) fn other(error: impl fmt::Display) -> Self {
        Self::new(error.to_string())
    }

    /// Joins what a message spreads over several lines.
    pub(crate) fn new(message: impl AsRef<str>) -> Self {
        let lines = message.as_ref().lines().map(str::trim).filter(|line| !line.is_empty());
        Self(lines.collect::<Vec<_>>().join(" "))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The operator's name becomes the name of its ServiceAccount, roles and Lease.
pub(super) fn check_name(operator: &str) -> Result<(), Failure> {
    if is_label(operator, 46) {
        return Ok(());
    }
    Err(Failure::new(format!(
        "`{operator}` is no name for an operator: in Manager::new, use at most 46 lower-case letters, digits and `-`, \
         with a letter or digit at both ends"
    )))
}

/// Whether `text` is a DNS label (RFC 1123) of at most `longest` bytes.
pub(super) fn is_label(text: &str, longest: usize) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let edge = |c: Option<char>| c.is_some_and(|c| inner(c) && c != '-');
    text.len() <= longest && text.chars().all(inner) && edge(text.chars().next()) && edge(text.chars().next_back())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_one_line() {
        assert_eq!(Failure::new("a:\n  b\n\n c\n").to_string(), "a: b c");
    }

    #[test]
    fn a_name_that_no_lease_can_carry_is_refused_before_anything_starts() {
        assert!(check_name("app-operator").is_ok());
        for bad in ["", "App", "a_b", "-a", "a-", &"a".repeat(47)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }
}
