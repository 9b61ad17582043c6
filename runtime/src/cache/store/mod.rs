//! Where the objects of one informer lie, in three tiers behind one interface.
//!
//! What is known without decoding is packed and always at hand; a bounded set of objects is kept decoded; the rest is
//! slim JSON in pages, under a dictionary of the kind once the kind is large enough to gain from one.

mod codec;
mod hot;
mod members;
mod packed;
mod pages;
mod record;
mod sharing;
mod symbols;
mod tuning;
mod values;

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use self::codec::Codec;
pub(crate) use self::codec::Contexts;
use self::hot::{COLD, Hot};
pub(crate) use self::members::Members;
use self::packed::Uid;
use self::pages::{Pages, Place};
pub(crate) use self::record::{Body, Record};
pub(crate) use self::symbols::{Symbol, Symbols};
pub(crate) use self::tuning::{Encoder, Tuning};
use crate::cache::facts::{Facts, Scratch};
use crate::delta::Version;
use crate::key::ObjectKey;

/// The objects of one informer. A slot is the number of an object for as long as it is held.
#[derive(Debug)]
pub(crate) struct Store {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Slots by namespace and name.
    table: HashTable<u32>,
    pages: Pages,
    namespaces: Symbols,
    labels: Symbols,
    owners: Symbols,
    finalizers: Symbols,
    /// Which lists of owners name a uid: a list and the place in it.
    owner_uids: HashTable<(Symbol, u32)>,
    /// By label key, and only for those somebody asked for: which sets of labels hold a value.
    label_values: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Members>>,
    /// One bit for each slot: whether the current epoch has stored or touched it.
    seen: Vec<u64>,
    codecs: Vec<Option<InUse>>,
    current: Option<u8>,
    contexts: Arc<Contexts>,
    hot: Hot,
    /// What bodies take that are under no codec, in bytes.
    plain: usize,
    scratch: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    place: Place,
    hash: u32,
    hot: u32,
}

#[derive(Debug)]
struct InUse {
    codec: Arc<Codec>,
    bodies: usize,
}

/// The page of a slot that holds nothing.
const NOWHERE: Place = Place {
    page: u32::MAX,
    offset: 0,
};

