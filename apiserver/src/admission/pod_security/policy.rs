//! Which Pod Security Standards a namespace's labels ask for.

use serde_json::Value;

use crate::error::Cause;

const PREFIX: &str = "pod-security.kubernetes.io/";
/// The minor version of the standards that `latest` means.
const LATEST: u32 = 36;

/// How much is asked of pods, from nothing on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Privileged,
    Baseline,
    Restricted,
}

/// A level in a version of the standards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standard {
    pub(super) level: Level,
    /// Absent for `latest`.
    version: Option<u32>,
}

impl Standard {
    const FREE: Self = Self {
        level: Level::Privileged,
        version: None,
    };

    /// The minor version.
    pub(super) fn minor(self) -> u32 {
        self.version.unwrap_or(LATEST)
    }

    /// Whether it differs from another in its version.
    pub(super) fn same_version(self, other: Self) -> bool {
        self.version == other.version
    }
}

impl std::fmt::Display for Standard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let level = match self.level {
            Level::Privileged => "privileged",
            Level::Baseline => "baseline",
            Level::Restricted => "restricted",
        };
        match self.version {
            None => write!(f, "{level}:latest"),
            Some(minor) => write!(f, "{level}:v1.{minor}"),
        }
    }
}

/// What a namespace refuses and warns of. Audits leave no trace here.
#[derive(Debug)]
pub(super) struct Policy {
    pub(super) enforce: Standard,
    pub(super) warn: Standard,
    /// What is wrong with the labels.
    pub(super) faults: Vec<Cause>,
}

impl Policy {
    /// The policy of a namespace.
    pub(super) fn of(namespace: &Value) -> Self {
        let labels = &namespace["metadata"]["labels"];
        let mut faults = Vec::new();
        let (enforce, enforced) = standard(labels, "enforce", Level::Restricted, &mut faults);
        standard(labels, "audit", Level::Privileged, &mut faults);
        let (mut warn, _) = standard(labels, "warn", Level::Privileged, &mut faults);
        let unset = |name: &str| labels.get(format!("{PREFIX}{name}")).is_none();
        // What is refused is warned of where a controller would make it, unless warnings are set apart.
        if unset("warn") && enforced && enforce.level > warn.level {
            warn.level = enforce.level;
            if unset("warn-version") {
                warn.version = enforce.version;
            }
        }
        Self { enforce, warn, faults }
    }
}

/// The standard of a mode, and whether its label names a level. A level that makes no sense counts as `fallback`.
fn standard(labels: &Value, mode: &str, fallback: Level, faults: &mut Vec<Cause>) -> (Standard, bool) {
    let mut found = Standard::FREE;
    let mut named = false;
    let mut refuse = |label: &str, given: &Value, why: &str| {
        faults.push(Cause::invalid(format!("metadata.labels[{label}]"), given, why));
    };
    let label = format!("{PREFIX}{mode}");
    if let Some(given) = labels.get(&label) {
        named = true;
        found.level = match given.as_str().unwrap_or_default() {
            "privileged" => Level::Privileged,
            "baseline" => Level::Baseline,
            "restricted" => Level::Restricted,
            _ => {
                named = false;
                refuse(&label, given, "must be one of privileged, baseline, restricted");
                fallback
            }
        };
    }
    let label = format!("{PREFIX}{mode}-version");
    if let Some(given) = labels.get(&label) {
        let text = given.as_str().unwrap_or_default();
        let minor = text
            .strip_prefix("v1.")
            .filter(|minor| *minor == "0" || !minor.starts_with('0'));
        match minor.and_then(|minor| minor.parse().ok()) {
            Some(minor) => found.version = Some(minor),
            None if text == "latest" => {}
            None => refuse(&label, given, "must be \"latest\" or \"v1.x\""),
        }
    }
    (found, named)
}
