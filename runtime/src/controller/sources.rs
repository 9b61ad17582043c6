//! From changes to keys: what a controller's watches wake.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::sync::mpsc;

use super::echo::{Echo, Echoes};
use super::guard;
use super::wake::{Wake, may_be_dropped};
use crate::cache::{ApplyMemory, Informer, InformerSpec, Informers, WeakInformer};
use crate::declaration::{Declared, Index, OwnEvents, PrimaryIndex, Role, WatchDecl};
use crate::delta::Delta;
use crate::diagnostics::Reason;
use crate::handler;
use crate::key::ObjectKey;
use crate::workqueue::{Class, WorkQueue};

/// Keys of the primary kind, with why they were woken.
pub(super) type Queue = WorkQueue<ObjectKey, Wake>;

/// Map functions that wait, each a future that wakes keys when done.
type Mapping = BoxFuture<'static, ()>;

/// How many map functions of one controller may wait at once; more wait their turn.
const MAPPING_AT_ONCE: usize = 64;

/// What the watches of a controller come to.
pub(super) struct Sources {
    pub(super) informers: Vec<Informer>,
    /// Those among them that hold primary objects.
    pub(super) primaries: Vec<Informer>,
    pub(super) mappings: Mappings,
}

/// Registers the controller's watches and lets their changes wake keys in `queue`.
pub(super) fn connect(
    declared: &Arc<Declared>,
    registry: &Informers,
    namespaces: &[String],
    queue: &Queue,
    echoes: &Arc<Echoes>,
    memory: &Arc<ApplyMemory>,
) -> Sources {
    let (started, mappings) = mpsc::unbounded_channel();
    let mut sources = Sources {
        informers: Vec::new(),
        primaries: Vec::new(),
        mappings: Mappings(mappings),
    };
    for watch in &declared.watches {
        let source = Source {
            declared: Arc::clone(declared),
            watch: watch.clone(),
            queue: queue.clone(),
            echoes: Arc::clone(echoes),
            memory: Arc::clone(memory),
            started: started.clone(),
            alone: declared.watches.iter().filter(|other| other.kind == watch.kind).count() == 1,
            primaries: primary_index(&declared.name, &sources.primaries),
        };
        let source = Arc::new(source);
        for informer in informers_of(watch, declared, registry, namespaces) {
            let source = Arc::clone(&source);
            informer.subscribe(Arc::new(move |delta: &Delta| source.hear(delta)));
            if matches!(watch.role, Role::Primary) {
                if declared.watches.iter().any(|watch| watch.role.is_tracked()) {
                    let name = Index::name_in_cache(&declared.name, handler::BY_UID);
                    informer.add_index(&name, Arc::new(|object| vec![object.header().uid.to_string()]));
                }
                sources.primaries.push(informer.clone());
            }
            sources.informers.push(informer);
        }
    }
    sources
}

/// Registers the controller's watches, and lets nothing happen yet.
pub(super) fn register(declared: &Declared, registry: &Informers, namespaces: &[String]) -> Vec<Informer> {
    let each = declared.watches.iter();
    each.flat_map(|watch| informers_of(watch, declared, registry, namespaces))
        .collect()
}

/// The informers that a controller will ask for.
pub(crate) fn planned(declared: &Declared, namespaces: &[String]) -> Vec<InformerSpec> {
    declared
        .watches
        .iter()
        .flat_map(|watch| specs(watch, namespaces))
        .collect()
}

/// The map functions of a controller that have begun to wait.
pub(super) struct Mappings(mpsc::UnboundedReceiver<Mapping>);

impl Mappings {
    /// Drives waiting map functions until the controller's sources are gone.
    pub(super) async fn run(mut self) {
        let mut waiting: FuturesUnordered<Mapping> = FuturesUnordered::new();
        let mut open = true;
        while open || !waiting.is_empty() {
            tokio::select! {
                biased;
                Some(()) = waiting.next(), if !waiting.is_empty() => {}
                next = self.0.recv(), if open && waiting.len() < MAPPING_AT_ONCE => match next {
                    Some(mapping) => waiting.push(mapping),
                    None => open = false,
                },
            }
        }
    }
}

/// One watch of one controller.
struct Source {
    declared: Arc<Declared>,
    watch: WatchDecl,
    queue: Queue,
    echoes: Arc<Echoes>,
    memory: Arc<ApplyMemory>,
    started: mpsc::UnboundedSender<Mapping>,
    /// Whether no other watch of the controller hears of the same objects.
    alone: bool,
    /// For map functions that go through an index.
    primaries: PrimaryIndex,
}

