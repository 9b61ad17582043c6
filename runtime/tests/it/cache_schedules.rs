//! Random schedules of writes and faults: the cache ends equal to the server, subscribers saw a sequence that explains
//! it, and no read ever went behind an own write.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::StatusCode;
use kubewright::cache::{Informer, InformerSpec, Lookup, Reader, Selector};
use kubewright::client::{ClientError, Fault as Broken};
use kubewright::delta::{Delta, Version};
use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::{Env, ObjectKey};
use kubewright_testkit::{Events, Fault, FaultHandle, Verb};
use serde_json::{Value, json};

use crate::cache_rig::{Rig, config_map, config_maps, key};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const STEPS: usize = 300;

#[kubewright_testkit::test]
async fn whatever_happens_the_cache_ends_equal_to_the_server_and_reads_never_go_behind_own_writes() {
    let seeds = match std::env::var("KUBEWRIGHT_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => vec![seed],
        None => (1..=8).collect::<Vec<u64>>(),
    };
    for seed in seeds {
        // Read when a check fails: KUBEWRIGHT_SEED=<seed> repeats the schedule alone.
        println!("seed {seed}");
        Schedule::start(seed).await.run().await;
    }
}

struct Schedule {
    rig: Rig,
    chance: Env,
    informers: Vec<Informer>,
    replicas: Vec<Replica>,
    reader: Reader,
    own: BTreeMap<&'static str, Own>,
    /// Uids that were gone when an own answer came.
    dead: BTreeSet<String>,
    /// Faults of the server that are in force.
    faults: Vec<FaultHandle>,
    log: Vec<String>,
}

/// The last answered own write of a name.
#[derive(Clone, Debug)]
enum Own {
    Wrote { uid: String, version: Version },
    Deleted,
}

impl Schedule {
    async fn start(seed: u64) -> Self {
        let rig = Rig::start();
        let (informers, replicas) = Self::watch(&rig).await;
        let reader = Reader::new(informers.clone());
        Self {
            chance: Env::seeded(jiff::Timestamp::UNIX_EPOCH, seed),
            rig,
            informers,
            replicas,
            reader,
            own: BTreeMap::new(),
            dead: BTreeSet::new(),
            faults: Vec::new(),
            log: Vec::new(),
        }
    }

    /// All, those with a label, and the metadata of all.
    async fn watch(rig: &Rig) -> (Vec<Informer>, Vec<Replica>) {
        let spec = InformerSpec::all(&config_maps()).namespace(Some("default"));
        let specs = [
            spec.clone(),
            spec.clone().labels(Some("value=in".to_owned())),
            spec.metadata_only(true),
        ];
        let mut informers = Vec::new();
        let mut replicas = Vec::new();
        for spec in &specs {
            let informer = rig.synced(spec).await;
            replicas.push(Replica::of(&informer));
            informers.push(informer);
        }
        (informers, replicas)
    }

    async fn run(mut self) {
        for _ in 0..STEPS {
            self.step().await;
            self.check_reads().await;
        }
        self.rig.wire.clear();
        self.rig.wire.release();
        self.heal();
        tokio::time::sleep(Duration::from_secs(240)).await;
        self.check_end().await;
    }

    async fn step(&mut self) {
        let name = NAMES[self.below(NAMES.len())];
        let value = ["in", "out"][self.below(2)];
        let action = self.below(22);
        self.log.push(format!("{action}:{name}:{value}"));
        match action {
            0..=2 => self.other_writes(name, value).await,
            3 => self.other_deletes(name).await,
            4..=7 => self.we_apply(name, value).await,
            8 | 9 => self.we_delete(name).await,
            10 => self.rig.wire.hold(),
            11 => self.rig.wire.release(),
            12 => self.rig.wire.cut(),
            13 => {
                self.rig.cluster.server().compact();
                self.rig.wire.cut();
            }
            14 | 15 => self.break_something(),
            16 | 17 => self.trouble(),
            18 => self.heal(),
            19 => self.rig.cluster.restart_server().await,
            // Seldom: what is in flight should mostly come to its end.
            20 if self.below(6) == 0 => self.restart().await,
            _ => {
                let wait = self.below(3_000) as u64;
                tokio::time::sleep(Duration::from_millis(wait)).await;
            }
        }
    }

    async fn other_writes(&mut self, name: &'static str, value: &str) {
        let note = self.chance.next_u64().to_string();
        let patch = json!({ "metadata": { "labels": { "value": value } }, "data": { "value": value, "note": note } });
        if self.rig.cluster.get::<ConfigMap>(name).await.is_some() {
            self.rig.cluster.patch::<ConfigMap>(name, patch).await;
        } else {
            self.rig.cluster.apply(&config_map(name, value)).await;
        }
    }

    async fn other_deletes(&mut self, name: &'static str) {
        if self.rig.cluster.get::<ConfigMap>(name).await.is_some() {
            self.rig.cluster.delete::<ConfigMap>(name).await;
        }
    }

