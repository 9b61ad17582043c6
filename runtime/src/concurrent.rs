//! A bounded number of futures at once: the companion of [`Context`](crate::Context) for many reads or writes.
//!
//! `stream::iter(names).map(|name| cx.get(name)).buffer_unordered(4)` does not compile in a `reconcile`, whose future must
//! be `Send`: rustc cannot show that the closure inside the stream works for every lifetime
//! (<https://github.com/rust-lang/rust/issues/102211>). The functions here take the futures out of the iterator before
//! the first of them is polled, so that no closure is kept.
//!
//! ```
//! use kubewright::concurrent;
//! use kubewright::prelude::*;
//!
//! # #[controller(for = ConfigMap, live = Secret)]
//! # struct Reader;
//! # impl Reconciler for Reader {
//! async fn reconcile(&self, map: Arc<ConfigMap>, cx: &Context<Self>) -> Result<Action> {
//!     let names: Vec<String> = map.data.iter().flatten().map(|(name, _)| name.clone()).collect();
//!     let secrets = concurrent::try_all(4, names.iter().map(|name| cx.get::<Secret>(&**name))).await?;
//!     assert_eq!(secrets.len(), names.len());
//!     Ok(Action::await_change())
//! }
//! # }
//! ```

use futures::future::BoxFuture;
use futures::stream::{self, StreamExt, TryStreamExt};

/// Runs the futures, at most `limit` at once (at least one), and answers what they answer, in their order.
///
/// # Cancel safety
///
/// Dropping it drops the futures where they stand.
pub fn all<'a, F>(limit: usize, futures: impl IntoIterator<Item = F>) -> BoxFuture<'a, Vec<F::Output>>
where
    F: Future<Output: Send> + Send + 'a,
{
    let futures: Vec<F> = futures.into_iter().collect();
    Box::pin(stream::iter(futures).buffered(limit.max(1)).collect())
}

/// As [`all`] for futures that may fail: stops at the first error in their order, and drops the futures that still run.
///
/// # Errors
///
/// That error.
///
/// # Cancel safety
///
/// As [`all`].
pub fn try_all<'a, F, T, E>(limit: usize, futures: impl IntoIterator<Item = F>) -> BoxFuture<'a, Result<Vec<T>, E>>
where
    F: Future<Output = Result<T, E>> + Send + 'a,
    T: Send + 'a,
    E: Send + 'a,
{
    let futures: Vec<F> = futures.into_iter().collect();
    Box::pin(stream::iter(futures).buffered(limit.max(1)).try_collect())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use tokio::time::{Instant, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn no_more_run_at_once_than_allowed_and_the_order_is_kept() {
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let begun = Instant::now();
        let answers = all(
            4,
            (0..8_u64).map(|i| {
                let (running, most) = (&running, &most);
                async move {
                    most.fetch_max(running.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                    sleep(Duration::from_millis(80 - i)).await;
                    running.fetch_sub(1, Ordering::Relaxed);
                    i
                }
            }),
        )
        .await;
        assert_eq!(answers, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(most.into_inner(), 4);
        assert!(begun.elapsed() < Duration::from_millis(170), "{:?}", begun.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_ends_the_rest() {
        let begun = Instant::now();
        let answer = try_all(
            2,
            [1_u64, 2, 1000].map(|seconds| async move {
                sleep(Duration::from_secs(seconds)).await;
                if seconds == 2 { Err("two") } else { Ok(seconds) }
            }),
        )
        .await;
        assert_eq!(answer, Err("two"));
        assert_eq!(begun.elapsed(), Duration::from_secs(2));
    }
}
