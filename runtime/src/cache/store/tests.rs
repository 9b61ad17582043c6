use std::collections::BTreeMap;

use super::*;
use crate::cache::facts::KeepManagers;
use crate::cache::scanner::Scanner;
use crate::env::Env;
use crate::kind::Kind;

/// A store with its encoder, as an informer drives them.
struct Rig {
    store: Store,
    encoder: Encoder,
    scanner: Scanner,
    scratch: Scratch,
}

impl Rig {
    fn new(compress: bool) -> Self {
        let contexts = Arc::<Contexts>::default();
        let kind = Kind::new("demo.dev", "v1", "App", "apps", true);
        Self {
            store: Store::new(Arc::clone(&contexts), 4),
            encoder: Encoder::new(contexts, compress),
            scanner: Scanner::new(&kind, false, KeepManagers::default()),
            scratch: Scratch::default(),
        }
    }

    fn put(&mut self, text: &str) -> u32 {
        let facts = self.scanner.scan(text.as_bytes(), &mut self.scratch).expect("valid");
        self.encoder.encode(&self.scratch.body);
        let slot = self.store.insert(&facts, &self.scratch, &self.encoder).expect("a name");
        if self.encoder.judge(&self.store) == Tuning::Learn {
            let samples = self.store.samples();
            if let Some(codec) = self.encoder.learn(&samples)
                && let Some(id) = self.store.take_up(Arc::clone(&codec))
            {
                self.encoder.take_up(id, codec);
            }
        }
        slot
    }

    fn json(&self, slot: u32) -> String {
        let record = self.store.record(slot);
        let json = record.body().json(&record.header());
        String::from_utf8(json.to_vec()).expect("text")
    }
}

const WORDS: [&str; 6] = ["replica", "container", "volume", "probe", "resources", "affinity"];

/// An object whose body is alike others' where `style` is the same.
fn object(namespace: &str, name: &str, version: u64, owner: usize, size: usize, style: usize, chance: &Env) -> String {
    let mut spec = String::new();
    while spec.len() < size {
        let word = WORDS[(spec.len() + style) % WORDS.len()];
        spec.push_str(&format!(
            r#""{word}-{}-of-style-{style}":"{:x}","#,
            spec.len(),
            chance.next_u64() >> 40
        ));
    }
    format!(
        r#"{{"apiVersion":"demo.dev/v1","kind":"App","metadata":{{"name":"{name}","namespace":"{namespace}","uid":"{name}-uid","resourceVersion":"{version}","labels":{{"owner":"{owner}","style":"{style}"}},"ownerReferences":[{{"apiVersion":"v1","kind":"X","name":"x","uid":"owner-{owner}","controller":{}}}]}},"spec":{{{spec}"end":1}}}}"#,
        owner.is_multiple_of(2)
    )
}

fn slots_of(rig: &Rig, keys: impl Iterator<Item = (String, String)>) -> Vec<u32> {
    keys.map(|(namespace, name)| rig.store.find_by(&namespace, &name).expect("held"))
        .collect()
}

/// Thousands of steps against a map: objects of all sizes, through all tiers, moves and dictionaries.
#[test]
fn whatever_happens_the_store_holds_what_was_put_into_it() {
    for seed in 1..=2_u64 {
        println!("seed {seed}");
        let chance = Env::seeded(jiff::Timestamp::UNIX_EPOCH, seed);
        let below = |limit: u64| usize::try_from(chance.next_u64() % limit).expect("small");
        let mut rig = Rig::new(seed % 2 != 0);
        rig.store.index_label("style");
        let mut model: BTreeMap<(String, String), (String, usize, usize)> = BTreeMap::new();
        for step in 0..3_000_u64 {
            // The style changes, so that a dictionary does not fit for ever.
            let style = below(3) + 3 * usize::from(step > 1_500);
            let (namespace, name) = (format!("ns-{}", below(5)), format!("object-{}", below(200)));
            let at = (namespace.clone(), name.clone());
            if below(5) == 0 {
                match rig.store.find_by(&namespace, &name) {
                    Some(slot) => {
                        rig.store.remove(slot);
                        assert!(model.remove(&at).is_some());
                    }
                    None => assert!(!model.contains_key(&at)),
                }
                continue;
            }
            let size = match below(100) {
                0 => 40_000,
                small @ 1..10 => small * 20,
                _ => 2_000 + below(1_500),
            };
            let owner = below(30);
            let text = object(&namespace, &name, step + 1, owner, size, style, &chance);
            let slot = rig.put(&text);
            if below(3) == 0 {
                rig.store.keep(slot, Arc::new(text.clone()));
            }
            model.insert(at, (text, owner, style));
            if step % 1_000 == 999 {
                check(&rig, &model);
            }
        }
        check(&rig, &model);
        if seed % 2 == 0 {
            assert!(rig.store.codecs.is_empty());
        } else {
            assert!(rig.store.current.is_some());
        }
        let allocated = rig.store.pages.allocated();
        assert!(
            allocated < rig.store.bytes() * 2 + (512 << 10),
            "{allocated} bytes of pages for {} of objects",
            rig.store.bytes()
        );
        for slot in rig.store.all(None) {
            rig.store.remove(slot);
        }
        assert_eq!((rig.store.len(), rig.store.bytes(), rig.store.plain), (0, 0, 0));
        assert_eq!(rig.store.pages.allocated(), 0);
        assert_eq!(rig.store.owner_uids.len(), 0);
        let symbols = [&rig.store.namespaces, &rig.store.labels, &rig.store.owners];
        assert!(symbols.iter().all(|symbols| symbols.iter().next().is_none()));
        let live = rig.store.codecs.iter().flatten().count();
        assert!(live <= 1, "{live} codecs for nothing");
    }
}

