//! CronJobs: a Job whenever the schedule says so.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::job;
use crate::controllers::kinds::{CRON_JOBS, JOBS};
use crate::controllers::object::{Key, Object, controller_reference, set};
use crate::controllers::queue::Queue;
use crate::controllers::{Controller, Cx, Next, Seen};
use crate::error::ApiError;
use schedule::Schedule;

mod schedule;

const SCHEDULED: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";
/// Beyond so many missed times the search for the last one is given up.
const MISSED: usize = 100;

/// The last time that came, and the next one.
type Times = (Option<Timestamp>, Option<Timestamp>);

/// The CronJob controller.
pub struct CronJobs {
    cx: Cx,
}

impl CronJobs {
    /// A controller that knows of no CronJob yet.
    #[must_use]
    pub fn new(cx: Cx) -> Self {
        Self { cx }
    }

    /// Takes finished Jobs out of `status.active` and notes the last success.
    fn note_finished(&self, cron: &mut Value, jobs: &[Arc<Value>]) {
        let mut active: Vec<Value> = cron.items("status.active").to_vec();
        for child in jobs {
            let Some(end) = job::finished(child) else { continue };
            let listed = active.iter().position(|a| a.text("uid") == child.uid());
            if let Some(at) = listed {
                active.remove(at);
                let text = format!("Saw completed job: {}, condition: {}", child.name(), end.text("type"));
                self.cx.events.normal(cron, "SawCompletedJob", text);
            }
            if end.text("type") == "Complete" {
                let ended = child.time("status.completionTime");
                if ended > cron.time("status.lastSuccessfulTime") {
                    set(
                        cron,
                        "status.lastSuccessfulTime",
                        child.text("status.completionTime").into(),
                    );
                }
            }
        }
        active.retain(|a| {
            let there = jobs.iter().any(|j| j.uid() == a.text("uid"));
            if !there {
                let text = format!("Active job went missing: {}", a.text("name"));
                self.cx.events.normal(cron, "MissingJob", text);
            }
            there
        });
        set(
            cron,
            "status.active",
            if active.is_empty() { Value::Null } else { active.into() },
        );
    }

    /// Deletes the oldest finished Jobs beyond the limits.
    async fn clean_up(&self, cron: &Value, jobs: &[Arc<Value>]) -> Result<(), ApiError> {
        let limits = [
            ("Complete", "spec.successfulJobsHistoryLimit"),
            ("Failed", "spec.failedJobsHistoryLimit"),
        ];
        for (kind, limit) in limits {
            let Some(limit) = cron.int(limit).and_then(|l| usize::try_from(l).ok()) else {
                continue;
            };
            let mut ended: Vec<_> = jobs.iter().filter(|j| j.is_true(kind) && !j.is_deleting()).collect();
            ended.sort_by_key(|j| (j.time("status.startTime"), j.name().to_owned()));
            for old in &ended[..ended.len().saturating_sub(limit)] {
                self.delete(cron, old).await?;
            }
        }
        Ok(())
    }

    async fn delete(&self, cron: &Value, job: &Value) -> Result<(), ApiError> {
        let options = json!({ "propagationPolicy": "Background", "preconditions": { "uid": job.uid() } });
        match self
            .cx
            .loopback
            .delete(&JOBS.gvr(), job.namespace(), job.name(), options)
            .await
        {
            Err(error) if error.code != 404 => Err(error),
            _ => {
                self.cx
                    .events
                    .normal(cron, "SuccessfulDelete", format!("Deleted job {}", job.name()));
                Ok(())
            }
        }
    }

    /// The last time that came and has no Job yet, and the next one.
    fn due(&self, cron: &Value) -> Result<Times, (&'static str, String)> {
        let text = cron.text("spec.schedule");
        let schedule = Schedule::parse(text)
            .map_err(|e| ("UnparseableSchedule", format!("unparseable schedule: {text} : {e}")))?;
        let zone = match cron.text("spec.timeZone") {
            "" => TimeZone::UTC,
            name => TimeZone::get(name).map_err(|e| ("UnknownTimeZone", format!("invalid timeZone: {name:?}: {e}")))?,
        };
        let now = self.cx.loopback.clock().now();
        let mut from = cron
            .time("status.lastScheduleTime")
            .or_else(|| cron.time("metadata.creationTimestamp"))
            .unwrap_or(now);
        if let Some(deadline) = cron.int("spec.startingDeadlineSeconds") {
            let earliest = Timestamp::from_second(now.as_second() - deadline).unwrap_or(from);
            from = from.max(earliest);
        }
        let mut last = None;
        let mut next = schedule.next(from, &zone);
        let mut missed = 0;
        while let Some(time) = next.filter(|t| *t <= now) {
            last = Some(time);
            missed += 1;
            // After a long pause only the latest counts: skip close to now.
            let after = if missed == MISSED {
                now.checked_sub(jiff::SignedDuration::from_hours(1))
                    .unwrap_or(time)
                    .max(time)
            } else {
                time
            };
            next = schedule.next(after, &zone);
        }
        if missed > MISSED {
            let text = format!(
                "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew: {missed}"
            );
            self.cx.events.warning(cron, "TooManyMissedTimes", text);
        }
        Ok((last, next))
    }

