use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, advance, timeout};

use super::{Class, Config, Item, Merge, Next, RateLimit, WorkQueue};

/// Wake-ups by name, in order.
#[derive(Debug, Default, PartialEq)]
struct Names(Vec<&'static str>);

impl Merge for Names {
    fn merge(&mut self, later: Self) {
        self.0.extend(later.0);
    }
}

type Queue = WorkQueue<&'static str, Names>;

fn queue() -> Queue {
    Queue::new(config())
}

/// Keys are `group/name`.
fn config() -> Config<&'static str> {
    Config {
        group: Arc::new(|key: &&str| key.split('/').next().unwrap_or("").into()),
        ..Config::default()
    }
}

fn names(names: &[&'static str]) -> Names {
    Names(names.to_vec())
}

async fn next(queue: &Queue) -> Item<&'static str, Names> {
    timeout(Duration::from_secs(3600 * 24 * 365 * 200), queue.get())
        .await
        .expect("a key comes")
        .expect("the queue is open")
}

fn nothing_waits(queue: &Queue) -> bool {
    queue.stats().waiting == 0
}

fn failed(queue: &Queue, key: &'static str) -> Duration {
    let delay = queue.backoff(&key);
    let next = Next::Backoff {
        delay,
        due: names(&["retry"]),
        can_wait: Box::new(|added| added.0.iter().all(|name| *name == "own")),
    };
    queue.done(&key, next);
    delay
}

fn with_timer(queue: &Queue) {
    let queue = queue.clone();
    tokio::spawn(async move { queue.run_timer().await });
}

#[tokio::test(start_paused = true)]
async fn a_key_added_often_waits_once_and_brings_all_that_was_added() {
    let queue = queue();
    queue.add("a", Class::Background, names(&["one"]));
    queue.add("a", Class::Background, names(&["two"]));
    let item = next(&queue).await;
    assert_eq!((item.key, item.payload), ("a", names(&["one", "two"])));
    assert!(nothing_waits(&queue));
}

#[tokio::test(start_paused = true)]
async fn a_key_that_changes_while_it_runs_runs_again_and_not_before_it_is_done() {
    let queue = queue();
    queue.add("a", Class::Background, names(&["one"]));
    next(&queue).await;
    queue.add("a", Class::Background, names(&["two"]));
    assert!(nothing_waits(&queue));
    queue.done(&"a", Next::Settled);
    assert_eq!(next(&queue).await.payload, names(&["two"]));
    queue.done(&"a", Next::Settled);
    assert!(nothing_waits(&queue));
}

#[tokio::test(start_paused = true)]
async fn delays_of_zero_and_of_five_hundred_years_are_both_kept() {
    let queue = queue();
    with_timer(&queue);
    queue.add_after("never", Duration::MAX, Class::Background, names(&[]));
    queue.add_after(
        "far",
        Duration::from_secs(3600 * 24 * 365 * 3),
        Class::Background,
        names(&[]),
    );
    queue.add_after("now", Duration::ZERO, Class::Background, names(&[]));
    let start = Instant::now();
    assert_eq!(next(&queue).await.key, "now");
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(next(&queue).await.key, "far");
    assert_eq!(start.elapsed().as_secs() / (3600 * 24), 365 * 3);
    assert_eq!(queue.stats().delayed, 1);
}

#[tokio::test(start_paused = true)]
async fn the_earlier_of_two_delays_holds_and_a_run_ends_it() {
    let queue = queue();
    with_timer(&queue);
    queue.add_after("a", Duration::from_secs(60), Class::Background, names(&["late"]));
    queue.add_after("a", Duration::from_secs(5), Class::Background, names(&["soon"]));
    queue.add_after("a", Duration::from_secs(90), Class::Background, names(&["later"]));
    let start = Instant::now();
    assert_eq!(next(&queue).await.payload, names(&["soon"]));
    assert_eq!(start.elapsed().as_secs(), 5);
    queue.done(&"a", Next::After(Duration::from_secs(30), names(&["requeue"])));
    queue.add("a", Class::Change, names(&["change"]));
    assert_eq!(next(&queue).await.payload, names(&["change"]));
    queue.done(&"a", Next::Settled);
    assert_eq!(queue.stats().delayed, 0);
}

#[tokio::test(start_paused = true)]
async fn failures_back_off_per_key_and_success_resets() {
    let queue = queue();
    with_timer(&queue);
    queue.add("a", Class::Background, names(&["first"]));
    for (attempt, delay) in [(1, 5), (2, 10), (3, 20)] {
        assert_eq!(next(&queue).await.attempt, attempt);
        assert_eq!(failed(&queue, "a"), Duration::from_millis(delay));
    }
    queue.add("b", Class::Background, names(&["first"]));
    assert_eq!(next(&queue).await.attempt, 1);
    queue.done(&"b", Next::Settled);
    let item = next(&queue).await;
    assert_eq!((item.attempt, item.payload), (4, names(&["retry"])));
    queue.done(&"a", Next::Settled);
    queue.add("a", Class::Background, names(&[]));
    assert_eq!(next(&queue).await.attempt, 1);
}

