//! What workloads, budgets and autoscalers must be.

use serde_json::Value;

use super::checks::At;
use super::checks::Check::{self, AtLeast, Below, OneOf, RequiredOneOf, Selector, With};
use super::checks::selects;
use super::cron;
use crate::error::Cause;

pub(super) const TABLE: &[(&str, &[Check])] = &[
    ("Deployment", &[Below("spec")]),
    (
        "DeploymentSpec",
        &[
            AtLeast("replicas", 0),
            With(deployment_selector),
            With(template_matches),
            Below("template"),
            With(always_restart),
            With(deployment_strategy),
            AtLeast("minReadySeconds", 0),
            AtLeast("revisionHistoryLimit", 0),
            AtLeast("progressDeadlineSeconds", 0),
        ],
    ),
    ("ReplicationController", &[Below("spec")]),
    (
        "ReplicationControllerSpec",
        &[
            AtLeast("minReadySeconds", 0),
            With(equality_selector),
            AtLeast("replicas", 0),
            With(template_is_there),
            Below("template"),
            With(always_restart),
        ],
    ),
    ("ReplicaSet", &[Below("spec")]),
    (
        "ReplicaSetSpec",
        &[
            AtLeast("replicas", 0),
            AtLeast("minReadySeconds", 0),
            With(selector_is_there),
            With(template_matches),
            Below("template"),
            With(always_restart),
        ],
    ),
    ("StatefulSet", &[Below("spec")]),
    (
        "StatefulSetSpec",
        &[
            OneOf("podManagementPolicy", &["OrderedReady", "Parallel"]),
            With(stateful_strategy),
            OneOf(
                "persistentVolumeClaimRetentionPolicy.whenDeleted",
                &["Delete", "Retain"],
            ),
            OneOf("persistentVolumeClaimRetentionPolicy.whenScaled", &["Delete", "Retain"]),
            AtLeast("ordinals.start", 0),
            AtLeast("replicas", 0),
            AtLeast("minReadySeconds", 0),
            With(selector_is_there),
            With(template_matches),
            Below("template"),
            With(always_restart),
        ],
    ),
    ("DaemonSet", &[Below("spec")]),
    (
        "DaemonSetSpec",
        &[
            With(selector_is_there),
            With(template_matches),
            Below("template"),
            With(always_restart),
            AtLeast("minReadySeconds", 0),
            OneOf("updateStrategy.type", &["RollingUpdate", "OnDelete"]),
            With(daemon_strategy),
            AtLeast("revisionHistoryLimit", 0),
        ],
    ),
    ("Job", &[With(generated_selector), Below("spec")]),
    (
        "JobSpec",
        &[
            AtLeast("parallelism", 0),
            AtLeast("completions", 0),
            AtLeast("activeDeadlineSeconds", 0),
            AtLeast("backoffLimit", 0),
            AtLeast("ttlSecondsAfterFinished", 0),
            AtLeast("backoffLimitPerIndex", 0),
            AtLeast("maxFailedIndexes", 0),
            With(indexed),
            OneOf("podReplacementPolicy", &["Failed", "TerminatingOrFailed"]),
            With(failure_policy),
            With(job_template_matches),
            Below("template"),
            With(job_restart),
        ],
    ),
    ("CronJob", &[With(cron_name), Below("spec")]),
    (
        "CronJobSpec",
        &[
            With(schedule),
            AtLeast("startingDeadlineSeconds", 0),
            With(time_zone),
            RequiredOneOf("concurrencyPolicy", &["Allow", "Forbid", "Replace"]),
            Below("jobTemplate"),
            AtLeast("successfulJobsHistoryLimit", 0),
            AtLeast("failedJobsHistoryLimit", 0),
        ],
    ),
    ("JobTemplateSpec", &[Below("spec")]),
    ("PodDisruptionBudget", &[Below("spec")]),
    (
        "PodDisruptionBudgetSpec",
        &[
            With(one_bound),
            With(budget_bounds),
            Selector("selector"),
            OneOf("unhealthyPodEvictionPolicy", &["AlwaysAllow", "IfHealthyBudget"]),
        ],
    ),
];

fn deployment_selector(at: &At<'_>, causes: &mut Vec<Cause>) {
    match at.get("selector") {
        Value::Null => causes.push(Cause::required(at.field("selector"), "")),
        selector => {
            causes.extend(super::checks::selector(selector, &at.field("selector")));
            if is_empty(selector) {
                causes.push(Cause::invalid(
                    at.field("selector"),
                    selector,
                    "empty selector is invalid for deployment",
                ));
            }
        }
    }
}