impl Source {
    /// Called in the informer's task, which all controllers share: the author's code may neither panic nor wait here.
    fn hear(self: &Arc<Self>, delta: &Delta) {
        if delta.new.is_none() {
            self.memory.forget(&delta.kind, &delta.key);
        }
        let passes = guard::call(|| handler::passes(delta, &self.watch, self.declared.event_filter.as_ref()));
        match passes {
            Ok(true) => {}
            Ok(false) => return,
            Err(panic) => self.complain("its predicate panicked, so the change counts as passed", delta, &panic),
        }
        match &self.watch.role {
            Role::Primary => self.wake(delta.key.clone(), delta),
            Role::Owned => {
                for key in handler::owners(delta, &self.declared.primary) {
                    self.wake(key, delta);
                }
            }
            Role::Tracked => {
                for key in handler::trackers(delta, &self.primaries) {
                    self.wake(key, delta);
                }
            }
            Role::Watched(_) => self.map(delta),
        }
    }

    fn wake(&self, key: ObjectKey, delta: &Delta) {
        let is_primary = matches!(self.watch.role, Role::Primary);
        let class = handler::class(delta, is_primary);
        let mut reason = handler::reason(delta);
        let echo = self.echoes.hear(&key, delta, self.alone);
        if echo != Echo::No {
            reason.mark_own();
        }
        let skips = self.declared.own_events == OwnEvents::Skip;
        match echo {
            Echo::OfSuccess { made: true } if skips && may_be_dropped(delta, is_primary) => {}
            Echo::No => self.queue.add(key, class, Wake::by(reason, delta, is_primary)),
            Echo::OfFailure => self
                .queue
                .add_patiently(key, class, Wake::by(reason, delta, is_primary)),
            // A run that began after the write was answered reads what was written: it is the one run more.
            Echo::Covered => {}
            Echo::OfSuccess { .. } => self
                .queue
                .add_unless_running(key, class, Wake::by(reason, delta, is_primary)),
        }
    }

    /// Asks the map function. One that does not wait is done at once; one that waits goes on elsewhere.
    fn map(self: &Arc<Self>, delta: &Delta) {
        let source = Arc::clone(self);
        let delta = delta.clone();
        let mut mapping: Mapping = Box::pin(async move {
            let Role::Watched(mapper) = &source.watch.role else {
                return;
            };
            let asked = guard::Guarded(Box::pin(handler::mapped(&delta, mapper, &source.primaries))).await;
            match asked {
                Ok((keys, failure)) => {
                    for key in keys {
                        source.wake(key, &delta);
                    }
                    if let Some(error) = failure {
                        source.complain("its map function failed, so that version wakes nothing", &delta, &error);
                    }
                }
                Err(panic) => source.complain("its map function panicked, so it wakes nothing", &delta, &panic),
            }
        });
        if (&mut mapping).now_or_never().is_none() {
            // Fails only when the controller has ended.
            let _ = self.started.send(mapping);
        }
    }

    fn complain(&self, what: &str, delta: &Delta, why: &dyn std::fmt::Display) {
        tracing::error!(
            controller = self.declared.name,
            "{} {} changed; {what}: {why}",
            delta.kind.kind(),
            delta.key
        );
    }
}

/// The informers of a watch, with its indexes.
fn informers_of(watch: &WatchDecl, declared: &Declared, registry: &Informers, namespaces: &[String]) -> Vec<Informer> {
    let each = specs(watch, namespaces).into_iter().map(|spec| {
        let informer = registry.informer(&spec);
        for index in &watch.indexes {
            let name = Index::name_in_cache(&declared.name, &index.name);
            // Kept up already where the cache was filled before the replica led.
            if informer.index(&name).is_none() {
                informer.add_index(&name, Arc::clone(&index.function));
            }
        }
        informer
    });
    each.collect()
}

/// The indexes of the primary kind. It holds the informers weakly: they hold who is told of their changes.
fn primary_index(controller: &str, primaries: &[Informer]) -> PrimaryIndex {
    let informers: Vec<WeakInformer> = primaries.iter().map(Informer::downgrade).collect();
    let controller = controller.to_owned();
    PrimaryIndex::new(move |index, value| {
        let name = Index::name_in_cache(&controller, index);
        let mut found = None;
        for informer in informers.iter().filter_map(WeakInformer::upgrade) {
            if let Some(keys) = informer.keys_by_index(&name, value) {
                found.get_or_insert_with(Vec::new).extend(keys);
            }
        }
        found
    })
}

/// The informers that a watch needs: one, or one for each namespace.
fn specs(watch: &WatchDecl, namespaces: &[String]) -> Vec<InformerSpec> {
    let all = InformerSpec::all(&watch.kind)
        .labels(watch.labels.clone())
        .fields(watch.fields.clone())
        .metadata_only(watch.metadata_only)
        .strip(watch.strip.iter().cloned());
    if namespaces.is_empty() || !watch.kind.namespaced() {
        return vec![all];
    }
    let each = namespaces
        .iter()
        .map(|namespace| all.clone().namespace(Some(namespace)));
    each.collect()
}

/// Wakes every primary object for a resync, spread over `within`.
pub(super) fn resync(primaries: &[Informer], queue: &Queue, within: std::time::Duration, random: impl Fn() -> f64) {
    for informer in primaries {
        for key in informer.keys() {
            let delay = within.mul_f64(random());
            queue.add_after(key, delay, Class::Background, Wake::binding(Reason::Resync));
        }
    }
}