    async fn we_apply(&mut self, name: &'static str, value: &str) {
        let before = self
            .rig
            .cluster
            .get::<ConfigMap>(name)
            .await
            .and_then(|map| map.metadata.uid);
        let mut object = config_map(name, value);
        object["data"]["ours"] = self.chance.next_u64().to_string().into();
        match self.rig.apply(&object).await {
            Ok(answer) => {
                let answer: Value = serde_json::from_slice(&answer).expect("JSON");
                let text = |field: &str| answer["metadata"][field].as_str().expect("set").to_owned();
                let (uid, version) = (text("uid"), Version::parse(&text("resourceVersion")));
                if let Some(Own::Wrote { uid: earlier, .. }) = self.own.get(name)
                    && *earlier != uid
                {
                    self.dead.insert(earlier.clone());
                }
                self.own.insert(name, Own::Wrote { uid, version });
            }
            Err(error) => self.unknown(name, &error, before.as_deref()),
        }
    }

    async fn we_delete(&mut self, name: &'static str) {
        let before = self
            .rig
            .cluster
            .get::<ConfigMap>(name)
            .await
            .and_then(|map| map.metadata.uid);
        match self.rig.delete(&config_maps(), &key(name)).await {
            Ok(_) => {
                self.dead.extend(before);
                self.own.insert(name, Own::Deleted);
            }
            Err(error) => self.unknown(name, &error, before.as_deref()),
        }
    }

    /// A write without an answer: the next read must ask the server.
    fn unknown(&mut self, name: &'static str, error: &ClientError, before: Option<&str>) {
        if !error.outcome_unknown() {
            return;
        }
        let looked = self.reader.get(&config_maps(), &key(name));
        assert!(
            matches!(looked, Lookup::Unknown(_)),
            "{name} after {error} (was {before:?}): {looked:?}"
        );
    }

    /// A fault of the server that stays for a while: watches that repeat themselves, lag or break, requests that fail by
    /// chance, before or after they took effect.
    fn trouble(&mut self) {
        let cluster = &self.rig.cluster;
        let maps = "configmaps";
        let handle = match self.below(8) {
            0 => cluster.inject(Fault::watch_duplicated().of(maps).probability(0.3).by("rig")),
            1 => cluster.inject(Fault::watch_delayed(Duration::from_millis(900)).of(maps).by("rig")),
            2 => cluster.inject(Fault::watch_delayed(Events(2)).of(maps).by("rig")),
            3 => cluster.inject(Fault::watch_cut_before_event().of(maps).probability(0.2).by("rig")),
            4 => cluster.inject(Fault::watch_cut_after_event().of(maps).probability(0.2).by("rig")),
            5 => cluster.inject(Fault::watch_expired().of(maps).probability(0.1).by("rig")),
            6 => cluster.inject(
                Fault::throttled(Duration::from_secs(1))
                    .of(maps)
                    .probability(0.2)
                    .by("rig"),
            ),
            _ => cluster.inject(
                Fault::timeout()
                    .after_effect()
                    .of(maps)
                    .on(Verb::Patch)
                    .probability(0.2)
                    .by("rig"),
            ),
        };
        self.faults.push(handle);
        if self.faults.len() > 2 {
            self.faults.remove(0).heal();
        }
    }

    fn heal(&mut self) {
        for fault in self.faults.drain(..) {
            fault.heal();
        }
    }

    /// The operator begins anew: what it had written before, it reads as anybody's.
    async fn restart(&mut self) {
        self.rig.wire.clear();
        self.rig.wire.release();
        self.heal();
        self.rig.restart();
        self.own.clear();
        self.dead.clear();
        (self.informers, self.replicas) = Self::watch(&self.rig).await;
        self.reader = Reader::new(self.informers.clone());
    }

    fn break_something(&mut self) {
        let busy = |code| {
            Broken::Answer(
                StatusCode::from_u16(code).expect("a code"),
                bytes::Bytes::from_static(b"busy"),
            )
        };
        let fault = match self.below(10) {
            8 => busy(503),
            // As from a server that does not stream lists; no answer to any other verb.
            9 => busy(422),
            0 => Broken::CutBefore,
            1 => Broken::CutAfter,
            2 => Broken::HangAfter,
            3 => busy(429),
            4 => busy(500),
            5 => busy(504),
            6 => Broken::Delay(Duration::from_millis(40), Duration::from_millis(700)),
            _ => Broken::Delay(Duration::from_millis(700), Duration::from_millis(0)),
        };
        let verb = ["patch", "delete", "watch", "list", "get"][self.below(5)];
        let unstreamed = matches!(&fault, Broken::Answer(code, _) if code.as_u16() == 422);
        let verb = if unstreamed { "watch" } else { verb };
        self.log.push(format!("{verb} {fault:?}"));
        self.rig.wire.fault(verb, fault);
    }

