//! The seeded run that this thread is in.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
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

/// What everything in a run starts from, and the stories that it leaves.
pub(crate) struct Context {
    pub(crate) seed: u64,
    pub(crate) latency: Latency,
    base: Timestamp,
    started: Instant,
    stories: Mutex<Vec<Box<dyn Fn() -> String + Send>>>,
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
        });
        CURRENT.set(Some(Arc::clone(&context)));
        context
    }

    pub(super) fn leave() {
        CURRENT.set(None);
    }

    /// The run's wall-clock time.
    pub(crate) fn now(&self) -> Timestamp {
        self.base.checked_add(self.started.elapsed()).unwrap_or(Timestamp::MAX)
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
