//! A fault in force.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use kubewright::Env;
use kubewright::dev::apiserver::http::log::EventRecord;
use tokio::task::JoinHandle;

use super::effect::{AnyEffect, OnWatch};
use super::rule::Rule;
use crate::RequestRecord;
use crate::story::Story;

/// One fault from its injection on, and what became of it.
#[derive(Debug)]
pub(crate) struct Active {
    pub(super) effect: AnyEffect,
    pub(super) rule: Rule,
    story: Story,
    randomness: Env,
    counts: Mutex<Counts>,
    /// The watches that a lagging view fits, and those that were put behind it.
    entered: Mutex<Counts>,
    healed: AtomicBool,
    /// The last revision that a lagging view shows.
    level: AtomicU64,
    driver: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Counts {
    fitting: u64,
    fired: u64,
}

impl Active {
    pub(super) fn new(effect: AnyEffect, rule: Rule, story: Story, seed: u64) -> Self {
        Self {
            effect,
            rule,
            story,
            randomness: Env::seeded(Timestamp::UNIX_EPOCH, seed),
            counts: Mutex::default(),
            entered: Mutex::default(),
            healed: AtomicBool::new(false),
            level: AtomicU64::new(u64::MAX),
            driver: Mutex::default(),
        }
    }

    /// What it is, in one line.
    pub(super) fn text(&self) -> String {
        format!("{}{}", self.effect, self.rule)
    }

    /// Counts one more request or event that the rule fits, and tells whether it is hit. Nothing is told to the story.
    pub(super) fn hits(&self) -> bool {
        if self.is_healed() {
            return false;
        }
        let mut counts = self.counts();
        counts.fitting += 1;
        let hit = self
            .rule
            .chooses(counts.fitting, counts.fired, || self.randomness.fraction());
        counts.fired += u64::from(hit);
        hit
    }

    /// Counts one more watch that a lagging view fits, and tells whether it is put behind it.
    pub(super) fn enters(&self) -> bool {
        if self.is_healed() {
            return false;
        }
        let mut entered = self.entered.lock().unwrap_or_else(PoisonError::into_inner);
        entered.fitting += 1;
        let enters = self
            .rule
            .chooses(entered.fitting, entered.fired, || self.randomness.fraction());
        entered.fired += u64::from(enters);
        enters
    }

    /// Counts a change that a view holds back.
    pub(super) fn held_back(&self) {
        let mut counts = self.counts();
        counts.fitting += 1;
        counts.fired += 1;
    }

    pub(super) fn tell(&self, what: &str) {
        self.story.fault(&self.text(), what);
    }

    pub(super) fn fitting(&self) -> u64 {
        self.counts().fitting
    }

    pub(super) fn fired(&self) -> u64 {
        self.counts().fired
    }

    /// Whether it lags views.
    pub(super) fn is_view(&self) -> bool {
        matches!(self.effect, AnyEffect::Watch(OnWatch::View(_)))
    }

    pub(super) fn level(&self) -> u64 {
        self.level.load(Ordering::SeqCst)
    }

    pub(super) fn set_level(&self, revision: u64) {
        self.level.store(revision, Ordering::SeqCst);
    }

    pub(super) fn drive(&self, driver: JoinHandle<()>) {
        *self.driver.lock().unwrap_or_else(PoisonError::into_inner) = Some(driver);
    }

    pub(super) fn is_healed(&self) -> bool {
        self.healed.load(Ordering::SeqCst)
    }

    /// True if it was in force.
    pub(super) fn heal(&self) -> bool {
        self.set_level(u64::MAX);
        if let Some(driver) = self.driver.lock().unwrap_or_else(PoisonError::into_inner).take() {
            driver.abort();
        }
        !self.healed.swap(true, Ordering::SeqCst)
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        self.heal();
    }
}

/// `a: patch deployments default/hello`.
pub(super) fn describe(request: &RequestRecord) -> String {
    let who = super::who(request);
    let place = if request.resource.is_empty() {
        request.path.clone()
    } else if request.subresource.is_empty() {
        request.resource.clone()
    } else {
        format!("{}/{}", request.resource, request.subresource)
    };
    let object = match (&*request.namespace, &*request.name) {
        ("", "") => String::new(),
        ("", name) => format!(" {name}"),
        (namespace, "") => format!(" in {namespace}"),
        (namespace, name) => format!(" {namespace}/{name}"),
    };
    format!("{who}: {} {place}{object}", request.verb)
}

/// `a: MODIFIED deployments default/hello @57`.
pub(super) fn describe_event(who: &str, event: &EventRecord<'_>) -> String {
    let object = match event.key {
        Some(key) if key.namespace.is_empty() => format!(" {}", key.name),
        Some(key) => format!(" {}/{}", key.namespace, key.name),
        None => String::new(),
    };
    format!(
        "{who}: {} {}{object} @{}",
        event.kind, event.resource.plural, event.revision
    )
}
