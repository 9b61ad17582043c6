//! One key, once: what is called, and what becomes of the key.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, timeout};
use tracing::Instrument;

use super::any::Controller;
use super::catch_up::CatchUps;
use super::echo::{self, Echoes, Written};
use super::guard::{self, Guarded, Panic};
use super::loops::HotLoops;
use super::parts::Services;
use super::pausing::Pausing;
use super::primary::Primaries;
use super::sources::{self, Queue, Sources};
use super::wake::Wake;
use crate::cache::{ApplyMemory, Cached, Reader};
use crate::client::Origin;
use crate::context::{Context, Primary, Shared};
use crate::declaration::{CleanupFn, Declared, OwnEvents, StartFn};
use crate::diagnostics::{History, Observer, Outcome, Phase, Reason, Reasons, Report, WriteRecord};
use crate::error::{Error, Result};
use crate::events::{Event, EventType, Regarding};
use crate::finalizer::Leftovers;
use crate::key::ObjectKey;
use crate::metrics::ControllerMetrics;
use crate::object::Object;
use crate::pause::{self, PausedKinds};
use crate::reconciler::{Action, Reconciler};
use crate::workqueue::{Config, Item, Meanwhile, Next, RateLimit, WorkQueue};

/// Runs that are kept for each key, and keys that they are kept for.
const KEPT_RUNS: usize = 5;
const KEPT_KEYS: usize = 256;

/// A controller at work: everything that its workers share.
pub(crate) struct Core<C: Reconciler<Primary: Object> + 'static> {
    pub(super) declared: Arc<Declared>,
    pub(super) name: Arc<str>,
    pub(super) queue: Queue,
    pub(super) sources: Option<Sources>,
    /// The author's own sources, not started yet.
    pub(super) own_sources: Vec<StartFn<C>>,
    pub(super) env: crate::env::Env,
    pub(super) metrics: ControllerMetrics,
    pub(super) observers: Vec<Arc<dyn Observer>>,
    pub(super) reconciler: Arc<C>,
    cleanup: Option<CleanupFn<C>>,
    primaries: Primaries,
    /// Set while the operator is taken out of the cluster.
    leaving: Option<Leftovers>,
    shared: Shared,
    echoes: Arc<Echoes>,
    loops: Arc<HotLoops>,
    history: Arc<History>,
    pub(super) catch_ups: CatchUps,
    pub(super) paused: PausedKinds,
    pausing: Pausing,
    runs: AtomicU64,
}

/// Why a run failed.
enum Failure {
    Error(Error),
    Panic(Panic),
    Timeout(Duration),
}

/// What a run came to.
struct Ran {
    phase: Phase,
    /// uid of the object, where there was one.
    uid: Option<Arc<str>>,
    result: Result<Action, Failure>,
    writes: Vec<WriteRecord>,
}

