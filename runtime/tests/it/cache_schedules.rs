//! Random schedules of writes and faults: the cache ends equal to the server, subscribers saw a sequence that explains
//! it, and no read ever went behind an own write.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::StatusCode;
use kubewright::cache::{Informer, InformerSpec, Lookup, Reader, Selector};
use kubewright::client::{ClientError, Fault};
use kubewright::delta::{Delta, Version};
use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::{Env, ObjectKey};
use serde_json::{Value, json};

use crate::cache_rig::{Rig, config_map, config_maps, key};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const STEPS: usize = 120;

#[kubewright_testkit::test]
async fn whatever_happens_the_cache_ends_equal_to_the_server_and_reads_never_go_behind_own_writes() {
    let seeds = match std::env::var("KUBEWRIGHT_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => vec![seed],
        None => (1..=12).collect::<Vec<u64>>(),
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
        let reader = Reader::new(informers.clone());
        Self {
            chance: Env::seeded(jiff::Timestamp::UNIX_EPOCH, seed),
            rig,
            informers,
            replicas,
            reader,
            own: BTreeMap::new(),
            dead: BTreeSet::new(),
            log: Vec::new(),
        }
    }

    async fn run(mut self) {
        for _ in 0..STEPS {
            self.step().await;
            self.check_reads().await;
        }
        self.rig.wire.clear();
        self.rig.wire.release();
        tokio::time::sleep(Duration::from_secs(240)).await;
        self.check_end().await;
    }

    async fn step(&mut self) {
        let name = NAMES[self.below(NAMES.len())];
        let value = ["in", "out"][self.below(2)];
        let action = self.below(16);
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
            14 => self.break_something(),
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

    fn break_something(&mut self) {
        let busy = |code| {
            Fault::Answer(
                StatusCode::from_u16(code).expect("a code"),
                bytes::Bytes::from_static(b"busy"),
            )
        };
        let fault = match self.below(8) {
            0 => Fault::CutBefore,
            1 => Fault::CutAfter,
            2 => Fault::HangAfter,
            3 => busy(429),
            4 => busy(500),
            5 => busy(504),
            6 => Fault::Delay(Duration::from_millis(40), Duration::from_millis(700)),
            _ => Fault::Delay(Duration::from_millis(700), Duration::from_millis(0)),
        };
        let verb = ["patch", "delete", "watch", "list", "get"][self.below(5)];
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