fn selector_is_there(at: &At<'_>, causes: &mut Vec<Cause>) {
    match at.get("selector") {
        Value::Null => causes.push(Cause::required(at.field("selector"), "")),
        selector => {
            causes.extend(super::checks::selector(selector, &at.field("selector")));
            if is_empty(selector) {
                let kind = at.root["kind"].as_str().unwrap_or_default().to_lowercase();
                let why = format!("empty selector is invalid for {kind}");
                causes.push(Cause::invalid(at.field("selector"), selector, why));
            }
        }
    }
}

fn template_matches(at: &At<'_>, causes: &mut Vec<Cause>) {
    let (selector, labels) = (at.get("selector"), at.get("template.metadata.labels"));
    if is_empty(selector) && !selector.is_null() {
        return;
    }
    if selector.is_null() || !selects(selector, labels) {
        let why = "`selector` does not match template `labels`";
        causes.push(Cause::invalid(at.field("template.metadata.labels"), labels, why));
    }
}

fn is_empty(selector: &Value) -> bool {
    ["matchLabels", "matchExpressions"]
        .iter()
        .all(|part| match &selector[*part] {
            Value::Object(map) => map.is_empty(),
            Value::Array(list) => list.is_empty(),
            _ => true,
        })
}

fn always_restart(at: &At<'_>, causes: &mut Vec<Cause>) {
    let policy = at.get("template.spec.restartPolicy");
    if policy.is_string() && policy != "Always" {
        causes.push(Cause::unsupported(
            at.field("template.spec.restartPolicy"),
            policy,
            &["Always"],
        ));
    }
}

fn deployment_strategy(at: &At<'_>, causes: &mut Vec<Cause>) {
    let path = at.field("strategy");
    match at.text("strategy.type") {
        "RollingUpdate" => {
            let rolling = at.get("strategy.rollingUpdate");
            let zero = |v: &Value| matches!(v, Value::Number(n) if n.as_i64() == Some(0)) || v == "0%";
            for field in ["maxUnavailable", "maxSurge"] {
                causes.extend(int_or_percent(&rolling[field], &format!("{path}.rollingUpdate.{field}")));
            }
            if zero(&rolling["maxUnavailable"]) && zero(&rolling["maxSurge"]) {
                let why = "may not be 0 when `maxSurge` is 0";
                causes.push(Cause::invalid(format!("{path}.rollingUpdate.maxUnavailable"), &rolling["maxUnavailable"], why));
            }
        }
        "Recreate" => {
            if !at.get("strategy.rollingUpdate").is_null() {
                let why = "may not be specified when strategy `type` is 'Recreate'";
                causes.push(Cause::forbidden(format!("{path}.rollingUpdate"), why));
            }
        }
        other => causes.push(Cause {
            reason: "FieldValueNotSupported",
            message: format!(
                "Unsupported value: {{\"Type\":{other:?},\"RollingUpdate\":null}}: supported values: \"Recreate\", \"RollingUpdate\""
            ),
            field: path,
        }),
    }
}

/// At least one pod has to go or to come at a time, and not both.
fn daemon_strategy(at: &At<'_>, causes: &mut Vec<Cause>) {
    if at.text("updateStrategy.type") != "RollingUpdate" {
        return;
    }
    let path = at.field("updateStrategy.rollingUpdate");
    let rolling = at.get("updateStrategy.rollingUpdate");
    let zero = |v: &Value| matches!(v, Value::Number(n) if n.as_i64() == Some(0)) || v == "0%" || v.is_null();
    let (unavailable, surge) = (&rolling["maxUnavailable"], &rolling["maxSurge"]);
    for field in ["maxUnavailable", "maxSurge"] {
        causes.extend(int_or_percent(&rolling[field], &format!("{path}.{field}")));
    }
    match (zero(unavailable), zero(surge)) {
        (false, false) => {
            let why = "may not be set when maxUnavailable is non-zero";
            causes.push(Cause::invalid(format!("{path}.maxSurge"), surge, why));
        }
        (true, true) => {
            let why = "cannot be 0 when maxSurge is 0";
            causes.push(Cause::required(format!("{path}.maxUnavailable"), why));
        }
        _ => {}
    }
}

