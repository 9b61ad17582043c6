//! The declared `resync`: every object again, from the cache.

use std::time::Duration;

use tokio::time::sleep;

use super::sources::{self, Queue};
use crate::cache::Informer;
use crate::env::Env;

/// Wakes every primary object once per period, spread over the tenth of it that follows, so that replays are no storm.
pub(super) async fn run(every: Option<Duration>, primaries: Vec<Informer>, queue: Queue, env: Env) {
    let Some(every) = every else {
        return std::future::pending().await;
    };
    loop {
        sleep(every).await;
        sources::resync(&primaries, &queue, every / 10, || env.fraction());
    }
}