    async fn check_reads(&self) {
        let listed = self.reader.list(&config_maps(), Some("default"), None);
        for (name, own) in &self.own {
            let looked = self.reader.get(&config_maps(), &key(name));
            let there = self.rig.cluster.get::<ConfigMap>(name).await;
            self.check_one(name, own, &looked, there.as_ref());
            if let Some(listed) = &listed
                && !matches!(looked, Lookup::Unknown(_))
            {
                let in_list = listed.iter().find(|object| *object.key() == key(name));
                let looked = in_list.map_or(Lookup::Missing, |object| Lookup::Found(object.clone()));
                self.check_one(name, own, &looked, there.as_ref());
            }
        }
    }

    fn check_one(&self, name: &str, own: &Own, looked: &Lookup, there: Option<&ConfigMap>) {
        match (looked, own) {
            (Lookup::Found(found), _) if self.dead.contains(&*found.header().uid) => {
                panic!(
                    "{name}: {found:?} is gone, as an own answer said; the server has {:?}; {:?}",
                    there.map(|map| &map.metadata),
                    self.log
                )
            }
            (Lookup::Found(found), Own::Wrote { uid, version }) if *found.header().uid == **uid => assert!(
                found.header().version.reaches(version),
                "{name}: {found:?} is behind the own write {version}; {:?}",
                self.log
            ),
            (Lookup::Missing, Own::Wrote { uid, .. }) => {
                let still = there.and_then(|map| map.metadata.uid.as_ref()) == Some(uid);
                assert!(!still, "{name}: the own write of {uid} is not seen; {:?}", self.log);
            }
            _ => {}
        }
    }

    async fn check_end(&self) {
        let server: BTreeMap<String, (String, String, bool)> = self
            .rig
            .cluster
            .list::<ConfigMap>()
            .await
            .into_iter()
            .filter(|map| map.metadata.namespace.as_deref() == Some("default"))
            .map(|map| {
                let inside = map
                    .metadata
                    .labels
                    .as_ref()
                    .and_then(|labels| labels.get("value"))
                    .is_some_and(|v| v == "in");
                let name = map.metadata.name.unwrap_or_default();
                let uid = map.metadata.uid.unwrap_or_default();
                (name, (uid, map.metadata.resource_version.unwrap_or_default(), inside))
            })
            .collect();
        for (informer, replica) in self.informers.iter().zip(&self.replicas) {
            let selected = informer.spec().labels.is_some();
            let expected: Held = server
                .iter()
                .filter(|(_, (_, _, inside))| !selected || *inside)
                .map(|(name, (uid, version, _))| {
                    (ObjectKey::new("default", name.as_str()), (uid.clone(), version.clone()))
                })
                .collect();
            let held: Held = informer.list(None, None).iter().map(entry).collect();
            assert_eq!(
                held,
                expected,
                "{} against the server; {:?}",
                informer.spec(),
                informer.status()
            );
            assert_eq!(replica.held(), expected, "{}: what its subscriber saw", informer.spec());
        }
        let selector = Selector::parse("value=in").expect("valid");
        let narrow = self
            .reader
            .list(&config_maps(), Some("default"), Some(&selector))
            .expect("settled");
        assert_eq!(narrow.len(), server.values().filter(|(_, _, inside)| *inside).count());
        let overlay = self.rig.informers.overlay();
        assert!(overlay.is_empty(), "{overlay:?}");
    }

    fn below(&self, bound: usize) -> usize {
        usize::try_from(self.chance.next_u64() % bound as u64).expect("small")
    }
}

type Held = BTreeMap<ObjectKey, (String, String)>;

fn entry(object: &kubewright::cache::Cached) -> (ObjectKey, (String, String)) {
    let header = object.header();
    (header.key.clone(), (header.uid.to_string(), header.version.to_string()))
}

/// What a subscriber knows who sees nothing but deltas. Each must fit what came before.
#[derive(Clone, Default)]
struct Replica(Arc<Mutex<Held>>);

impl Replica {
    fn of(informer: &Informer) -> Self {
        let replica = Self::default();
        let held = Arc::clone(&replica.0);
        informer.subscribe(Arc::new(move |delta: &Delta| {
            let mut held = held.lock().expect("unpoisoned");
            let before = held.get(&delta.key).cloned();
            let old = delta.old_cached().map(|object| entry(object).1);
            assert_eq!(before, old, "{delta:?} does not follow what came before");
            match delta.new_cached() {
                Some(new) => {
                    let (key, new) = entry(new);
                    assert!(old.is_none_or(|old| old.0 == new.0), "{delta:?} hides a recreation");
                    held.insert(key, new);
                }
                None => {
                    held.remove(&delta.key);
                }
            }
        }));
        replica
    }

    fn held(&self) -> Held {
        self.0.lock().expect("unpoisoned").clone()
    }
}