impl Store {
    /// An empty store that keeps this many objects decoded.
    pub(crate) fn new(contexts: Arc<Contexts>, hot: usize) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            table: HashTable::new(),
            pages: Pages::default(),
            namespaces: Symbols::default(),
            labels: Symbols::default(),
            owners: Symbols::default(),
            finalizers: Symbols::default(),
            owner_uids: HashTable::new(),
            label_values: BTreeMap::new(),
            seen: Vec::new(),
            codecs: Vec::new(),
            current: None,
            contexts,
            hot: Hot::new(hot.max(1)),
            plain: 0,
            scratch: Vec::new(),
        }
    }

    /// How many objects there are.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// What the objects take, in bytes; what is decoded and the indexes apart.
    pub(crate) fn bytes(&self) -> usize {
        self.pages.room()
    }

    /// The slot of an object.
    pub(crate) fn find(&self, key: &ObjectKey) -> Option<u32> {
        if !key.cluster.is_empty() {
            return None;
        }
        self.find_by(&key.namespace, &key.name)
    }

    /// As [`find`](Self::find), by namespace and name.
    pub(crate) fn find_by(&self, namespace: &str, name: &str) -> Option<u32> {
        let found = self.table.find(hash_of(namespace, name), |slot| {
            let (symbol, own) = packed::key_bytes(self.blob(*slot));
            own == name.as_bytes() && **self.namespaces.text(symbol) == *namespace
        });
        found.copied()
    }

    /// An object by its slot.
    pub(crate) fn record(&self, slot: u32) -> Record<'_> {
        Record::new(self, slot)
    }

    /// Stores an object in the current epoch, over the one of its name; gives its slot. `None` for a name that no
    /// object can have.
    pub(crate) fn insert(&mut self, facts: &Facts<'_>, scratch: &Scratch, body: &Encoder) -> Option<u32> {
        let held = self.find_by(&facts.namespace, &facts.name);
        let slot = held.unwrap_or_else(|| self.new_slot());
        let before = held.map(|slot| {
            let blob = self.blob(slot);
            (packed::key(blob).0, packed::symbols(blob))
        });
        let shared = self.share(facts, scratch, slot);
        let mut blob = std::mem::take(&mut self.scratch);
        let stored = body.stored(&scratch.body);
        let fits = packed::encode(&mut blob, facts, shared, stored);
        if fits {
            self.count(stored.codec, stored.bytes.len(), true);
            self.place(slot, held.is_some(), &mut blob);
            if held.is_none() {
                self.enter(slot, &facts.namespace, &facts.name);
            }
            self.mark(slot);
        } else {
            self.free.push(slot);
        }
        self.scratch = blob;
        // What the old version shared goes last, so that what both share stays.
        match (fits, before) {
            (true, Some((namespace, symbols))) => self.unshare(slot, namespace, symbols, Some(shared)),
            (false, _) => {
                let symbols = [shared.labels, shared.owners, shared.finalizers];
                self.unshare(slot, shared.namespace, symbols, None);
            }
            (true, None) => {}
        }
        fits.then_some(slot)
    }

    /// Takes an object out.
    pub(crate) fn remove(&mut self, slot: u32) {
        self.cool(slot);
        let blob = self.blob(slot);
        let (namespace, symbols) = (packed::key(blob).0, packed::symbols(blob));
        let body = packed::body(blob);
        let (codec, length) = (body.codec, body.bytes.len());
        self.count(codec, length, false);
        let Slot { place, hash, .. } = self.slots[slot as usize];
        if let Ok(found) = self.table.find_entry(spread(hash), |found| *found == slot) {
            found.remove();
        }
        self.slots[slot as usize].place = NOWHERE;
        self.unshare(slot, namespace, symbols, None);
        self.free.push(slot);
        if let Some(page) = self.pages.free(place) {
            self.evacuate(page);
        }
    }

    /// Moves an unchanged object to the current epoch.
    pub(crate) fn touch(&mut self, slot: u32) {
        self.mark(slot);
    }

    /// Starts a new epoch: a list begins.
    pub(crate) fn begin_epoch(&mut self) {
        self.seen.fill(0);
    }

    /// What the current epoch has not stored or touched, ordered by key: what a list that has ended did not hold.
    pub(crate) fn stale(&self) -> Vec<u32> {
        let mut stale: Vec<u32> = self.slots().filter(|slot| !self.is_marked(*slot)).collect();
        self.sort(&mut stale);
        stale
    }

    /// A list has ended: gives back what growth left over.
    pub(crate) fn fit(&mut self) {
        self.slots.shrink_to_fit();
        for symbols in [
            &mut self.namespaces,
            &mut self.labels,
            &mut self.owners,
            &mut self.finalizers,
        ] {
            symbols.fit();
        }
    }

    /// All objects, or those of one namespace, in the order of slots.
    pub(crate) fn all(&self, namespace: Option<&str>) -> Vec<u32> {
        let Some(namespace) = namespace else {
            return self.slots().collect();
        };
        let mut slots = Vec::new();
        if let Some(symbol) = self.namespaces.find(namespace) {
            self.namespaces.members(symbol).append_to(&mut slots);
        }
        slots
    }

    /// Sorts slots by the keys of their objects.
    pub(crate) fn sort(&self, slots: &mut [u32]) {
        let name = |slot: u32| packed::key(self.blob(slot));
        if slots.len() <= 32 {
            slots.sort_by(|a, b| {
                let ((a_in, a), (b_in, b)) = (name(*a), name(*b));
                let spaces = || self.namespaces.text(a_in).cmp(self.namespaces.text(b_in));
                if a_in == b_in { a.cmp(b) } else { spaces() }
            });
            return;
        }
        // Names lie far apart in memory: their first bytes, taken once, decide almost always.
        let mut order: Vec<(Symbol, &Arc<str>)> = self.namespaces.iter().collect();
        order.sort_by(|a, b| a.1.cmp(b.1));
        let mut ranks = BTreeMap::new();
        for (rank, (symbol, _)) in order.into_iter().enumerate() {
            ranks.insert(symbol, rank);
        }
        let mut keyed: Vec<(usize, [u8; 16], u32)> = slots
            .iter()
            .map(|slot| {
                let (namespace, name) = name(*slot);
                let mut first = [0; 16];
                let taken = name.len().min(16);
                first[..taken].copy_from_slice(&name.as_bytes()[..taken]);
                (ranks.get(&namespace).copied().unwrap_or_default(), first, *slot)
            })
            .collect();
        keyed.sort_unstable_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then_with(|| name(a.2).1.cmp(name(b.2).1)));
        for (slot, sorted) in slots.iter_mut().zip(keyed) {
            *slot = sorted.2;
        }
    }

    /// Whether a slot still holds this version of this object.
    pub(crate) fn holds(&self, slot: u32, uid: &str, version: &Version) -> bool {
        self.slots.get(slot as usize).is_some_and(|held| {
            held.place != NOWHERE && packed::identity(self.blob(slot)) == (Uid::of(uid), version.clone())
        })
    }

    /// The decoded object of a slot, if it is kept.
    pub(crate) fn hot<K: Send + Sync + 'static>(&self, slot: u32) -> Option<Arc<K>> {
        match self.slots[slot as usize].hot {
            COLD => None,
            number => self.hot.get(number),
        }
    }

    /// Keeps a decoded object for as long as there is room.
    pub(crate) fn keep<K: Send + Sync + 'static>(&mut self, slot: u32, object: Arc<K>) {
        let number = self.slots[slot as usize].hot;
        if number != COLD {
            self.hot.add_form(number, object);
            return;
        }
        if !self.hot.admits(slot) {
            return;
        }
        let (number, cooled) = self.hot.put(slot, object);
        if let Some(cooled) = cooled {
            self.slots[cooled as usize].hot = COLD;
        }
        self.slots[slot as usize].hot = number;
    }

    fn blob(&self, slot: u32) -> &[u8] {
        self.pages.blob(self.slots[slot as usize].place)
    }

    fn slots(&self) -> impl Iterator<Item = u32> {
        let held = self.slots.iter().enumerate().filter(|(_, slot)| slot.place != NOWHERE);
        held.filter_map(|(number, _)| u32::try_from(number).ok())
    }

    fn new_slot(&mut self) -> u32 {
        if let Some(slot) = self.free.pop() {
            return slot;
        }
        self.slots.push(Slot {
            place: NOWHERE,
            hash: 0,
            hot: COLD,
        });
        let slot = u32::try_from(self.slots.len() - 1).expect("an informer holds fewer than 4 billion objects");
        if self.seen.len() * 64 <= slot as usize {
            self.seen.push(0);
        }
        slot
    }

    /// Makes a new object findable.
    fn enter(&mut self, slot: u32, namespace: &str, name: &str) {
        let hash = hash_of(namespace, name);
        self.slots[slot as usize].hash = short(hash);
        let slots = &self.slots;
        self.table
            .insert_unique(hash, slot, |slot| spread(slots[*slot as usize].hash));
    }

    /// Writes the blob of an object: over the old one where that has room.
    fn place(&mut self, slot: u32, replaces: bool, blob: &mut [u8]) {
        let old = self.slots[slot as usize].place;
        if replaces {
            self.cool(slot);
            let body = packed::body(self.pages.blob(old));
            let (codec, length) = (body.codec, body.bytes.len());
            self.count(codec, length, false);
            if self.pages.overwrite(old, slot, blob) {
                return;
            }
        }
        self.slots[slot as usize].place = self.pages.store(slot, blob);
        if replaces && let Some(page) = self.pages.free(old) {
            self.evacuate(page);
        }
    }

    /// What is decoded of the old version is of no use any more.
    fn cool(&mut self, slot: u32) {
        let number = std::mem::replace(&mut self.slots[slot as usize].hot, COLD);
        if number != COLD
            && let Some(moved) = self.hot.remove(number)
        {
            self.slots[moved as usize].hot = number;
        }
    }

    fn mark(&mut self, slot: u32) {
        self.seen[slot as usize / 64] |= 1 << (slot % 64);
    }

    fn is_marked(&self, slot: u32) -> bool {
        self.seen[slot as usize / 64] & (1 << (slot % 64)) != 0
    }

    fn count(&mut self, codec: Option<u8>, length: usize, more: bool) {
        let Some(id) = codec else {
            self.plain = if more { self.plain + length } else { self.plain - length };
            return;
        };
        let entry = &mut self.codecs[usize::from(id)];
        if let Some(used) = entry {
            used.bodies = if more { used.bodies + 1 } else { used.bodies - 1 };
            if used.bodies == 0 && self.current != Some(id) {
                *entry = None;
            }
        }
    }
}

/// Eight bytes of a hash are kept by the table, four here: enough to spread a million objects.
fn hash_of(namespace: &str, name: &str) -> u64 {
    let mut hasher = HASHES.build_hasher();
    hasher.write(namespace.as_bytes());
    hasher.write_u8(b'/');
    hasher.write(name.as_bytes());
    spread(short(hasher.finish()))
}

fn short(hash: u64) -> u32 {
    u32::try_from(hash >> 32).unwrap_or_default()
}

/// Both halves alike: the table takes the place from one end and the tag from the other.
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

const HASHES: FixedState = FixedState::with_seed(0x6f62_6a65_6374_7321);

#[cfg(test)]
mod tests;
