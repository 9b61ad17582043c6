//! The seeded run that this thread is in.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::latency::Latency;

/// 2026-01-01T00:00:00Z: every test begins at the same moment unless it asks for another.
const START: i64 = 1_767_225_600;

thread_local! {
    static CURRENT: RefCell<Option<Arc<Context>>> = const { RefCell::new(None) };
}

/// When tests begin.
pub(crate) fn start() -> Timestamp {
    Timestamp::from_second(START).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// The run that this thread is in, if it is in one. A run has one thread.
pub(crate) fn current() -> Option<Arc<Context>> {
    CURRENT.with_borrow(Clone::clone)
}

/// Why a run was given up, and when by its own time.
#[derive(Clone, Debug)]
pub(super) struct GivenUp {
    pub(super) why: String,
    pub(super) at: Timestamp,
}

/// What everything in a run starts from, and the stories that it leaves.
pub(crate) struct Context {
    pub(crate) seed: u64,
    pub(crate) latency: Latency,
    base: Timestamp,
    started: Instant,
    stories: Mutex<Vec<Box<dyn Fn() -> String + Send>>>,
    given_up: Mutex<Option<GivenUp>>,
    gives_up: Notify,
}

impl Context {
    /// A run that starts now; makes it the current one of this thread. Its clock is tokio's.
    pub(super) fn enter(seed: u64, latency: Latency, base: Timestamp) -> Arc<Self> {
        let context = Arc::new(Self {
            seed,
            latency,
            base,
            started: Instant::now(),
            stories: Mutex::default(),
            given_up: Mutex::default(),
            gives_up: Notify::new(),
        });
        CURRENT.set(Some(Arc::clone(&context)));
        context
    }

    pub(super) fn leave() {
        CURRENT.set(None);
    }

    /// How much of the run's time has passed.
    pub(super) fn passed(&self) -> Duration {
        self.started.elapsed()
    }

    /// The run's wall-clock time.
    pub(crate) fn now(&self) -> Timestamp {
        self.after(self.passed())
    }

    /// The run's wall-clock time when so much of it had passed.
    pub(super) fn after(&self, passed: Duration) -> Timestamp {
        self.base.checked_add(passed).unwrap_or(Timestamp::MAX)
    }

    /// Ends the run: it would go on for ever. The first reason counts.
    pub(crate) fn give_up(&self, why: String) {
        let at = self.now();
        self.state_of_giving_up().get_or_insert(GivenUp { why, at });
        self.gives_up.notify_one();
    }

    /// Why the run was given up, if it was.
    pub(super) fn is_given_up(&self) -> Option<GivenUp> {
        self.state_of_giving_up().clone()
    }

    /// Waits until the run is given up, and tells why.
    pub(super) async fn given_up(&self) -> GivenUp {
        loop {
            match self.is_given_up() {
                Some(given_up) => return given_up,
                None => self.gives_up.notified().await,
            }
        }
    }

    fn state_of_giving_up(&self) -> MutexGuard<'_, Option<GivenUp>> {
        self.given_up.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a cluster's story, which is asked for once the run has ended.
    pub(crate) fn add_story(&self, story: impl Fn() -> String + Send + 'static) {
        self.stories
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Box::new(story));
    }

    /// The stories of all clusters, in the order in which they were started.
    pub(super) fn text(&self) -> String {
        let stories = self.stories.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        for (index, story) in stories.iter().enumerate() {
            if stories.len() > 1 {
                let _ = writeln!(text, "cluster {}:", index + 1);
            }
            text.push_str(&story());
        }
        text
    }
}
