//! Gives every request and watch event to the faults that are in force.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use kubewright::dev::apiserver::http::intercept::{Delivery, Interceptor, Verdict, Verdicts, WatchInterceptor};
use kubewright::dev::apiserver::http::log::EventRecord;
use kubewright::dev::apiserver::storage::{Horizon, Store};

use super::active::{Active, describe, describe_event};
use super::effect::{AnyEffect, Effect, Happening, OnRequest, OnWatch, expired_watch};
use super::handle::FaultHandle;
use super::rule::who;
use super::{Fault, view};
use crate::RequestRecord;
use crate::story::Story;

/// All faults of a cluster, in the order of their injection: of several that hit one request, the first decides. Clones
/// share them.
#[derive(Clone, Debug)]
pub(crate) struct Faults(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    story: Story,
    seed: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    injected: u64,
    active: Vec<Arc<Active>>,
    watches: Vec<Weak<OpenWatch>>,
}

/// A watch that is open.
#[derive(Debug)]
struct OpenWatch {
    faults: Weak<Inner>,
    request: RequestRecord,
    horizon: Horizon,
    /// The lagging views that it looks through.
    views: Mutex<Vec<Arc<Active>>>,
}

impl Faults {
    pub(crate) fn new(story: Story, seed: u64) -> Self {
        Self(Arc::new(Inner {
            story,
            seed,
            state: Mutex::default(),
        }))
    }

