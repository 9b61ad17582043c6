use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, advance, timeout};

use super::{Class, Config, Item, Meanwhile, Merge, Next, RateLimit, WorkQueue};

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
    };
    queue.done_with(&key, next, |added| {
        if added.0.iter().all(|name| *name == "own") {
            Meanwhile::Waits
        } else {
            Meanwhile::Runs
        }
    });
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

#[tokio::test(start_paused = true)]
async fn what_came_during_a_run_runs_once_more_waits_for_what_is_due_or_is_dropped_as_it_is_judged() {
    let queue = queue();
    with_timer(&queue);
    for (judged, expected) in [
        (Meanwhile::Runs, Some((0, names(&["first"])))),
        (Meanwhile::Waits, Some((10, names(&["first", "due"])))),
        (Meanwhile::Drops, Some((10, names(&["due"])))),
    ] {
        queue.add("a", Class::Change, Names::default());
        next(&queue).await;
        queue.add("a", Class::Change, names(&["first"]));
        let begun = Instant::now();
        queue.done_with(&"a", Next::After(Duration::from_secs(10), names(&["due"])), |added| {
            assert_eq!(*added, names(&["first"]));
            judged
        });
        let item = next(&queue).await;
        let found = Some((begun.elapsed().as_secs(), item.payload));
        assert_eq!(found, expected, "{judged:?}");
        queue.done(&"a", Next::Settled);
    }
    queue.add("a", Class::Change, Names::default());
    next(&queue).await;
    queue.add_unless_running("a", Class::Change, names(&["known"]));
    queue.done_with(&"a", Next::Settled, |_| panic!("nothing came"));
    assert!(nothing_waits(&queue));
    queue.add_unless_running("a", Class::Change, names(&["news"]));
    assert_eq!(next(&queue).await.payload, names(&["news"]));
}

#[tokio::test(start_paused = true)]
async fn of_twenty_thousand_keys_none_waits_for_its_first_turn_while_another_has_its_second() {
    type Numbers = WorkQueue<u32, ()>;
    let queue = Numbers::new(Config::default());
    let count = 20_000;
    for key in 0..count {
        queue.add(key, Class::Background, ());
    }
    let mut turns = vec![0_u8; count as usize];
    let mut first_turns = 0;
    for _ in 0..2 * count {
        let item = queue.get().await.expect("it is open");
        let turn = &mut turns[item.key as usize];
        *turn += 1;
        first_turns += u32::from(*turn == 1);
        assert!(
            *turn == 1 || first_turns == count,
            "{first_turns} keys had a turn when one had its second"
        );
        // Its child came back, as it does after each first turn.
        if *turn == 1 {
            queue.add(item.key, Class::Background, ());
        }
        queue.done(&item.key, Next::Settled);
    }
    assert!(nothing_waits_of(&queue) && turns.iter().all(|turn| *turn == 2));
}

fn nothing_waits_of<K: Clone + Eq + std::hash::Hash + Send + 'static>(queue: &WorkQueue<K, ()>) -> bool {
    queue.stats().waiting == 0
}

/// The 99th percentile of what healthy keys wait, beside so many keys that always fail.
async fn waiting_beside(failing: u32) -> Duration {
    let queue: WorkQueue<u32, ()> = WorkQueue::new(Config::default());
    let timers = queue.clone();
    let timers = tokio::spawn(async move { timers.run_timer().await });
    for key in 0..failing {
        queue.add(1_000 + key, Class::Background, ());
    }
    let waits = Arc::new(std::sync::Mutex::new(Vec::new()));
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let (queue, waits) = (queue.clone(), Arc::clone(&waits));
            tokio::spawn(async move {
                while let Some(item) = queue.get().await {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    if item.key < 1_000 {
                        waits.lock().expect("no panic").push(item.waited);
                        queue.done(&item.key, Next::Settled);
                    } else {
                        let delay = queue.backoff(&item.key);
                        queue.done(&item.key, Next::Backoff { delay, due: () });
                    }
                }
            })
        })
        .collect();
    // They have all failed often enough to be in backoff, as they are for most of their life.
    tokio::time::sleep(Duration::from_secs(600)).await;
    for n in 0..2_000 {
        queue.add(n % 50, Class::Change, ());
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    queue.close();
    for worker in workers {
        worker.await.expect("no panic");
    }
    timers.await.expect("no panic");
    let mut waits = std::mem::take(&mut *waits.lock().expect("no panic"));
    waits.sort_unstable();
    waits[waits.len() * 99 / 100]
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_keys_in_backoff_do_not_move_what_others_wait() {
    let alone = waiting_beside(0).await;
    let beside = waiting_beside(10_000).await;
    assert!(
        beside <= alone.mul_f64(1.05) + Duration::from_millis(1),
        "{alone:?} alone, {beside:?} beside 10 000 keys in backoff"
    );
}