impl<C: Reconciler<Primary: Object> + 'static> Core<C> {
    pub(super) fn new(controller: Controller<C>, services: &Services) -> Self {
        let mut declared = controller.declaration.declared().clone();
        if let Some(workers) = services.workers.get(&declared.name) {
            declared.workers = *workers;
        }
        let declared = Arc::new(declared);
        let name: Arc<str> = Arc::from(&*declared.name);
        let metrics = services.metrics.controller(&name, declared.workers);
        let queue = WorkQueue::new(queue_config(&declared, services, &metrics));
        let echoes = Arc::new(Echoes::default());
        let memory = Arc::new(ApplyMemory::new());
        let sources = sources::connect(
            &declared,
            &services.informers,
            &services.namespaces,
            &queue,
            &echoes,
            &memory,
        );
        let reader = Reader::new(sources.informers.iter().cloned());
        let field_manager = match &declared.field_manager {
            Some(manager) => Arc::from(&**manager),
            None => Arc::from(format!("{}/{name}", services.operator)),
        };
        let reporting = format!("{}/{name}", services.operator);
        let shared = Shared {
            declared: Arc::clone(&declared),
            reader: reader.clone(),
            transport: services.transport.clone(),
            memory,
            env: services.env.clone(),
            recorder: services.recorder.for_controller(reporting, declared.needs_leader),
            field_manager: Arc::clone(&field_manager),
        };
        let history = Arc::new(History::new(KEPT_RUNS, KEPT_KEYS));
        let loops = Arc::new(HotLoops::default());
        super::status::publish(&declared, &queue, &sources, &history, &loops, services);
        Self {
            leaving: services.leaving,
            primaries: Primaries {
                declared: Arc::clone(&declared),
                reader,
                transport: services.transport.clone(),
                field_manager,
            },
            cleanup: controller.declaration.cleanup(),
            own_sources: controller.declaration.sources(),
            reconciler: controller.reconciler,
            sources: Some(sources),
            env: services.env.clone(),
            observers: services.observers.clone(),
            runs: AtomicU64::new(0),
            catch_ups: services.catch_ups.clone(),
            paused: services.paused.clone(),
            pausing: Pausing::new(&declared, &shared),
            declared,
            name,
            queue,
            metrics,
            shared,
            echoes,
            loops,
            history,
        }
    }

    /// Works on one key and gives it back to the queue.
    pub(super) async fn work(&self, item: Item<ObjectKey, Wake>) {
        let Item {
            key,
            payload: Wake { mut reasons, .. },
            attempt,
            ..
        } = item;
        reasons.settle();
        let _active = self.metrics.active();
        let span = tracing::info_span!(
            "reconcile",
            controller = &*self.name,
            kind = self.declared.primary.kind(),
            namespace = &*key.namespace,
            name = &*key.name,
            attempt,
            reasons = format_args!("{reasons:#}"),
        );
        let started = Instant::now();
        let run = self.runs.fetch_add(1, Ordering::Relaxed) + 1;
        let origin = Origin::reconcile(Arc::clone(&self.name), key.clone(), run);
        // The author's code has a guard of its own; this one is for ours, so that no fault costs a worker.
        let ran = Guarded(Box::pin(self.run(&key, &origin).instrument(span.clone()))).await;
        let ran = ran.unwrap_or_else(|panic| Ran {
            phase: Phase::Reconcile,
            uid: None,
            result: Err(Failure::Panic(panic)),
            writes: Vec::new(),
        });
        span.in_scope(|| self.conclude(&key, reasons, attempt, started.elapsed(), ran));
    }

    async fn run(&self, key: &ObjectKey, origin: &Origin) -> Ran {
        let mut writes = Vec::new();
        let mut uid = None;
        let (phase, result) = match self.primaries.find(origin, key).await {
            Ok(Some(object)) => {
                uid = Some(Arc::clone(&object.header().uid));
                // Who is let go of is not held back any more.
                let paused = pause::is_paused(&object) && self.leaving != Some(Leftovers::Keep);
                if let Err(error) = self.pausing.show(origin, &object, paused, &mut writes).await {
                    (Phase::Paused, Err(Failure::Error(error.into())))
                } else if paused {
                    (Phase::Paused, Ok(Action::await_change()))
                } else if object.header().is_deleting() {
                    self.delete(object, origin, &mut writes).await
                } else {
                    self.reconcile(object, origin, &mut writes).await
                }
            }
            Ok(None) => (Phase::Gone, self.gone(key)),
            Err(error) => (Phase::Reconcile, Err(Failure::Error(error))),
        };
        Ran {
            phase,
            uid,
            result,
            writes,
        }
    }

    async fn reconcile(
        &self,
        object: Cached,
        origin: &Origin,
        writes: &mut Vec<WriteRecord>,
    ) -> (Phase, Result<Action, Failure>) {
        if let Some(leftovers) = self.leaving {
            let left = self.primaries.leave(leftovers, origin, object, writes).await;
            let result = left.map(|()| Action::await_change()).map_err(Failure::Error);
            return (Phase::Idle, result);
        }
        let object = match self.primaries.ensure_finalizers(origin, object, writes).await {
            Ok(Some(object)) => object,
            // It went, or began to go, since the cache saw it: its event wakes the key.
            Ok(None) => return (Phase::Idle, Ok(Action::await_change())),
            Err(error) => return (Phase::Reconcile, Err(Failure::Error(error))),
        };
        let called = self
            .call(object, origin, writes, |controller, object, cx| {
                Box::pin(controller.reconcile(object, cx))
            })
            .await;
        (Phase::Reconcile, called)
    }

    async fn delete(
        &self,
        object: Cached,
        origin: &Origin,
        writes: &mut Vec<WriteRecord>,
    ) -> (Phase, Result<Action, Failure>) {
        if !self.primaries.holds(object.header()) {
            return (Phase::Idle, Ok(Action::await_change()));
        }
        if let Some(cleanup) = self.cleanup {
            let called = self.call(object.clone(), origin, writes, cleanup).await;
            match called {
                Ok(action) if action.requeue_after().is_none() => {}
                other => return (Phase::Cleanup, other),
            }
        }
        let removed = self.primaries.remove_finalizers(origin, object, writes).await;
        let result = removed.map(|()| Action::await_change()).map_err(Failure::Error);
        (Phase::Cleanup, result)
    }

    /// Calls the author's code with a context, within the declared timeout.
    async fn call(
        &self,
        object: Cached,
        origin: &Origin,
        writes: &mut Vec<WriteRecord>,
        function: CleanupFn<C>,
    ) -> Result<Action, Failure> {
        let decoded: Arc<C::Primary> = match object.decode() {
            Ok(decoded) => decoded,
            // The object as it is will never decode; a change of it wakes the key.
            Err(error) => return Err(Failure::Error(Error::terminal(error))),
        };
        let primary = Primary {
            kind: self.declared.primary.clone(),
            header: object.header_arc(),
        };
        let cx = Context::new(self.shared.clone(), primary, origin.clone());
        let called = Guarded(function(&self.reconciler, decoded, &cx));
        let result = match self.declared.timeout {
            None => Ok(called.await),
            Some(limit) => timeout(limit, called).await.map_err(|_| limit),
        };
        writes.extend(cx.take_writes());
        match result {
            Ok(Ok(Ok(action))) => Ok(action),
            Ok(Ok(Err(error))) => Err(Failure::Error(error)),
            Ok(Err(panic)) => Err(Failure::Panic(panic)),
            Err(limit) => Err(Failure::Timeout(limit)),
        }
    }

    fn gone(&self, key: &ObjectKey) -> Result<Action, Failure> {
        self.shared.memory.forget(&self.declared.primary, key);
        self.pausing.forget(key);
        match guard::call(|| self.reconciler.gone(key)) {
            Ok(()) => Ok(Action::await_change()),
            Err(panic) => Err(Failure::Panic(panic)),
        }
    }

    /// Tells everyone who wants to know, then gives the key back: in that order, so that the reports of one key are in
    /// the order of its runs.
    fn conclude(&self, key: &ObjectKey, reasons: Reasons, attempt: u32, duration: Duration, ran: Ran) {
        let Ran {
            phase,
            uid,
            result,
            writes,
        } = ran;
        let outcome = self.outcome(key, attempt, result);
        let next = match &outcome {
            _ if phase == Phase::Gone && outcome.is_success() => Next::Forget,
            Outcome::Done | Outcome::Terminal { .. } => Next::Settled,
            Outcome::Requeue(delay) => Next::After(*delay, Wake::binding(Reason::Requeue)),
            Outcome::Error { retry_in, .. }
            | Outcome::Panicked { retry_in, .. }
            | Outcome::TimedOut { retry_in, .. } => Next::Backoff {
                delay: *retry_in,
                due: Wake::binding(Reason::Retry(attempt)),
            },
        };
        let failed = matches!(next, Next::Backoff { .. });
        let skips = self.declared.own_events == OwnEvents::Skip && outcome.is_success() && !echo::any_failed(&writes);
        let written = echo::written(&writes, skips);
        if matches!(next, Next::Forget) {
            self.echoes.forget(key);
            self.loops.forget(key);
        } else {
            self.echoes.remember(key, failed, written.clone());
        }
        if outcome.is_success() {
            self.watch_for_loops(key, uid, &reasons, &written);
        }
        let known = phase != Phase::Gone || reasons.as_slice().iter().any(|reason| self.is_deletion_of(reason, key));
        if known || !outcome.is_success() {
            let kind = self.declared.primary.clone();
            let mut report = Report::new(Arc::clone(&self.name), kind, key.clone(), phase, outcome);
            report.reasons = reasons;
            report.writes = writes;
            report.duration = duration;
            report.attempt = attempt;
            self.tell(report);
        }
        self.queue.done_with(key, next, |meanwhile: &mut Wake| {
            // Asked in this order, since both mark what is the run's own.
            if skips && echo::all_made(&mut meanwhile.reasons, &written) && !meanwhile.binding {
                Meanwhile::Drops
            } else if echo::all_own(&mut meanwhile.reasons, &written) && failed {
                Meanwhile::Waits
            } else {
                Meanwhile::Runs
            }
        });
    }

    /// Reports a key that goes round and round, once.
    fn watch_for_loops(&self, key: &ObjectKey, uid: Option<Arc<str>>, reasons: &Reasons, written: &[Written]) {
        let wrote = written.iter().any(Written::changed);
        let Some(found) = self.loops.ran(key, reasons, wrote, self.env.now()) else {
            return;
        };
        tracing::warn!("hot loop: {found}");
        self.shared.recorder.record(Event {
            event_type: EventType::Warning,
            reason: "HotLoop".to_owned(),
            action: "Reconcile".to_owned(),
            note: found.to_string(),
            regarding: Regarding {
                kind: self.declared.primary.clone(),
                key: key.clone(),
                uid: uid.unwrap_or_else(|| Arc::from("")),
            },
            related: None,
        });
    }

    fn outcome(&self, key: &ObjectKey, attempt: u32, result: Result<Action, Failure>) -> Outcome {
        let failure = match result {
            Ok(action) => return action.requeue_after().map_or(Outcome::Done, Outcome::Requeue),
            Err(Failure::Error(error)) if error.is_terminal() => {
                return Outcome::Terminal {
                    message: error.to_string(),
                };
            }
            Err(failure) => failure,
        };
        let retry_in = self.queue.backoff(key);
        match failure {
            Failure::Error(error) => Outcome::Error {
                message: error.to_string(),
                retry_in,
            },
            Failure::Panic(panic) => {
                // Once per streak: a key that panics each time would fill the log with the same trace.
                if attempt == 1 {
                    let backtrace = panic.backtrace.as_deref().unwrap_or("");
                    tracing::error!("the reconciler panicked: {panic}\n{backtrace}");
                }
                Outcome::Panicked {
                    message: panic.to_string(),
                    retry_in,
                }
            }
            Failure::Timeout(after) => Outcome::TimedOut { after, retry_in },
        }
    }

    fn tell(&self, report: Report) {
        self.metrics.record(&report);
        if report.outcome.is_success() {
            tracing::debug!(reasons = %report.reasons, phase = %report.phase, took = ?report.duration, "{}", report.outcome);
        } else if !matches!(report.outcome, Outcome::Panicked { .. }) || report.attempt > 1 {
            tracing::error!(reasons = %report.reasons, phase = %report.phase, took = ?report.duration, "{}", report.outcome);
        }
        for observer in &self.observers {
            if let Err(panic) = guard::call(|| observer.reconciled(&report)) {
                tracing::error!("an observer panicked: {panic}");
            }
        }
        self.history.push(report);
    }

    fn is_deletion_of(&self, reason: &Reason, key: &ObjectKey) -> bool {
        matches!(reason, Reason::Deleted { kind, key: gone } if *kind == self.declared.primary && gone == key)
    }
}

fn queue_config(declared: &Declared, services: &Services, metrics: &ControllerMetrics) -> Config<ObjectKey> {
    let env = services.env.clone();
    Config {
        backoff_min: declared.backoff.min,
        backoff_max: declared.backoff.max,
        rate_limit: declared.rate_limit.map(|limit| RateLimit {
            per_second: limit.per_second,
            burst: limit.burst,
        }),
        group: Arc::new(|key: &ObjectKey| Arc::clone(&key.namespace)),
        random: Arc::new(move || env.fraction()),
        hooks: Arc::new(metrics.clone()),
        ..Config::default()
    }
}
