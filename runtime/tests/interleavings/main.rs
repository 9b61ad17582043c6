//! The work queue under every interleaving that a random scheduler finds: no wake-up is lost, whoever waits, gives up,
//! closes or lets time pass meanwhile.
//!
//! The queue's own source is compiled once more here, over locks and wake-ups that shuttle schedules.

mod sync;

mod workqueue;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use shuttle::future::{JoinHandle, block_on, spawn, yield_now};
use shuttle::sync::Mutex;

use sync::Notify;
use workqueue::{Class, Config, Merge, Next, RateLimit, WorkQueue};

const SCHEDULES: usize = 3_000;

/// Numbers of wake-ups.
#[derive(Debug, Default)]
struct Wakes(Vec<usize>);

impl Merge for Wakes {
    fn merge(&mut self, later: Self) {
        self.0.extend(later.0);
    }
}

type Queue = WorkQueue<u8, Wakes>;

/// What the workers have seen, and who runs.
#[derive(Clone)]
struct Seen(Arc<Inner>);

struct Inner {
    wakes: Mutex<(BTreeSet<usize>, BTreeSet<u8>)>,
    changed: Notify,
}

impl Seen {
    fn new() -> Self {
        Self(Arc::new(Inner {
            wakes: Mutex::new((BTreeSet::new(), BTreeSet::new())),
            changed: Notify::new(),
        }))
    }

    fn begin(&self, key: u8, wakes: Vec<usize>) {
        let mut all = self.0.wakes.lock().expect("no panic");
        assert!(all.1.insert(key), "two workers have key {key}");
        for wake in wakes {
            assert!(all.0.insert(wake), "wake-up {wake} was told twice");
        }
    }

    fn end(&self, key: u8) {
        self.0.wakes.lock().expect("no panic").1.remove(&key);
        self.0.changed.notify_one();
    }

    fn count(&self) -> usize {
        self.0.wakes.lock().expect("no panic").0.len()
    }

    /// Returns when so many wake-ups were answered. One that is lost is a deadlock, which shuttle reports.
    async fn all(&self, count: usize) {
        loop {
            let changed = self.0.changed.notified();
            if self.count() == count {
                return;
            }
            changed.await;
        }
    }
}

fn worker(queue: &Queue, seen: &Seen) -> JoinHandle<()> {
    let (queue, seen) = (queue.clone(), seen.clone());
    spawn(async move {
        while let Some(item) = queue.get().await {
            seen.begin(item.key, item.payload.0);
            yield_now().await;
            seen.end(item.key);
            queue.done(&item.key, Next::Settled);
        }
    })
}

/// Lets time pass until so many wake-ups were answered.
fn pass_time(seen: &Seen, count: usize) -> JoinHandle<()> {
    let seen = seen.clone();
    spawn(async move {
        for _ in 0..1_000 {
            if seen.count() == count {
                return;
            }
            sync::advance(Duration::from_secs(1));
            yield_now().await;
        }
        panic!(
            "{} of {count} wake-ups were answered in a thousand seconds",
            seen.count()
        );
    })
}

async fn finish(queue: &Queue, workers: Vec<JoinHandle<()>>) {
    queue.close();
    for worker in workers {
        worker.await.expect("no panic");
    }
}

#[test]
fn every_wake_up_is_answered_once_and_no_key_is_with_two_workers() {
    shuttle::check_random(
        || {
            block_on(async {
                let (queue, seen) = (Queue::new(Config::default()), Seen::new());
                let workers = (0..2).map(|_| worker(&queue, &seen)).collect();
                let adders: Vec<JoinHandle<()>> = (0..3)
                    .map(|adder| {
                        let queue = queue.clone();
                        spawn(async move {
                            for turn in 0..3 {
                                let key = u8::try_from(turn % 2).expect("small");
                                queue.add(key, Class::Change, Wakes(vec![adder * 3 + turn]));
                                yield_now().await;
                            }
                        })
                    })
                    .collect();
                for adder in adders {
                    adder.await.expect("no panic");
                }
                seen.all(9).await;
                finish(&queue, workers).await;
            });
        },
        SCHEDULES,
    );
}

#[test]
fn a_worker_that_gives_up_takes_no_key_and_no_wake_up_with_it() {
    shuttle::check_random(
        || {
            block_on(async {
                let (queue, seen) = (Queue::new(Config::default()), Seen::new());
                let workers = vec![worker(&queue, &seen)];
                let fickle = {
                    let (queue, seen) = (queue.clone(), seen.clone());
                    spawn(async move {
                        for _ in 0..3 {
                            let mut get = Box::pin(queue.get());
                            let mut item = (&mut get).now_or_never();
                            if item.is_none() {
                                yield_now().await;
                                item = (&mut get).now_or_never();
                            }
                            drop(get);
                            if let Some(Some(item)) = item {
                                seen.begin(item.key, item.payload.0);
                                seen.end(item.key);
                                queue.done(&item.key, Next::Settled);
                            }
                        }
                    })
                };
                for wake in 0..4 {
                    queue.add(u8::try_from(wake).expect("small"), Class::Change, Wakes(vec![wake]));
                    yield_now().await;
                }
                seen.all(4).await;
                fickle.await.expect("no panic");
                finish(&queue, workers).await;
            });
        },
        SCHEDULES,
    );
}

#[test]
fn delays_and_retries_come_when_their_time_does() {
    shuttle::check_random(
        || {
            block_on(async {
                sync::restart();
                let (queue, seen) = (Queue::new(Config::default()), Seen::new());
                let mut workers = vec![worker(&queue, &seen)];
                workers.push({
                    let queue = queue.clone();
                    spawn(async move { queue.run_timer().await })
                });
                let time = pass_time(&seen, 3);
                queue.add_after(1, Duration::from_secs(5), Class::Background, Wakes(vec![0]));
                yield_now().await;
                queue.add_after(2, Duration::from_secs(2), Class::Background, Wakes(vec![1]));
                queue.add(3, Class::Change, Wakes(vec![2]));
                time.await.expect("no panic");
                finish(&queue, workers).await;
            });
        },
        SCHEDULES,
    );
}

#[test]
fn a_limit_delays_keys_and_loses_none() {
    shuttle::check_random(
        || {
            block_on(async {
                sync::restart();
                let limit = RateLimit {
                    per_second: 1,
                    burst: 1,
                };
                let config = Config {
                    rate_limit: Some(limit),
                    ..Config::default()
                };
                let (queue, seen) = (Queue::new(config), Seen::new());
                let workers = (0..2).map(|_| worker(&queue, &seen)).collect();
                for wake in 0..3 {
                    queue.add(u8::try_from(wake).expect("small"), Class::Change, Wakes(vec![wake]));
                }
                pass_time(&seen, 3).await.expect("no panic");
                finish(&queue, workers).await;
            });
        },
        SCHEDULES,
    );
}

#[test]
fn closing_ends_every_worker_wherever_it_stands() {
    shuttle::check_random(
        || {
            block_on(async {
                let (queue, seen) = (Queue::new(Config::default()), Seen::new());
                let workers: Vec<JoinHandle<()>> = (0..3).map(|_| worker(&queue, &seen)).collect();
                let adder = {
                    let queue = queue.clone();
                    spawn(async move {
                        queue.add(1, Class::Change, Wakes(vec![0]));
                        yield_now().await;
                        queue.add(1, Class::Urgent, Wakes(vec![1]));
                    })
                };
                yield_now().await;
                finish(&queue, workers).await;
                adder.await.expect("no panic");
            });
        },
        SCHEDULES,
    );
}