fn check(rig: &Rig, model: &BTreeMap<(String, String), (String, usize, usize)>) {
    assert_eq!(rig.store.len(), model.len());
    let mut all = rig.store.all(None);
    rig.store.sort(&mut all);
    assert_eq!(all, slots_of(rig, model.keys().cloned()));
    for (slot, (at, (text, _, _))) in all.iter().zip(model) {
        assert_eq!(rig.json(*slot), *text);
        let header = rig.store.record(*slot).header();
        assert_eq!((&*header.key.namespace, &*header.key.name), (&*at.0, &*at.1));
        assert!(rig.store.holds(*slot, &header.uid, &header.version));
        if let Some(hot) = rig.store.hot::<String>(*slot) {
            assert_eq!(*hot, *text);
        }
    }
    assert!(
        all.iter()
            .filter(|slot| rig.store.hot::<String>(**slot).is_some())
            .count()
            <= 4
    );
    let sorted = |mut slots: Vec<u32>| {
        rig.store.sort(&mut slots);
        slots
    };
    for owner in 0..30 {
        let of = |owner: usize| model.iter().filter(move |(_, held)| held.1 == owner);
        let expected = slots_of(rig, of(owner).map(|(at, _)| at.clone()));
        assert_eq!(sorted(rig.store.owned(&format!("owner-{owner}"), false)), expected);
        let controlled = if owner % 2 == 0 { expected } else { Vec::new() };
        assert_eq!(sorted(rig.store.owned(&format!("owner-{owner}"), true)), controlled);
    }
    for style in 0..6 {
        let of = model.iter().filter(|(_, held)| held.2 == style);
        let expected = slots_of(rig, of.map(|(at, _)| at.clone()));
        let found = rig.store.labelled("style", &style.to_string()).expect("indexed");
        assert_eq!(sorted(found), expected);
    }
    for namespace in ["ns-0", "ns-4", "ns-9"] {
        let of = model.keys().filter(|(own, _)| own == namespace);
        assert_eq!(sorted(rig.store.all(Some(namespace))), slots_of(rig, of.cloned()));
    }
}

#[test]
fn a_kind_is_compressed_once_it_is_large_and_what_does_not_shrink_is_left_alone() {
    let chance = Env::seeded(jiff::Timestamp::UNIX_EPOCH, 1);
    let mut alike = Rig::new(true);
    let mut random = Rig::new(true);
    for number in 0..1_200 {
        let name = format!("object-{number}");
        let slot = alike.put(&object("ns", &name, 1, number / 10, 2_000, 0, &chance));
        let (length, stored) = alike.store.record(slot).sizes();
        // 2 KB each: the megabyte is reached before the 700th.
        if number < 300 {
            assert_eq!(length, stored);
        } else if number > 700 {
            assert!(stored * 2 < length, "{stored} of {length}");
        }
        let noise: String = (0..200)
            .map(|_| {
                char::from_u32(0x4e00 + u32::try_from(chance.next_u64() % 20_000).expect("small")).expect("a letter")
            })
            .collect();
        let slot = random.put(&format!(
            r#"{{"metadata":{{"name":"{name}","resourceVersion":"1"}},"data":"{noise}{noise}"}}"#
        ));
        assert!(random.json(slot).contains(&noise));
    }
    assert!(alike.store.plain < 100 << 10, "{}", alike.store.plain);
    assert!(alike.store.bytes() < 1_200 * 1_000);
}

#[test]
fn most_of_the_memory_comes_back_when_most_objects_go() {
    let chance = Env::seeded(jiff::Timestamp::UNIX_EPOCH, 1);
    let mut rig = Rig::new(false);
    let slots: Vec<u32> = (0..2_000)
        .map(|number| rig.put(&object("ns", &format!("object-{number}"), 1, 0, 2_000, 0, &chance)))
        .collect();
    let before = rig.store.pages.allocated();
    // Nine of ten, from all over the pages.
    for (number, slot) in slots.iter().enumerate() {
        if number % 10 != 0 {
            rig.store.remove(*slot);
        }
    }
    let after = rig.store.pages.allocated();
    assert!(after * 4 < before, "{after} of {before} bytes are left");
}
