//! Whether the tasks of one replica run: the switch behind [`Env::spawn`](crate::Env::spawn).

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Holds, releases or ends everything of one replica. Clones share their state; the first state is
/// [`Run::Running`].
///
/// In production there is none. A test gives each replica its own, to [`Env::gated`](crate::Env::gated) and to the
/// transport that the replica sends through, so that what a replica started without the framework's knowledge stops
/// at its transport.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<Mutex<State>>);

/// What a replica does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Run {
    /// It works.
    #[default]
    Running,
    /// It stands still, as under SIGSTOP: none of its tasks is polled, while time and timers go on.
    Paused,
    /// It is gone, as after SIGKILL: none of its tasks is ever polled again, and none is dropped, so that no `Drop`
    /// does what a killed process could not.
    Dead,
}

#[derive(Debug, Default)]
struct State {
    run: Run,
    last: u64,
    /// Who wants to be polled once the replica goes on, in the order in which they were made.
    held: BTreeMap<u64, Waker>,
}

impl Gate {
    /// A gate that lets everything through.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What the replica does now.
    #[must_use]
    pub fn run(&self) -> Run {
        self.state().run
    }

    /// Whether the replica is gone.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.run() == Run::Dead
    }

    /// From now on no task of the replica is polled. A poll that is under way comes to its end. Without effect on one
    /// that is dead.
    pub fn pause(&self) {
        self.change(Run::Paused);
    }

    /// The tasks are polled again; timers that ran out meanwhile are due at once. Without effect on one that is dead.
    pub fn resume(&self) {
        let held = {
            let mut state = self.state();
            if state.run != Run::Paused {
                return;
            }
            state.run = Run::Running;
            std::mem::take(&mut state.held)
        };
        for waker in held.into_values() {
            waker.wake();
        }
    }

    /// Ends the replica for good.
    pub fn kill(&self) {
        self.change(Run::Dead);
        // Outside the lock: a waker may be the last to hold what it wakes.
        let held = std::mem::take(&mut self.state().held);
        drop(held);
    }

    /// `future`, polled only while the replica runs.
    pub fn hold<F: Future>(&self, future: F) -> Held<F> {
        let number = {
            let mut state = self.state();
            state.last += 1;
            state.last
        };
        Held {
            gate: self.clone(),
            number,
            future: Box::pin(future),
        }
    }

    /// Returns while the replica runs: at once, after its pause, or never if it is gone.
    ///
    /// # Cancel safety
    ///
    /// Holds no state.
    pub async fn passed(&self) {
        self.hold(std::future::ready(())).await;
    }

    fn change(&self, run: Run) {
        let mut state = self.state();
        if state.run != Run::Dead {
            state.run = run;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A future behind a [`Gate`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Held<F> {
    gate: Gate,
    number: u64,
    future: Pin<Box<F>>,
}

impl<F: Future> Future for Held<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        {
            let mut state = self.gate.state();
            match state.run {
                Run::Running => {}
                Run::Paused => {
                    state.held.insert(self.number, cx.waker().clone());
                    return Poll::Pending;
                }
                Run::Dead => return Poll::Pending,
            }
        }
        self.future.as_mut().poll(cx)
    }
}

impl<F> Drop for Held<F> {
    fn drop(&mut self) {
        let waker = self.gate.state().held.remove(&self.number);
        drop(waker);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::env::Env;

    fn replica() -> (Env, Gate) {
        let gate = Gate::new();
        let env = Env::seeded(jiff::Timestamp::UNIX_EPOCH, 1).gated(gate.clone());
        (env, gate)
    }

    /// A task that counts seconds.
    fn counter(env: &Env) -> Arc<AtomicUsize> {
        let count = Arc::new(AtomicUsize::new(0));
        let counts = Arc::clone(&count);
        env.spawn("counter", async move {
            loop {
                sleep(Duration::from_secs(1)).await;
                counts.fetch_add(1, Ordering::SeqCst);
            }
        });
        count
    }

    #[tokio::test(start_paused = true)]
    async fn a_paused_replica_stands_still_while_time_goes_on_and_finds_its_timers_overdue() {
        let (env, gate) = replica();
        let count = counter(&env);
        sleep(Duration::from_millis(3500)).await;
        assert_eq!(count.load(Ordering::SeqCst), 3);
        gate.pause();
        let paused = Instant::now();
        sleep(Duration::from_secs(60)).await;
        assert_eq!(count.load(Ordering::SeqCst), 3);
        gate.resume();
        tokio::task::yield_now().await;
        assert_eq!(count.load(Ordering::SeqCst), 4, "the overdue timer fires at once");
        assert_eq!(paused.elapsed(), Duration::from_secs(60));
        sleep(Duration::from_millis(2500)).await;
        assert_eq!(count.load(Ordering::SeqCst), 6);
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_starts_in_a_pause_begins_after_it() {
        let (env, gate) = replica();
        gate.pause();
        let task = env.spawn("late", async { Instant::now() });
        sleep(Duration::from_secs(5)).await;
        assert!(!task.is_finished());
        let resumed = Instant::now();
        gate.resume();
        assert_eq!(task.await.expect("it ends"), resumed);
    }

    #[tokio::test(start_paused = true)]
    async fn a_dead_replica_never_goes_on_and_drops_nothing() {
        struct Noisy(Arc<AtomicUsize>);
        impl Drop for Noisy {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::SeqCst);
            }
        }
        let (env, gate) = replica();
        let count = counter(&env);
        let dropped = Arc::new(AtomicUsize::new(0));
        let noisy = Noisy(Arc::clone(&dropped));
        env.spawn("noisy", async move {
            std::future::pending::<()>().await;
            drop(noisy);
        });
        sleep(Duration::from_millis(1500)).await;
        gate.pause();
        sleep(Duration::from_millis(1500)).await;
        gate.kill();
        gate.resume();
        sleep(Duration::from_secs(60)).await;
        assert!(gate.is_dead());
        assert_eq!(count.load(Ordering::SeqCst), 1);
        assert_eq!(dropped.load(Ordering::SeqCst), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_no_longer_waits_is_forgotten() {
        let (_, gate) = replica();
        gate.pause();
        let waits = tokio::time::timeout(Duration::from_secs(1), gate.passed()).await;
        assert!(waits.is_err());
        assert!(gate.state().held.is_empty());
    }
}