    /// Makes the Job of a scheduled time, unless the concurrency policy forbids it.
    async fn start(&self, cron: &mut Value, jobs: &[Arc<Value>], time: Timestamp) -> Result<(), ApiError> {
        let active = cron.items("status.active").to_vec();
        match cron.text("spec.concurrencyPolicy") {
            "Forbid" if !active.is_empty() => {
                let text = "Not starting job because prior execution is running and concurrency policy is Forbid";
                self.cx.events.normal(cron, "JobAlreadyActive", text);
                return Ok(());
            }
            "Replace" => {
                for job in jobs.iter().filter(|j| active.iter().any(|a| a.text("uid") == j.uid())) {
                    self.delete(cron, job).await?;
                }
                set(cron, "status.active", Value::Null);
            }
            _ => {}
        }
        let name = format!("{}-{}", cron.name(), time.as_second() / 60);
        let stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let mut metadata = json!({
            "name": name,
            "namespace": cron.namespace(),
            "ownerReferences": [controller_reference(cron, &CRON_JOBS)],
            "annotations": cron.at("spec.jobTemplate.metadata.annotations").cloned().unwrap_or_else(|| json!({})),
        });
        metadata["annotations"][SCHEDULED] = stamp.clone().into();
        if let Some(labels) = cron.at("spec.jobTemplate.metadata.labels") {
            metadata["labels"] = labels.clone();
        }
        let job = json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": metadata,
            "spec": cron.at("spec.jobTemplate.spec").cloned().unwrap_or_default(),
        });
        match self.cx.loopback.create(&JOBS.gvr(), cron.namespace(), job).await {
            Ok(job) => {
                self.cx
                    .events
                    .normal(cron, "SuccessfulCreate", format!("Created job {name}"));
                let mut active = cron.items("status.active").to_vec();
                active.push(json!({
                    "apiVersion": "batch/v1", "kind": "Job", "name": name, "namespace": cron.namespace(),
                    "resourceVersion": job.text("metadata.resourceVersion"), "uid": job.uid(),
                }));
                set(cron, "status.active", active.into());
            }
            Err(error) if error.reason == "AlreadyExists" => {}
            Err(error) => {
                self.cx
                    .events
                    .warning(cron, "FailedCreate", format!("Error creating job: {}", error.message));
                return Err(error);
            }
        }
        set(cron, "status.lastScheduleTime", stamp.into());
        Ok(())
    }
}

impl Controller for CronJobs {
    type Key = Key;

    fn cx(&self) -> &Cx {
        &self.cx
    }

    fn observe(&self, seen: &Seen<'_>, queue: &Queue<Key>) {
        if seen.is(&CRON_JOBS) {
            queue.add(Key::of(seen.object));
        } else if seen.is(&JOBS)
            && let Some(owner) = seen.object.controller().filter(|o| o.text("kind") == CRON_JOBS.kind)
        {
            queue.add(Key::new(seen.object.namespace(), owner.text("name")));
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, ApiError> {
        let Some(stored) = self.cx.cache.get(&CRON_JOBS, key) else {
            return Ok(Next::Wait);
        };
        let jobs = self.cx.cache.controlled_by(&JOBS, stored.uid());
        let mut cron = (*stored).clone();
        self.note_finished(&mut cron, &jobs);
        self.clean_up(&cron, &jobs).await?;
        let mut again = Next::Wait;
        let mut outcome = Ok(());
        if !cron.is_deleting() && !cron.flag("spec.suspend") {
            match self.due(&cron) {
                Ok((last, next)) => {
                    if let Some(time) = last {
                        outcome = self.start(&mut cron, &jobs, time).await;
                    }
                    let now = self.cx.loopback.clock().now();
                    let delay = next.map(|n| Duration::try_from(n.duration_since(now)).unwrap_or_default());
                    again = delay.map_or(Next::Wait, |d| Next::After(d + Duration::from_millis(100)));
                }
                Err((reason, message)) => self.cx.events.warning(&cron, reason, message),
            }
        }
        if cron.get("status") != stored.get("status") {
            match self.cx.loopback.update(&CRON_JOBS.gvr(), Some("status"), cron).await {
                Err(error) if error.code != 404 => return Err(error),
                _ => {}
            }
        }
        outcome.map(|()| again)
    }
}