/// A selector of labels alone, which the template has to have.
fn equality_selector(at: &At<'_>, causes: &mut Vec<Cause>) {
    if at.get("selector").as_object().is_none_or(serde_json::Map::is_empty) {
        causes.push(Cause::required(at.field("selector"), ""));
    }
}

fn template_is_there(at: &At<'_>, causes: &mut Vec<Cause>) {
    let template = at.get("template");
    if template.is_null() {
        causes.push(Cause::required(at.field("template"), ""));
        return;
    }
    let labels = at.get("template.metadata.labels");
    let wanted = at.get("selector").as_object().into_iter().flatten();
    if !wanted.into_iter().all(|(key, value)| labels.get(key) == Some(value)) {
        let why = "`selector` does not match template `labels`";
        causes.push(Cause::invalid(at.field("template.metadata.labels"), labels, why));
    }
}

/// What a failure policy and limits by index ask of the rest of a job.
fn failure_policy(at: &At<'_>, causes: &mut Vec<Cause>) {
    let indexed = at.text("completionMode") == "Indexed";
    let by_index = at.get("backoffLimitPerIndex");
    if !by_index.is_null() && !indexed {
        let why = "requires indexed completion mode";
        causes.push(Cause::invalid(at.field("backoffLimitPerIndex"), by_index, why));
    }
    let most = at.get("maxFailedIndexes");
    if !most.is_null() && by_index.is_null() {
        let why = "when maxFailedIndexes is specified";
        causes.push(Cause::required(at.field("backoffLimitPerIndex"), why));
    }
    if at.get("podFailurePolicy").is_null() {
        return;
    }
    let replacement = at.get("podReplacementPolicy");
    if replacement == "TerminatingOrFailed" {
        let path = at.field("podReplacementPolicy");
        causes.push(Cause::unsupported(path, replacement, &["Failed"]));
    }
    let policy = at.get("template.spec.restartPolicy");
    if policy == "OnFailure" {
        let why = "only \"Never\" is supported when podFailurePolicy is specified";
        causes.push(Cause::invalid(at.field("template.spec.restartPolicy"), policy, why));
    }
}

fn stateful_strategy(at: &At<'_>, causes: &mut Vec<Cause>) {
    let path = at.field("updateStrategy");
    match at.text("updateStrategy.type") {
        "RollingUpdate" => {
            let partition = at.get("updateStrategy.rollingUpdate.partition");
            if partition.as_i64().is_some_and(|n| n < 0) {
                let why = "must be greater than or equal to 0";
                causes.push(Cause::invalid(
                    format!("{path}.rollingUpdate.partition"),
                    partition,
                    why,
                ));
            }
        }
        "OnDelete" => {}
        other => causes.push(Cause {
            reason: "FieldValueInvalid",
            message: format!(
                "Invalid value: {{\"Type\":{other:?},\"RollingUpdate\":null}}: must be 'RollingUpdate' or 'OnDelete'"
            ),
            field: path,
        }),
    }
}

/// A number that is not negative, or a percentage.
fn int_or_percent(value: &Value, path: &str) -> Option<Cause> {
    match value {
        Value::Number(n) if n.as_i64().is_some_and(|n| n < 0) => {
            Some(Cause::invalid(path, value, "must be greater than or equal to 0"))
        }
        Value::String(text) => {
            let percent = text.strip_suffix('%').and_then(|n| n.parse::<u32>().ok());
            percent.is_none().then(|| {
                let why = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
                Cause::invalid(path, value, why)
            })
        }
        _ => None,
    }
}

/// A job that makes its own selector must not be given one.
fn generated_selector(at: &At<'_>, causes: &mut Vec<Cause>) {
    if at.get("spec.manualSelector") == &Value::Bool(true) {
        if at.get("spec.selector").is_null() {
            causes.push(Cause::required(at.field("spec.selector"), ""));
        }
        return;
    }
    let labels = at.get("spec.selector.matchLabels").as_object();
    let own = labels.is_some_and(|labels| {
        labels.len() == 1 && labels.get("batch.kubernetes.io/controller-uid") == Some(at.get("metadata.uid"))
    });
    if !own {
        causes.push(Cause::invalid(
            at.field("spec.selector"),
            at.get("spec.selector"),
            "`selector` not auto-generated",
        ));
    }
}

