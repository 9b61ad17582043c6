//! What a queue is told when it is made.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How urgent a wake-up is. Lower classes wait while higher ones have work, but not for ever: see
/// [`Config::rise_after`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Asked for by a person.
    Urgent,
    /// Somebody changed what the key stands for.
    Change,
    /// All else: first lists, replays, echoes of own writes, changes of dependent things.
    Background,
}

impl Class {
    /// All classes, the most urgent first.
    pub const ALL: [Self; 3] = [Self::Urgent, Self::Change, Self::Background];

    pub(super) fn index(self) -> usize {
        self as usize
    }

    /// The next more urgent class.
    pub(super) fn above(self) -> Option<Self> {
        match self {
            Self::Urgent => None,
            Self::Change => Some(Self::Urgent),
            Self::Background => Some(Self::Change),
        }
    }
}

/// A limit on how many keys leave the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Keys per second in the long run; 0 counts as 1.
    pub per_second: u32,
    /// How many may leave at once after a quiet time; 0 counts as 1.
    pub burst: u32,
}

/// Told what happens to keys, for metrics. Called without a lock held.
pub trait Hooks: Send + Sync {
    /// A key began to wait.
    fn added(&self) {}
    /// A key failed and will be tried again.
    fn retried(&self) {}
    /// A worker took a key that had waited that long.
    fn started(&self, waited: Duration) {
        let _ = waited;
    }
    /// A worker is done with a key after that long.
    fn finished(&self, worked: Duration) {
        let _ = worked;
    }
}

impl Hooks for () {}

/// Tells the group of a key.
pub type Group<K> = Arc<dyn Fn(&K) -> Arc<str> + Send + Sync>;

/// How a queue behaves.
#[derive(Clone)]
pub struct Config<K> {
    /// Delay after a key's first failure. Default: 5 ms.
    pub backoff_min: Duration,
    /// The longest delay after failures. Default: 1000 s.
    pub backoff_max: Duration,
    /// Overall limit. Default: none.
    pub rate_limit: Option<RateLimit>,
    /// How long a key waits before it rises a class. Default: 30 s.
    pub rise_after: Duration,
    /// The group of a key; groups take turns. Default: all keys are of one group.
    pub group: Group<K>,
    /// Random fractions in `0.0..1.0`, for jitter. Default: always a half, which means no jitter.
    pub random: Arc<dyn Fn() -> f64 + Send + Sync>,
    /// Told what happens.
    pub hooks: Arc<dyn Hooks>,
}

impl<K> Default for Config<K> {
    fn default() -> Self {
        let one_group: Arc<str> = Arc::from("");
        Self {
            backoff_min: Duration::from_millis(5),
            backoff_max: Duration::from_secs(1000),
            rate_limit: None,
            rise_after: Duration::from_secs(30),
            group: Arc::new(move |_| Arc::clone(&one_group)),
            random: Arc::new(|| 0.5),
            hooks: Arc::new(()),
        }
    }
}

impl<K> fmt::Debug for Config<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("backoff_min", &self.backoff_min)
            .field("backoff_max", &self.backoff_max)
            .field("rate_limit", &self.rate_limit)
            .field("rise_after", &self.rise_after)
            .finish_non_exhaustive()
    }
}
