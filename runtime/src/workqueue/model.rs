//! Random histories against a model that keeps everything in plain lists.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use tokio::time::Instant;

use super::Merge;
use super::config::{Class, Config};
use super::queue::{Meanwhile, Next};
use super::state::{State, Take};

/// Numbers of wake-ups.
#[derive(Clone, Debug, Default, PartialEq)]
struct Wakes(Vec<usize>);

impl Merge for Wakes {
    fn merge(&mut self, later: Self) {
        self.0.extend(later.0);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Add(u8, Class),
    AddPatiently(u8, Class),
    AddUnlessRunning(u8, Class),
    AddAfter(u8, u64),
    Take,
    /// Gives back the running key at that place, modulo, with what becomes of wake-ups that came meanwhile.
    Settle(usize, Meanwhile),
    Fail(usize, Meanwhile),
    Again(usize, u64),
    Forget(usize),
    Pass(u64),
}

fn class() -> impl Strategy<Value = Class> {
    prop_oneof![Just(Class::Urgent), Just(Class::Change), Just(Class::Background)]
}

fn meanwhile() -> impl Strategy<Value = Meanwhile> {
    prop_oneof![
        3 => Just(Meanwhile::Runs),
        1 => Just(Meanwhile::Waits),
        1 => Just(Meanwhile::Drops),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0..12_u8;
    prop_oneof![
        6 => (key.clone(), class()).prop_map(|(k, c)| Step::Add(k, c)),
        1 => (key.clone(), class()).prop_map(|(k, c)| Step::AddPatiently(k, c)),
        1 => (key.clone(), class()).prop_map(|(k, c)| Step::AddUnlessRunning(k, c)),
        2 => (key, 0..40_u64).prop_map(|(k, d)| Step::AddAfter(k, d)),
        6 => Just(Step::Take),
        3 => (any::<usize>(), meanwhile()).prop_map(|(i, m)| Step::Settle(i, m)),
        2 => (any::<usize>(), meanwhile()).prop_map(|(i, m)| Step::Fail(i, m)),
        1 => (any::<usize>(), 1..40_u64).prop_map(|(i, d)| Step::Again(i, d)),
        1 => any::<usize>().prop_map(Step::Forget),
        2 => (1..15_u64).prop_map(Step::Pass),
    ]
}

const RISE: u64 = 30;

fn group_of(key: u8) -> u8 {
    key % 3
}

/// What the model knows of a key.
#[derive(Default)]
struct Known {
    /// Class, when it entered that, and its place in line.
    waits: Option<(Class, u64, usize)>,
    runs: bool,
    dirty: Option<Class>,
    /// When it is due, and when that was set.
    delayed: Option<(u64, usize)>,
    failures: u32,
    ran: bool,
    /// Wake-ups that a run must still answer.
    owed: Vec<usize>,
}

#[derive(Default)]
struct Model {
    keys: BTreeMap<u8, Known>,
    line: usize,
    /// Per class and group: when it was last served.
    served: BTreeMap<(Class, u8), usize>,
    /// Per class and group: since when it waits without a gap.
    waiting_since: BTreeMap<(Class, u8), usize>,
}

impl Model {
    fn wake(&mut self, key: u8, class: Class, now: u64) {
        self.line += 1;
        let line = self.line;
        let known = self.keys.entry(key).or_default();
        if known.runs {
            known.dirty = Some(known.dirty.map_or(class, |d| d.min(class)));
        } else {
            match known.waits {
                Some((current, ..)) if current <= class => {}
                _ => known.waits = Some((class, now, line)),
            }
        }
        self.note_groups();
    }

    fn delay(&mut self, key: u8, at: u64) {
        self.line += 1;
        let at = (at, self.line);
        let known = self.keys.entry(key).or_default();
        known.delayed = Some(known.delayed.map_or(at, |other| other.min(at)));
    }

    fn pass(&mut self, now: u64) {
        let mut due: Vec<((u64, usize), u8)> = Vec::new();
        for (key, known) in &mut self.keys {
            if known.delayed.is_some_and(|(at, _)| at <= now) {
                due.extend(known.delayed.take().map(|at| (at, *key)));
            }
        }
        due.sort_unstable();
        for (_, key) in due {
            self.wake(key, Class::Background, now);
        }
    }

    fn rise(&mut self, now: u64) {
        for (from, to) in [(Class::Change, Class::Urgent), (Class::Background, Class::Change)] {
            let mut risen: Vec<(usize, u8)> = self
                .keys
                .iter()
                .filter_map(|(key, known)| match known.waits {
                    Some((class, entered, line)) if class == from && now - entered >= RISE => Some((line, *key)),
                    _ => None,
                })
                .collect();
            risen.sort_unstable();
            for (_, key) in risen {
                self.line += 1;
                let line = self.line;
                if let Some(known) = self.keys.get_mut(&key) {
                    known.waits = Some((to, now, line));
                }
            }
        }
        self.note_groups();
    }

    /// Checks that `key` may leave now, and lets it.
    fn leave(&mut self, key: u8) -> Result<(), TestCaseError> {
        let (class, _, line) = {
            let known = &self.keys[&key];
            prop_assert!(!known.runs, "key {key} went to two workers");
            let Some(waits) = known.waits else {
                return Err(TestCaseError::fail(format!("key {key} left without waiting")));
            };
            waits
        };
        let ran = self.keys[&key].ran;
        for (other, known) in &self.keys {
            let Some((other_class, _, other_line)) = known.waits else {
                continue;
            };
            prop_assert!(class <= other_class, "{key} left before the more urgent {other}");
            if *other != key && class == other_class && group_of(key) == group_of(*other) {
                let before = (ran, line) < (known.ran, other_line);
                prop_assert!(before, "{key} left before {other}, which came first or never ran");
            }
        }
        let group = group_of(key);
        let last = self.served.get(&(class, group)).copied().unwrap_or(0);
        for ((other_class, other), since) in &self.waiting_since {
            if *other_class == class && *other != group && last > 0 {
                let their_last = self.served.get(&(class, *other)).copied().unwrap_or(0);
                prop_assert!(
                    *since > last || their_last > last,
                    "group {group} had two turns while group {other} waited"
                );
            }
        }
        self.line += 1;
        self.served.insert((class, group), self.line);
        let known = self.keys.entry(key).or_default();
        known.waits = None;
        known.runs = true;
        known.ran = true;
        known.delayed = None;
        self.note_groups();
        Ok(())
    }

    fn note_groups(&mut self) {
        let mut waiting: Vec<(Class, u8)> = Vec::new();
        for (key, known) in &self.keys {
            waiting.extend(known.waits.map(|(class, ..)| (class, group_of(*key))));
        }
        self.waiting_since.retain(|group, _| waiting.contains(group));
        for group in waiting {
            self.waiting_since.entry(group).or_insert(self.line);
        }
    }
}

fn run(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let config = Config {
        backoff_min: Duration::from_secs(8),
        backoff_max: Duration::from_secs(20),
        rise_after: Duration::from_secs(RISE),
        group: Arc::new(|key: &u8| Arc::from(group_of(*key).to_string())),
        ..Config::default()
    };
    let mut queue: State<u8, Wakes> = State::new(config);
    let mut model = Model::default();
    let mut running: Vec<u8> = Vec::new();
    let start = Instant::now();
    let mut clock = 0;
    for (number, step) in steps.into_iter().enumerate() {
        let now = start + Duration::from_secs(clock);
        match step {
            Step::Add(key, class) => {
                queue.add(key, class, Wakes(vec![number]), now);
                model.keys.entry(key).or_default().owed.push(number);
                model.wake(key, class, clock);
            }
            Step::AddPatiently(key, class) => {
                queue.add_patiently(key, class, Wakes(vec![number]), now);
                let known = model.keys.entry(key).or_default();
                known.owed.push(number);
                let backs_off = known.failures > 0 && !known.runs && known.waits.is_none() && known.delayed.is_some();
                if !backs_off {
                    model.wake(key, class, clock);
                }
            }
            Step::AddUnlessRunning(key, class) => {
                queue.add_unless_running(key, class, Wakes(vec![number]), now);
                let known = model.keys.entry(key).or_default();
                if !known.runs {
                    known.owed.push(number);
                    model.wake(key, class, clock);
                }
            }
            Step::AddAfter(key, delay) => {
                queue.add_after(
                    key,
                    Duration::from_secs(delay),
                    Class::Background,
                    Wakes::default(),
                    now,
                );
                if model.keys.entry(key).or_default().waits.is_none() {
                    model.delay(key, clock + delay);
                }
            }
            Step::Take => {
                queue.promote(now);
                model.pass(clock);
                model.rise(clock);
                let anyone = model.keys.values().any(|known| known.waits.is_some());
                match queue.take(now) {
                    Take::Item(item) => {
                        let known = &model.keys[&item.key];
                        prop_assert_eq!(&item.payload.0, &known.owed, "a wake-up was lost or doubled");
                        prop_assert_eq!(item.attempt, known.failures + 1);
                        model.leave(item.key)?;
                        model.keys.entry(item.key).or_default().owed.clear();
                        running.push(item.key);
                    }
                    Take::Empty => prop_assert!(!anyone, "a key waits and none is given out"),
                    Take::Limited(_) | Take::Closed => prop_assert!(false, "neither limited nor closed"),
                }
            }
            Step::Settle(at, _) | Step::Fail(at, _) | Step::Again(at, _) | Step::Forget(at) => {
                if running.is_empty() {
                    continue;
                }
                let key = running.remove(at % running.len());
                let known = model.keys.entry(key).or_default();
                known.runs = false;
                let meanwhile = match step {
                    Step::Settle(_, meanwhile) | Step::Fail(_, meanwhile) => meanwhile,
                    _ => Meanwhile::Runs,
                };
                if known.dirty.is_some() && meanwhile != Meanwhile::Runs {
                    known.dirty = None;
                    // Where nothing else would tell them, they are dropped.
                    let told = known.delayed.is_some() || !matches!(step, Step::Settle(..));
                    if meanwhile == Meanwhile::Drops || !told {
                        known.owed.clear();
                    }
                }
                let next = match step {
                    Step::Settle(..) => {
                        known.failures = 0;
                        Next::Settled
                    }
                    Step::Again(_, delay) => {
                        known.failures = 0;
                        model.delay(key, clock + delay);
                        Next::After(Duration::from_secs(delay), Wakes::default())
                    }
                    Step::Forget(_) => {
                        known.failures = 0;
                        known.ran = false;
                        known.delayed = None;
                        Next::Forget
                    }
                    _ => {
                        known.failures += 1;
                        let delay = (8 << (known.failures - 1).min(5)).min(20);
                        model.delay(key, clock + delay);
                        let backoff = queue.backoff(&key);
                        prop_assert_eq!(backoff.as_secs(), delay);
                        Next::Backoff {
                            delay: backoff,
                            due: Wakes::default(),
                        }
                    }
                };
                let dirty = model.keys.entry(key).or_default().dirty.take();
                queue.done(&key, next, |_| meanwhile, now);
                if let Some(class) = dirty {
                    model.wake(key, class, clock);
                }
            }
            Step::Pass(seconds) => clock += seconds,
        }
        let waiting = model.keys.values().filter(|known| known.waits.is_some()).count();
        let delayed = model.keys.values().filter(|known| known.delayed.is_some()).count();
        let stats = queue.stats(start + Duration::from_secs(clock));
        prop_assert_eq!(
            (stats.waiting, stats.delayed, stats.running),
            (waiting, delayed, running.len())
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_queue_behaves_as_the_model_for_every_history(steps in prop::collection::vec(step(), 1..160)) {
        run(steps)?;
    }
}