    /// Puts a fault into force.
    ///
    /// # Panics
    ///
    /// When it contradicts itself.
    pub(crate) fn inject<E: Effect>(&self, fault: Fault<E>, store: &Store) -> FaultHandle {
        fault.effect.check(&fault.rule);
        let active = {
            let mut state = self.0.state();
            state.injected += 1;
            let seed = self
                .0
                .seed
                .wrapping_add(state.injected.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let active = Arc::new(Active::new(
                fault.effect.erase(),
                fault.rule,
                self.0.story.clone(),
                seed,
            ));
            state.active.push(Arc::clone(&active));
            active
        };
        if active.is_view() {
            active.set_level(store.revision());
            for watch in self.watches() {
                self.0.enter(&active, &watch);
            }
            active.drive(tokio::spawn(view::drive(
                Arc::downgrade(&active),
                self.clone(),
                store.clone(),
            )));
        }
        FaultHandle::new(active, self.clone())
    }

    /// Every fault that was injected and is not healed.
    pub(crate) fn handles(&self) -> Vec<FaultHandle> {
        let active = self.0.active();
        active
            .into_iter()
            .map(|active| FaultHandle::new(active, self.clone()))
            .collect()
    }

    pub(super) fn heal(&self, fault: &Arc<Active>) {
        if !fault.heal() {
            return;
        }
        fault.tell("is healed");
        self.0.state().active.retain(|other| !Arc::ptr_eq(other, fault));
        if fault.is_view() {
            self.show();
        }
    }

    /// Lets every watch see what its views show now.
    pub(super) fn show(&self) {
        for watch in self.watches() {
            watch.show();
        }
    }

    /// How many watches look through a view.
    pub(super) fn held_by(&self, fault: &Arc<Active>) -> usize {
        let watches = self.watches();
        watches
            .iter()
            .filter(|watch| watch.views().iter().any(|view| Arc::ptr_eq(view, fault)))
            .count()
    }

    /// Breaks the connection of every open watch that `which` picks; tells how many there were.
    pub(crate) fn cut_watches(&self, which: impl Fn(&RequestRecord) -> bool) -> usize {
        let watches = self.watches();
        let picked = watches.iter().filter(|watch| which(&watch.request));
        picked.map(|watch| watch.horizon.cut()).count()
    }

    fn watches(&self) -> Vec<Arc<OpenWatch>> {
        let mut state = self.0.state();
        state.watches.retain(|watch| watch.strong_count() > 0);
        state.watches.iter().filter_map(Weak::upgrade).collect()
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn active(&self) -> Vec<Arc<Active>> {
        self.state().active.clone()
    }

    fn hit_by_default(&self, request: &RequestRecord) -> bool {
        self.story.is_replica(who(request))
    }

    /// Those of the faults of requests that fit a request and come now.
    fn fitting(&self, request: &RequestRecord, after: bool) -> Vec<(Arc<Active>, OnRequest)> {
        let by_default = self.hit_by_default(request);
        let fits = |active: Arc<Active>| match &active.effect {
            AnyEffect::Request(effect)
                if (if after {
                    effect.comes_after(request)
                } else {
                    !effect.after
                }) && effect.can_befall(request)
                    && active.rule.fits(request, by_default) =>
            {
                let effect = effect.clone();
                Some((active, effect))
            }
            _ => None,
        };
        self.active().into_iter().filter_map(fits).collect()
    }

    async fn judge(&self, request: &RequestRecord, after: bool) -> Verdict {
        for (active, effect) in self.fitting(request, after) {
            if !active.hits() {
                continue;
            }
            let what = describe(request);
            let effect_took = if after { " took effect, and" } else { "" };
            match &effect.happening {
                Happening::Slow(by) => {
                    active.tell(&format!("{what}{effect_took} waits {by:?}"));
                    tokio::time::sleep(*by).await;
                }
                Happening::Answer(answer) => {
                    let error = answer.error(request);
                    active.tell(&format!("{what}{effect_took} is answered {}", error.code));
                    return Verdict::Answer(Box::new(error));
                }
                Happening::Cut => {
                    active.tell(&format!("{what}{effect_took} loses its connection"));
                    return Verdict::Cut;
                }
                Happening::Refuse => {
                    active.tell(&format!("{what} finds nobody listening"));
                    return Verdict::Refuse;
                }
                Happening::Lose => {
                    active.tell(&format!("{what}{effect_took} is never answered"));
                    return Verdict::Lose;
                }
            }
        }
        Verdict::Pass
    }

    /// Puts a watch behind a lagging view, if its rule says so.
    fn enter(&self, fault: &Arc<Active>, watch: &OpenWatch) {
        if fault.is_view()
            && fault
                .rule
                .fits_watch(&watch.request, self.hit_by_default(&watch.request))
            && fault.enters()
        {
            watch.views().push(Arc::clone(fault));
            watch.show();
        }
    }
}

impl Interceptor for Faults {
    fn before<'a>(&'a self, request: &'a RequestRecord) -> Verdicts<'a> {
        Box::pin(self.0.judge(request, false))
    }

    fn after<'a>(&'a self, request: &'a RequestRecord) -> Verdicts<'a> {
        Box::pin(self.0.judge(request, true))
    }

    fn list(&self, request: &RequestRecord) -> Option<Horizon> {
        let by_default = self.0.hit_by_default(request);
        let views = self.0.active().into_iter();
        let fitting = views.filter(|fault| fault.is_view() && fault.rule.fits_watch(request, by_default));
        let level = fitting.map(|fault| fault.level()).min()?;
        Some(Horizon::at(level))
    }

    fn watch(&self, request: &RequestRecord) -> Option<Arc<dyn WatchInterceptor>> {
        let watch = Arc::new(OpenWatch {
            faults: Arc::downgrade(&self.0),
            request: request.clone(),
            horizon: Horizon::open(),
            views: Mutex::default(),
        });
        self.0.state().watches.push(Arc::downgrade(&watch));
        for fault in self.0.active() {
            self.0.enter(&fault, &watch);
        }
        Some(watch)
    }
}

impl OpenWatch {
    fn views(&self) -> MutexGuard<'_, Vec<Arc<Active>>> {
        self.views.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show(&self) {
        let level = {
            let mut views = self.views();
            views.retain(|view| !view.is_healed());
            views.iter().map(|view| view.level()).min().unwrap_or(u64::MAX)
        };
        if level != self.horizon.revision() {
            self.horizon.set(level);
        }
    }
}

impl WatchInterceptor for OpenWatch {
    fn horizon(&self) -> Horizon {
        self.horizon.clone()
    }

    fn event(&self, event: &EventRecord<'_>) -> Delivery {
        let Some(faults) = self.faults.upgrade() else {
            return Delivery::Pass;
        };
        let by_default = faults.hit_by_default(&self.request);
        for active in faults.active() {
            let AnyEffect::Watch(effect) = &active.effect else {
                continue;
            };
            if active.is_view()
                || !active.rule.fits_watch(&self.request, by_default)
                || !active.rule.fits_event(event)
                || !active.hits()
            {
                continue;
            }
            let what = describe_event(who(&self.request), event);
            let (delivery, how) = match effect {
                OnWatch::CutBefore => (Delivery::CutBefore, "is lost with its connection"),
                OnWatch::CutAfter => (Delivery::CutAfter, "is the last on its connection"),
                OnWatch::Twice => (Delivery::Twice, "comes twice"),
                OnWatch::Expired => (Delivery::Fail(Box::new(expired_watch())), "is replaced by 410"),
                OnWatch::View(_) => continue,
            };
            active.tell(&format!("{what} {how}"));
            return delivery;
        }
        Delivery::Pass
    }
}
