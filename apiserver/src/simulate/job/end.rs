//! One look at a Job: what ended, whether that ends the Job, and what to write.

use std::sync::Arc;

use serde_json::{Value, json};

use super::count::{Ended, Totals};
use super::{Backoff, Work};
use crate::controllers::object::{Object, set, set_count};
use crate::error::ApiError;
use crate::simulate::pods;

/// How a Job ends: reason and message, of success or failure.
struct Verdict {
    succeeded: bool,
    reason: &'static str,
    message: String,
}

impl Verdict {
    fn success<T: Into<String>>(reason: &'static str, message: T) -> Self {
        Self {
            succeeded: true,
            reason,
            message: message.into(),
        }
    }

    fn failure<T: Into<String>>(reason: &'static str, message: T) -> Self {
        Self {
            succeeded: false,
            reason,
            message: message.into(),
        }
    }
}

impl Work<'_> {
    /// Brings pods and status up to date.
    pub(super) async fn sync(&mut self) -> Result<(), ApiError> {
        let before = self.job.get("status").cloned().unwrap_or_default();
        let deleting = self.job.is_deleting();
        let ended = self.ended();
        self.note_backoff(&ended);
        let totals = self.totals(&ended);
        if self.job.text("status.startTime").is_empty() && !self.is_suspended() {
            let now = self.now_text();
            set(&mut self.job, "status.startTime", now.into());
        }
        let mut verdict = self.decided().or_else(|| self.failure(&ended, &totals));
        let active = self.active();
        let ready = active.iter().filter(|p| pods::is_ready(p)).count();
        let mut ready = i64::try_from(ready).unwrap_or(0);
        let terminating = self.pods.iter().filter(|p| pods::is_terminating(p)).count();
        let mut terminating = i64::try_from(terminating).unwrap_or(0);
        let mut running = i64::try_from(active.len()).unwrap_or(0);
        let mut stopped = Vec::new();
        let mut outcome = Ok(());
        if verdict.is_some() {
            for pod in &active {
                pods::delete(self.cx, &self.job, pod).await?;
                stopped.push(Arc::clone(pod));
            }
            terminating += running;
            (running, ready) = (0, 0);
        } else if !deleting {
            match self.run(&totals).await {
                Ok((now_running, deleted)) => {
                    running = now_running;
                    terminating += deleted;
                    ready = if deleted > 0 { ready.min(running) } else { ready };
                }
                // What ended must be counted all the same.
                Err(error) => outcome = Err(error),
            }
            verdict = self.success(&totals, running);
            self.note_suspension();
        }
        self.note(&ended, &totals);
        self.note_stopped(&stopped, verdict.as_ref());
        set_count(&mut self.job, "status.active", running);
        set(&mut self.job, "status.ready", ready.into());
        set(&mut self.job, "status.terminating", terminating.into());
        if self.job.at("status.uncountedTerminatedPods").is_none() {
            set(&mut self.job, "status.uncountedTerminatedPods", json!({}));
        }
        if let Some(verdict) = &verdict {
            let interim = if verdict.succeeded {
                "SuccessCriteriaMet"
            } else {
                "FailureTarget"
            };
            self.add_condition(interim, verdict);
        }
        if self.job.get("status") != Some(&before) {
            self.store().await?;
        }
        let counted = self.count_noted().await?;
        let all_gone = terminating == 0 && running == 0;
        if let Some(verdict) = verdict.filter(|_| all_gone) {
            self.end(&verdict);
            self.store().await?;
            self.tell(&verdict);
        } else if counted {
            self.store().await?;
        }
        outcome
    }

    /// The end that an earlier look decided on.
    fn decided(&self) -> Option<Verdict> {
        let of = |kind: &str, make: fn(&'static str, String) -> Verdict| {
            let condition = self.job.condition(kind).filter(|c| c.text("status") == "True")?;
            Some(make(
                known_reason(condition.text("reason")),
                condition.text("message").to_owned(),
            ))
        };
        of("FailureTarget", Verdict::failure::<String>).or_else(|| of("SuccessCriteriaMet", Verdict::success::<String>))
    }

    /// Why the Job fails, if it does.
    fn failure(&mut self, ended: &Ended, totals: &Totals) -> Option<Verdict> {
        if let Some(message) = ended.failed.iter().find_map(|p| self.failing_rule(p)) {
            return Some(Verdict::failure("PodFailurePolicy", message));
        }
        let per_index = self.job.int("spec.backoffLimitPerIndex").is_some();
        let limit = self.job.int("spec.backoffLimit").unwrap_or(6);
        let ignored = ended
            .failed
            .iter()
            .filter(|p| self.rule(p).is_some_and(|(_, a)| a == "Ignore"))
            .count();
        let failed = totals.failed - i64::try_from(ignored).unwrap_or(0);
        let restarts: i64 = match self.job.text("spec.template.spec.restartPolicy") {
            "OnFailure" => self.pods.iter().map(|p| pods::restarts(p)).sum(),
            _ => 0,
        };
        let exceeded = if restarts > 0 {
            restarts >= limit.max(1)
        } else {
            failed > limit
        };
        if exceeded {
            return Some(Verdict::failure(
                "BackoffLimitExceeded",
                "Job has reached the specified backoff limit",
            ));
        }
        if let (Some(deadline), Some(start)) = (
            self.job.int("spec.activeDeadlineSeconds"),
            self.job.time("status.startTime"),
        ) && !self.is_suspended()
        {
            let left = start.as_second() + deadline - self.now().as_second();
            if left <= 0 {
                return Some(Verdict::failure(
                    "DeadlineExceeded",
                    "Job was active longer than specified deadline",
                ));
            }
            self.sooner(left);
        }
        if per_index {
            let given_up = i64::try_from(totals.given_up.len()).unwrap_or(0);
            if self.job.int("spec.maxFailedIndexes").is_some_and(|max| given_up > max) {
                let message = "Job has exceeded the specified maximal number of failed indexes";
                return Some(Verdict::failure("MaxFailedIndexesExceeded", message));
            }
            if given_up > 0 && given_up + totals.succeeded >= self.job.int("spec.completions").unwrap_or(0) {
                return Some(Verdict::failure("FailedIndexes", "Job has failed indexes"));
            }
        }
        None
    }

    fn success(&self, totals: &Totals, running: i64) -> Option<Verdict> {
        for (at, rule) in self.job.items("spec.successPolicy.rules").iter().enumerate() {
            let limit = self.job.int("spec.completions").unwrap_or(0);
            let named = rule
                .get("succeededIndexes")
                .and_then(Value::as_str)
                .map(|t| super::indexes::parse(t, limit));
            let of = named
                .as_ref()
                .map_or(totals.complete.len(), |n| n.intersection(&totals.complete).count());
            let needed = rule.int("succeededCount").and_then(|c| usize::try_from(c).ok());
            let needed = needed
                .or(named.as_ref().map(std::collections::BTreeSet::len))
                .unwrap_or(usize::MAX);
            if of >= needed {
                return Some(Verdict::success(
                    "SuccessPolicy",
                    format!("Matched rules at index {at}"),
                ));
            }
        }
        let complete = match self.job.int("spec.completions") {
            None => totals.succeeded > 0 && running == 0,
            Some(completions) => totals.succeeded >= completions && running == 0,
        };
        complete.then(|| Verdict::success("CompletionsReached", "Reached expected number of succeeded pods"))
    }

    /// The first rule of the pod failure policy that fits a pod: its number and action.
    fn rule(&self, pod: &Value) -> Option<(usize, String)> {
        let fits = |rule: &Value| {
            let codes = rule.get("onExitCodes").filter(|c| !c.is_null());
            let by_code = codes.is_some_and(|codes| {
                let listed = |code: i64| codes.items("values").iter().any(|v| v.as_i64() == Some(code));
                exits(pod).any(|(name, code)| {
                    let container = codes.text("containerName");
                    (container.is_empty() || container == name)
                        && code != 0
                        && (listed(code) == (codes.text("operator") == "In"))
                })
            });
            let by_condition = rule.items("onPodConditions").iter().any(|c| {
                let wanted = if c.text("status").is_empty() {
                    "True"
                } else {
                    c.text("status")
                };
                pod.condition(c.text("type"))
                    .is_some_and(|have| have.text("status") == wanted)
            });
            by_code || by_condition
        };
        let rules = self.job.items("spec.podFailurePolicy.rules");
        rules
            .iter()
            .position(fits)
            .map(|at| (at, rules[at].text("action").to_owned()))
    }

    /// The message of a rule that fails the whole Job because of this pod.
    fn failing_rule(&self, pod: &Value) -> Option<String> {
        let (at, _) = self.rule(pod).filter(|(_, action)| action == "FailJob")?;
        let (namespace, name) = (pod.namespace(), pod.name());
        let rule = &self.job.items("spec.podFailurePolicy.rules")[at];
        Some(
            match exits(pod)
                .find(|(_, code)| *code != 0)
                .filter(|_| rule.get("onExitCodes").is_some())
            {
                Some((container, code)) => format!(
                    "Container {container} for pod {namespace}/{name} failed with exit code {code} matching FailJob rule at index {at}"
                ),
                None => {
                    let kind = rule.items("onPodConditions").first().map_or("", |c| c.text("type"));
                    format!("Pod {namespace}/{name} has condition {kind} matching FailJob rule at index {at}")
                }
            },
        )
    }

    /// Pods that the end of the Job stopped count as failed, unless the Job succeeded.
    fn note_stopped(&mut self, stopped: &[Arc<Value>], verdict: Option<&Verdict>) {
        if stopped.is_empty() || verdict.is_none() {
            return;
        }
        let uids = &mut self.job["status"]["uncountedTerminatedPods"]["failed"];
        let mut all: Vec<Value> = uids.as_array().cloned().unwrap_or_default();
        all.extend(stopped.iter().map(|p| Value::from(p.uid())));
        *uids = all.into();
    }

    fn note_backoff(&mut self, ended: &Ended) {
        let at = |p: &Arc<Value>| exit_time(p).unwrap_or_else(|| self.now().as_second());
        let last_success = ended.succeeded.iter().map(at).max();
        let failures: Vec<i64> = ended
            .failed
            .iter()
            .map(at)
            .filter(|t| last_success.is_none_or(|s| *t > s))
            .collect();
        if last_success.is_some() {
            self.backoff = Backoff::default();
        }
        if let Some(last) = failures.iter().max() {
            self.backoff.failures += u32::try_from(failures.len()).unwrap_or(u32::MAX);
            self.backoff.last = *last;
        }
    }

    fn note_suspension(&mut self) {
        let noted = self.job.is_true("Suspended");
        let now = self.now_text();
        if self.is_suspended() && !noted {
            self.put_suspended("True", "JobSuspended", "Job suspended", &now);
            set(&mut self.job, "status.startTime", Value::Null);
            self.cx.events.normal(&self.job, "Suspended", "Job suspended");
        } else if !self.is_suspended() && noted {
            self.put_suspended("False", "JobResumed", "Job resumed", &now);
            set(&mut self.job, "status.startTime", now.into());
            self.cx.events.normal(&self.job, "Resumed", "Job resumed");
        }
    }

    fn put_suspended(&mut self, status: &str, reason: &str, message: &str, now: &str) {
        let new = json!({
            "type": "Suspended", "status": status, "lastProbeTime": now, "lastTransitionTime": now,
            "reason": reason, "message": message,
        });
        let mut conditions = self.job.items("status.conditions").to_vec();
        match conditions.iter_mut().find(|c| c.text("type") == "Suspended") {
            Some(old) => *old = new,
            None => conditions.push(new),
        }
        set(&mut self.job, "status.conditions", conditions.into());
    }

    fn add_condition(&mut self, kind: &str, verdict: &Verdict) {
        if self.job.is_true(kind) {
            return;
        }
        let now = self.now_text();
        let mut conditions = self.job.items("status.conditions").to_vec();
        conditions.push(json!({
            "type": kind, "status": "True", "lastProbeTime": now, "lastTransitionTime": now,
            "reason": verdict.reason, "message": verdict.message,
        }));
        set(&mut self.job, "status.conditions", conditions.into());
    }

    fn end(&mut self, verdict: &Verdict) {
        self.add_condition(if verdict.succeeded { "Complete" } else { "Failed" }, verdict);
        if verdict.succeeded {
            let now = self.now_text();
            set(&mut self.job, "status.completionTime", now.into());
        }
    }

    fn tell(&self, verdict: &Verdict) {
        if verdict.succeeded {
            self.cx.events.normal(&self.job, "Completed", "Job completed");
        } else {
            self.cx
                .events
                .warning(&self.job, verdict.reason, verdict.message.clone());
        }
    }
}

/// Names and exit codes of a pod's ended containers.
fn exits(pod: &Value) -> impl Iterator<Item = (&str, i64)> {
    let all = pod
        .items("status.initContainerStatuses")
        .iter()
        .chain(pod.items("status.containerStatuses"));
    all.filter_map(|c| Some((c.text("name"), c.int("state.terminated.exitCode")?)))
}

fn exit_time(pod: &Value) -> Option<i64> {
    let ended = pod
        .items("status.containerStatuses")
        .iter()
        .filter_map(|c| c.time("state.terminated.finishedAt"));
    ended
        .max()
        .or_else(|| pod.time("metadata.deletionTimestamp"))
        .map(jiff::Timestamp::as_second)
}

/// Reasons that conditions of this controller have.
fn known_reason(reason: &str) -> &'static str {
    const REASONS: [&str; 7] = [
        "BackoffLimitExceeded",
        "DeadlineExceeded",
        "PodFailurePolicy",
        "FailedIndexes",
        "MaxFailedIndexesExceeded",
        "SuccessPolicy",
        "CompletionsReached",
    ];
    REASONS.into_iter().find(|known| *known == reason).unwrap_or("")
}