#[tokio::test(start_paused = true)]
async fn a_change_cuts_a_backoff_short_and_an_echo_of_the_keys_own_write_does_not() {
    let queue = queue();
    with_timer(&queue);
    queue.add("a", Class::Background, names(&["first"]));
    for _ in 0..12 {
        next(&queue).await;
        queue.add("a", Class::Background, names(&["own"]));
        failed(&queue, "a");
    }
    // Both during the run and after it, the echo waits for the backoff.
    queue.add_patiently("a", Class::Background, names(&["own"]));
    assert!(nothing_waits(&queue));
    queue.add("a", Class::Change, names(&["foreign"]));
    let item = next(&queue).await;
    assert_eq!((item.attempt, item.payload), (13, names(&["own", "own", "foreign"])));
}

#[tokio::test(start_paused = true)]
async fn urgent_keys_come_first_and_a_waiting_key_rises_with_a_more_urgent_wake_up() {
    let queue = queue();
    for (key, class) in [
        ("x/1", Class::Background),
        ("x/2", Class::Change),
        ("x/3", Class::Urgent),
        ("x/4", Class::Background),
    ] {
        queue.add(key, class, names(&[]));
    }
    queue.add("x/4", Class::Urgent, names(&[]));
    let mut order = Vec::new();
    for _ in 0..4 {
        order.push(next(&queue).await.key);
    }
    assert_eq!(order, ["x/3", "x/4", "x/2", "x/1"]);
}

#[tokio::test(start_paused = true)]
async fn groups_take_turns_however_many_keys_one_of_them_has() {
    let queue = queue();
    for key in ["big/1", "big/2", "big/3", "small/1", "big/4", "small/2"] {
        queue.add(key, Class::Background, names(&[]));
    }
    let mut order = Vec::new();
    for _ in 0..6 {
        order.push(next(&queue).await.key);
    }
    assert_eq!(order, ["big/1", "small/1", "big/2", "small/2", "big/3", "big/4"]);
}

#[tokio::test(start_paused = true)]
async fn nobodys_first_turn_waits_for_anothers_second() {
    let queue = queue();
    queue.add("x/again", Class::Background, names(&[]));
    next(&queue).await;
    queue.add("x/again", Class::Background, names(&[]));
    queue.done(&"x/again", Next::Settled);
    queue.add("x/new", Class::Background, names(&[]));
    assert_eq!(next(&queue).await.key, "x/new");
    assert_eq!(next(&queue).await.key, "x/again");
}

#[tokio::test(start_paused = true)]
async fn a_key_that_waited_long_rises_and_is_not_starved() {
    let queue = queue();
    queue.add("x/old", Class::Background, names(&[]));
    for _ in 0..3 {
        advance(Duration::from_secs(31)).await;
        queue.add("x/new", Class::Urgent, names(&[]));
        let item = next(&queue).await;
        if item.key == "x/old" {
            return;
        }
        queue.done(&item.key, Next::Settled);
    }
    panic!("x/old was starved");
}

#[tokio::test(start_paused = true)]
async fn an_overall_limit_spreads_keys_over_time() {
    let queue = Queue::new(Config {
        rate_limit: Some(RateLimit {
            per_second: 10,
            burst: 2,
        }),
        ..config()
    });
    for key in ["a", "b", "c", "d"] {
        queue.add(key, Class::Background, names(&[]));
    }
    let start = Instant::now();
    let mut at = Vec::new();
    for _ in 0..4 {
        next(&queue).await;
        at.push(start.elapsed().as_millis());
    }
    assert_eq!(at, [0, 0, 100, 200]);
}

#[tokio::test(start_paused = true)]
async fn a_closed_queue_gives_out_nothing_and_wakes_those_who_wait() {
    let queue = queue();
    let waits = tokio::spawn({
        let queue = queue.clone();
        async move { queue.get().await }
    });
    tokio::task::yield_now().await;
    queue.close();
    assert_eq!(waits.await.expect("the worker ends"), None);
    queue.add("a", Class::Background, names(&[]));
    assert_eq!(queue.get().await, None);
}

#[tokio::test(start_paused = true)]
async fn every_worker_gets_a_key_when_several_are_added_at_once() {
    let queue = queue();
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move { queue.get().await.map(|item| item.key) })
        })
        .collect();
    tokio::task::yield_now().await;
    for key in ["a", "b", "c", "d"] {
        queue.add(key, Class::Background, names(&[]));
    }
    let mut keys = Vec::new();
    for worker in workers {
        keys.extend(worker.await.expect("the worker ends"));
    }
    keys.sort_unstable();
    assert_eq!(keys, ["a", "b", "c", "d"]);
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_key_starts_anew() {
    let queue = queue();
    queue.add("a", Class::Background, names(&[]));
    next(&queue).await;
    failed(&queue, "a");
    queue.add("a", Class::Change, names(&[]));
    assert_eq!(next(&queue).await.attempt, 2);
    queue.done(&"a", Next::Forget);
    assert_eq!(queue.stats().delayed, 0);
    queue.add("a", Class::Background, names(&[]));
    assert_eq!(next(&queue).await.attempt, 1);
}
