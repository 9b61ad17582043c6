//! Views that lag: how far each one shows the server's history, and when.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::StreamExt;
use kubewright::dev::apiserver::storage::{Change, Horizon, Interest, Overflow, Store};
use tokio::time::{Instant, sleep_until};

use super::active::Active;
use super::director::Faults;
use super::effect::{AnyEffect, OnWatch};

/// The longest delay: a year, which is more than any test lasts, and can be added to any time.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// So many events, as a delay: see [`Fault::watch_delayed`](super::Fault::watch_delayed).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Events(pub u64);

/// By how much a view lags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delay {
    /// Each change is shown once so many more of the same resource have followed.
    Events(u64),
    /// Each change is shown so much later.
    Time(Duration),
}

impl Delay {
    pub(super) fn check(self) {
        let nothing = match self {
            Self::Events(events) => events == 0,
            Self::Time(time) => time.is_zero(),
        };
        assert!(!nothing, "Fault::watch_delayed: a delay of nothing delays nothing");
        let endless = matches!(self, Self::Time(time) if time > LONGEST);
        assert!(
            !endless,
            "Fault::watch_delayed: a delay of {self} never ends; write `Fault::watch_frozen()`"
        );
    }
}

impl From<Events> for Delay {
    fn from(Events(events): Events) -> Self {
        Self::Events(events)
    }
}

impl From<Duration> for Delay {
    fn from(time: Duration) -> Self {
        Self::Time(time)
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Events(1) => f.write_str("1 event"),
            Self::Events(events) => write!(f, "{events} events"),
            Self::Time(time) => write!(f, "{time:?}"),
        }
    }
}

/// Moves a lagging view along with what is written, until the fault is gone.
pub(super) async fn drive(fault: Weak<Active>, faults: Faults, store: Store) {
    let Some(delay) = fault.upgrade().and_then(|active| match &active.effect {
        AnyEffect::Watch(OnWatch::View(delay)) => Some(*delay),
        _ => None,
    }) else {
        return;
    };
    // What lies behind the view has to outlive compaction.
    let reach = Horizon::at(store.revision());
    store.keep_for(&reach);
    let Ok(mut changes) = store.subscribe(Interest::Everything, store.revision(), Overflow::Grow) else {
        return;
    };
    let mut withheld = Withheld::default();
    loop {
        let due = match delay {
            Some(Delay::Time(_)) => withheld.due(),
            _ => None,
        };
        let change = tokio::select! {
            biased;
            change = changes.next() => change,
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                let Some(fault) = fault.upgrade() else { return };
                let shown = withheld.show_due();
                show(&fault, &faults, &reach, shown);
                continue;
            }
        };
        let (Some(change), Some(fault)) = (change, fault.upgrade()) else {
            return;
        };
        let fits = change
            .object()
            .is_some_and(|object| fault.rule.fits_stored(&object.key.resource));
        if fits && faults.held_by(&fault) > 0 {
            fault.held_back();
            fault.tell(&format!("{} is held back", describe(&change)));
        }
        match delay {
            None => {}
            Some(Delay::Time(time)) => withheld.push(change.revision, Instant::now() + time),
            Some(Delay::Events(events)) => {
                withheld.last = change.revision;
                if fits {
                    withheld.push(change.revision, Instant::now());
                }
                let shown = withheld.show_all_but(events);
                show(&fault, &faults, &reach, shown);
            }
        }
    }
}

fn show(fault: &Arc<Active>, faults: &Faults, reach: &Horizon, revision: u64) {
    if revision > fault.level() {
        fault.set_level(revision);
        reach.set(revision);
        faults.show();
    }
}

/// `MODIFIED deployments.apps default/hello @57`.
fn describe(change: &Change) -> String {
    let kind = match (&change.old, &change.new) {
        (None, _) => "ADDED",
        (Some(_), Some(_)) => "MODIFIED",
        (Some(_), None) => "DELETED",
    };
    let Some(object) = change.object() else {
        return kind.to_owned();
    };
    let key = &object.key;
    let slash = if key.namespace.is_empty() { "" } else { "/" };
    format!(
        "{kind} {} {}{slash}{} @{}",
        key.resource, key.namespace, key.name, change.revision
    )
}

/// The revisions that are not shown yet, oldest first.
#[derive(Debug, Default)]
struct Withheld {
    queue: VecDeque<(u64, Instant)>,
    /// The last revision there is.
    last: u64,
}

impl Withheld {
    fn push(&mut self, revision: u64, due: Instant) {
        self.last = revision;
        self.queue.push_back((revision, due));
    }

    fn due(&self) -> Option<Instant> {
        self.queue.front().map(|(_, due)| *due)
    }

    /// Shows what is due; answers the last revision that is shown.
    fn show_due(&mut self) -> u64 {
        let now = Instant::now();
        while self.queue.front().is_some_and(|(_, due)| *due <= now) {
            self.queue.pop_front();
        }
        self.shown()
    }

    fn show_all_but(&mut self, events: u64) -> u64 {
        while u64::try_from(self.queue.len()).is_ok_and(|held| held > events) {
            self.queue.pop_front();
        }
        self.shown()
    }

    fn shown(&self) -> u64 {
        self.queue.front().map_or(self.last, |(revision, _)| revision - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_shown_ends_right_before_the_oldest_that_is_withheld() {
        let mut withheld = Withheld::default();
        for (revision, due) in [(5, 10), (8, 20)] {
            withheld.push(revision, Instant::now() + Duration::from_secs(due));
        }
        assert_eq!(withheld.show_due(), 4);
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(withheld.show_due(), 7);
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(withheld.show_due(), 8);
        for revision in [11, 12, 15] {
            withheld.push(revision, Instant::now());
        }
        assert_eq!(withheld.show_all_but(3), 10);
        assert_eq!(withheld.show_all_but(2), 11);
        assert_eq!(withheld.show_all_but(1), 14);
    }
}
