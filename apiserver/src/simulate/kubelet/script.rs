//! What a pod's annotations say it does.

use std::time::Duration;

use serde_json::Value;

use crate::controllers::object::Object;

const PREFIX: &str = "simulate.kubewright.dev/";
/// How long a pod that is meant to finish runs unless it says so.
const SHORT: Duration = Duration::from_millis(100);

/// A pod's behaviour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// How long after its start it becomes ready; none for never.
    pub ready_after: Option<Duration>,
    /// How long after their start its containers exit; none for never.
    pub finish_after: Option<Duration>,
    /// What they exit with.
    pub exit_code: i64,
    /// Why they exit, such as `OOMKilled`; none for what follows from the exit code.
    pub exit_reason: Option<String>,
    /// Whether its image cannot be pulled.
    pub fails_to_pull: bool,
    /// Whether its containers crash as soon as they start.
    pub crashes: bool,
    /// Annotations that could not be read, in words.
    pub problems: Vec<String>,
}

impl Script {
    /// Reads the annotations of a pod.
    #[must_use]
    pub fn of(pod: &Value) -> Self {
        let mut script = Self {
            ready_after: Some(Duration::ZERO),
            ..Self::default()
        };
        if !matches!(pod.text("spec.restartPolicy"), "Always" | "") {
            script.finish_after = Some(SHORT);
        }
        let annotations = pod.at("metadata.annotations").and_then(Value::as_object);
        for (key, value) in annotations.into_iter().flatten() {
            let Some(key) = key.strip_prefix(PREFIX) else { continue };
            script.tell(key, value.as_str().unwrap_or(""));
        }
        script
    }

    /// Takes in one setting.
    pub(super) fn tell(&mut self, key: &str, value: &str) {
        if !self.read(key, value) {
            self.problems.push(format!(
                "{PREFIX}{key}: {value:?} is not understood; known are ready and finish-after (never or a duration \
                 such as 5s), exit-code (a number), exit-reason (a text) and fail (image, crash or no)"
            ));
        }
    }

    fn read(&mut self, key: &str, value: &str) -> bool {
        match (key, value) {
            ("ready", "never") => self.ready_after = None,
            ("ready", _) => match duration(value) {
                Some(delay) => self.ready_after = Some(delay),
                None => return false,
            },
            ("finish-after", "never") => self.finish_after = None,
            ("finish-after", _) => match duration(value) {
                Some(delay) => self.finish_after = Some(delay),
                None => return false,
            },
            ("exit-code", _) => match value.parse() {
                Ok(code) => self.exit_code = code,
                Err(_) => return false,
            },
            ("exit-reason", "") => return false,
            ("exit-reason", _) => self.exit_reason = Some(value.to_owned()),
            ("fail", "no") => (self.fails_to_pull, self.crashes) = (false, false),
            ("fail", "image") => self.fails_to_pull = true,
            ("fail", "crash") => self.crashes = true,
            _ => return false,
        }
        true
    }
}

/// `300ms`, `5s`, `2m`, `1h`.
fn duration(text: &str) -> Option<Duration> {
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u64 = text[..split].parse().ok()?;
    let unit = match &text[split..] {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    Some(Duration::from_millis(number.checked_mul(unit)?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn annotations_script_a_pod_and_what_cannot_be_read_is_told() {
        let pod = json!({
            "metadata": {"annotations": {
                "simulate.kubewright.dev/ready": "1500ms",
                "simulate.kubewright.dev/exit-code": "3",
                "simulate.kubewright.dev/finish-after": "soon",
                "other": "x",
            }},
            "spec": {"restartPolicy": "Never"},
        });
        let script = Script::of(&pod);
        assert_eq!(script.ready_after, Some(Duration::from_millis(1500)));
        assert_eq!(script.exit_code, 3);
        assert_eq!(script.finish_after, Some(SHORT));
        assert_eq!(script.problems.len(), 1);
    }

    #[test]
    fn durations_need_a_unit_and_must_not_overflow() {
        assert_eq!(duration("2m"), Some(Duration::from_secs(120)));
        assert_eq!(duration("5"), None);
        assert_eq!(duration("s"), None);
        assert_eq!(duration("99999999999999999999h"), None);
        assert_eq!(duration("18446744073709551615h"), None);
    }
}
