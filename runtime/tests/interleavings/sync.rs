//! Locks, wake-ups and time as shuttle schedules them, with the meaning of those that the library uses.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

pub(crate) use shuttle::sync::{Mutex, MutexGuard};
pub(crate) use tokio::time::Instant;

thread_local! {
    // All tasks of an execution share one thread, and executions follow one another.
    static BEGUN: Instant = Instant::now();
    static PASSED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    static SLEEPERS: RefCell<Vec<Waker>> = const { RefCell::new(Vec::new()) };
}

/// Starts time anew.
pub(crate) fn restart() {
    PASSED.set(Duration::ZERO);
    SLEEPERS.take();
}

/// Lets time pass.
pub(crate) fn advance(by: Duration) {
    PASSED.set(PASSED.get() + by);
    for sleeper in SLEEPERS.take() {
        sleeper.wake();
    }
}

pub(crate) fn now() -> Instant {
    BEGUN.with(|begun| *begun) + PASSED.get()
}

pub(crate) async fn sleep_until(at: Instant) {
    std::future::poll_fn(|cx| {
        if now() >= at {
            return Poll::Ready(());
        }
        SLEEPERS.with_borrow_mut(|sleepers| sleepers.push(cx.waker().clone()));
        Poll::Pending
    })
    .await;
}

/// As tokio's: one permit at most, `notify_one` in the order of registration, `notify_waiters` for all that exist.
pub(crate) struct Notify(Mutex<State>);

#[derive(Default)]
struct State {
    permit: bool,
    /// How often all were notified.
    rounds: u64,
    next: u64,
    waiters: VecDeque<(u64, Waker)>,
    /// Waiters that were notified one by one and have not been polled since.
    chosen: Vec<u64>,
}

impl Notify {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(State::default()))
    }

    pub(crate) fn notified(&self) -> Notified<'_> {
        Notified {
            notify: self,
            rounds: self.state().rounds,
            waits_as: None,
            done: false,
        }
    }

    pub(crate) fn notify_one(&self) {
        let woken = {
            let mut state = self.state();
            match state.waiters.pop_front() {
                Some((number, waker)) => {
                    state.chosen.push(number);
                    Some(waker)
                }
                None => {
                    state.permit = true;
                    None
                }
            }
        };
        if let Some(waker) = woken {
            waker.wake();
        }
    }

    pub(crate) fn notify_waiters(&self) {
        let woken = {
            let mut state = self.state();
            state.rounds += 1;
            std::mem::take(&mut state.waiters)
        };
        for (_, waker) in woken {
            waker.wake();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no panic")
    }
}

pub(crate) struct Notified<'a> {
    notify: &'a Notify,
    rounds: u64,
    waits_as: Option<u64>,
    done: bool,
}

impl Future for Notified<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.done {
            return Poll::Ready(());
        }
        let notify = self.notify;
        let mut state = notify.state();
        let number = self.waits_as;
        let chosen = number.and_then(|number| state.chosen.iter().position(|chosen| *chosen == number));
        if let Some(at) = chosen {
            state.chosen.remove(at);
        } else if state.rounds == self.rounds {
            if number.is_none() && std::mem::take(&mut state.permit) {
                drop(state);
                self.done = true;
                return Poll::Ready(());
            }
            let number = number.unwrap_or_else(|| {
                state.next += 1;
                state.next
            });
            match state.waiters.iter_mut().find(|(other, _)| *other == number) {
                Some((_, waker)) => waker.clone_from(cx.waker()),
                None => state.waiters.push_back((number, cx.waker().clone())),
            }
            drop(state);
            self.waits_as = Some(number);
            return Poll::Pending;
        }
        drop(state);
        self.done = true;
        Poll::Ready(())
    }
}

impl Drop for Notified<'_> {
    fn drop(&mut self) {
        let (Some(number), false) = (self.waits_as, self.done) else {
            return;
        };
        let passes_on = {
            let mut state = self.notify.state();
            state.waiters.retain(|(other, _)| *other != number);
            let chosen = state.chosen.iter().position(|chosen| *chosen == number);
            chosen.map(|at| state.chosen.remove(at)).is_some()
        };
        // Whoever was chosen and goes lets another go on in its place.
        if passes_on {
            self.notify.notify_one();
        }
    }
}