fn job_template_matches(at: &At<'_>, causes: &mut Vec<Cause>) {
    if at.root["kind"] == "Job" && !selects(at.get("selector"), at.get("template.metadata.labels")) {
        let why = "`selector` does not match template `labels`";
        causes.push(Cause::invalid(
            at.field("template.metadata.labels"),
            at.get("template.metadata.labels"),
            why,
        ));
    }
}

fn job_restart(at: &At<'_>, causes: &mut Vec<Cause>) {
    let (path, policy) = (
        at.field("template.spec.restartPolicy"),
        at.get("template.spec.restartPolicy"),
    );
    match policy.as_str().unwrap_or_default() {
        "OnFailure" | "Never" => {}
        "" | "Always" => causes.push(Cause::required(path, "valid values: \"OnFailure\", \"Never\"")),
        _ => {}
    }
}

fn indexed(at: &At<'_>, causes: &mut Vec<Cause>) {
    let mode = at.text("completionMode");
    if !mode.is_empty() && !matches!(mode, "NonIndexed" | "Indexed") {
        let allowed = ["Indexed", "NonIndexed"];
        causes.push(Cause::unsupported(
            at.field("completionMode"),
            at.get("completionMode"),
            &allowed,
        ));
    }
    if mode == "Indexed" && at.get("completions").is_null() {
        causes.push(Cause::required(
            at.field("completions"),
            "when completion mode is Indexed",
        ));
    }
}

/// The names of a cron job's jobs have eleven characters more.
fn cron_name(at: &At<'_>, causes: &mut Vec<Cause>) {
    let name = at.text("metadata.name");
    if name.len() > 52 {
        causes.push(Cause::invalid(
            at.field("metadata.name"),
            &name.into(),
            "must be no more than 52 characters",
        ));
    }
}

fn schedule(at: &At<'_>, causes: &mut Vec<Cause>) {
    let given = at.text("schedule");
    if given.is_empty() {
        causes.push(Cause::required(at.field("schedule"), ""));
    } else if given.starts_with("TZ=") || given.starts_with("CRON_TZ=") {
        let why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        causes.push(Cause::invalid(at.field("schedule"), &given.into(), why));
    } else if let Some(why) = cron::fault(given) {
        causes.push(Cause::invalid(at.field("schedule"), &given.into(), why));
    }
}

fn time_zone(at: &At<'_>, causes: &mut Vec<Cause>) {
    let Some(given) = at.get("timeZone").as_str() else {
        return;
    };
    let plausible = given == "UTC" || (given.contains('/') && cron::AREAS.iter().any(|area| given.starts_with(area)));
    if given.is_empty() {
        causes.push(Cause::invalid(
            at.field("timeZone"),
            &given.into(),
            "timeZone must be nil or non-empty string",
        ));
    } else if given.eq_ignore_ascii_case("local") {
        let why = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        causes.push(Cause::invalid(at.field("timeZone"), &given.into(), why));
    } else if !plausible {
        causes.push(Cause::invalid(
            at.field("timeZone"),
            &given.into(),
            format!("unknown time zone {given}"),
        ));
    }
}

fn one_bound(at: &At<'_>, causes: &mut Vec<Cause>) {
    let (least, most) = (at.get("minAvailable"), at.get("maxUnavailable"));
    if !least.is_null() && !most.is_null() {
        let selector = at.get("selector");
        let policy = at.get("unhealthyPodEvictionPolicy");
        causes.push(Cause {
            reason: "FieldValueInvalid",
            message: format!(
                "Invalid value: {{\"MinAvailable\":{least},\"Selector\":{selector},\"MaxUnavailable\":{most},\"UnhealthyPodEvictionPolicy\":{policy}}}: minAvailable and maxUnavailable cannot be both set"
            ),
            field: at.path.to_owned(),
        });
    }
}

fn budget_bounds(at: &At<'_>, causes: &mut Vec<Cause>) {
    for field in ["minAvailable", "maxUnavailable"] {
        let value = at.get(field);
        causes.extend(int_or_percent(value, &at.field(field)));
        let percent = value
            .as_str()
            .and_then(|t| t.strip_suffix('%'))
            .and_then(|n| n.parse::<u32>().ok());
        if percent.is_some_and(|p| p > 100) {
            causes.push(Cause::invalid(at.field(field), value, "must not be greater than 100%"));
        }
    }
}
