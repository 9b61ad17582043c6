//! What a controller reads: the overlay of own writes over the informers it declared.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::cache::informer::Informer;
use crate::cache::overlay::Entry;
use crate::cache::selector::Selector;
use crate::cache::spec::Covers;
use crate::cache::{Cached, DecodeError};
use crate::key::ObjectKey;
use crate::kind::Kind;

/// Reads of one controller. Cheap to clone; never waits and never asks the server.
#[derive(Clone)]
pub struct Reader {
    /// By kind. A controller has few, and a search from the first finds one sooner than any map.
    informers: Arc<[(Kind, Vec<Informer>)]>,
}

/// What the cache knows of one object.
#[derive(Clone, Debug)]
pub enum Lookup<T = Cached> {
    /// The object.
    Found(T),
    /// There is no such object.
    Missing,
    /// Only the server can tell.
    Unknown(Unknown),
}

/// Why only the server can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// No informer of the controller keeps bodies of the kind up.
    NotWatched,
    /// The object lies outside the namespaces that are watched.
    OutsideNamespaces,
    /// It may exist outside the selector that is watched.
    OutsideSelector,
    /// The first list has not ended.
    Unsynced,
    /// The outcome of an own write is unknown.
    InDoubt,
}

impl Reader {
    /// Reads from these informers.
    #[must_use]
    pub fn new(informers: impl IntoIterator<Item = Informer>) -> Self {
        let mut by_kind: BTreeMap<Kind, Vec<Informer>> = BTreeMap::new();
        for informer in informers {
            let of_kind = by_kind.entry(informer.kind().clone()).or_default();
            if of_kind.iter().all(|known| known.spec() != informer.spec()) {
                of_kind.push(informer);
            }
        }
        for of_kind in by_kind.values_mut() {
            // What covers the kind fully answers first.
            of_kind.sort_by_key(|informer| {
                let spec = informer.spec();
                (spec.labels.is_some() || spec.fields.is_some(), spec.clone())
            });
        }
        Self {
            informers: by_kind.into_iter().collect(),
        }
    }

    /// The object of this name.
    #[must_use]
    pub fn get(&self, kind: &Kind, key: &ObjectKey) -> Lookup {
        self.look(kind, key, |informer| !informer.spec().metadata_only)
    }

    /// As [`get`](Self::get), decoded. One that was decoded before costs little more than a look-up.
    ///
    /// # Errors
    ///
    /// As [`Cached::decode`].
    pub fn get_as<K>(&self, kind: &Kind, key: &ObjectKey) -> Result<Lookup<Arc<K>>, DecodeError>
    where
        K: DeserializeOwned + Send + Sync + 'static,
    {
        // The way of most reads: the kind is watched whole, and no own write is on its way.
        if let Some(informer) = self.first(kind)
            && informer.covers(key) == Covers::Full
            && !informer.spec().metadata_only
            && informer.unseen(key).is_none()
            && let Some(found) = informer.get_as(key)
        {
            return found.map(Lookup::Found);
        }
        Ok(match self.get(kind, key) {
            Lookup::Found(cached) => Lookup::Found(cached.decode()?),
            Lookup::Missing => Lookup::Missing,
            Lookup::Unknown(why) => Lookup::Unknown(why),
        })
    }

    /// The objects whose controller this uid is, decoded, ordered by key; an informer of bodies answers.
    ///
    /// # Errors
    ///
    /// As [`Cached::decode`], for the first object that does not fit.
    pub fn controlled_as<K>(&self, kind: &Kind, uid: &str) -> Result<Vec<Arc<K>>, DecodeError>
    where
        K: DeserializeOwned + Send + Sync + 'static,
    {
        if let [informer] = self.of_kind(kind)
            && informer.is_settled()
        {
            return informer.controlled_as(uid);
        }
        let mut owned = self.by_owner(kind, uid);
        owned.retain(|object| object.header().controller().is_some_and(|owner| *owner.uid == *uid));
        owned.iter().map(Cached::decode).collect()
    }

    /// The metadata of the object of this name, from informers of bodies or of metadata alone.
    #[must_use]
    pub fn metadata(&self, kind: &Kind, key: &ObjectKey) -> Lookup {
        self.look(kind, key, |_| true)
    }

    /// The whole object, if it is known to be there: what "No-op skip" compares.
    #[must_use]
    pub fn cached_body(&self, kind: &Kind, key: &ObjectKey) -> Option<Cached> {
        match self.get(kind, key) {
            Lookup::Found(cached) if !cached.metadata_only() => Some(cached),
            _ => None,
        }
    }

    /// The objects of a namespace, or of all that are watched, that `selector` selects; ordered by key.
    ///
    /// `None` where only the server can tell.
    #[must_use]
    pub fn list(&self, kind: &Kind, namespace: Option<&str>, selector: Option<&Selector>) -> Option<Vec<Cached>> {
        self.list_where(kind, namespace, selector, |informer| !informer.spec().metadata_only)
    }

    /// As [`list`](Self::list), from informers of bodies or of metadata alone.
    #[must_use]
    pub fn list_metadata(
        &self,
        kind: &Kind,
        namespace: Option<&str>,
        selector: Option<&Selector>,
    ) -> Option<Vec<Cached>> {
        self.list_where(kind, namespace, selector, |_| true)
    }

    fn list_where(
        &self,
        kind: &Kind,
        namespace: Option<&str>,
        selector: Option<&Selector>,
        serves: impl Fn(&Informer) -> bool,
    ) -> Option<Vec<Cached>> {
        let namespace = namespace.filter(|_| kind.namespaced());
        let within: Vec<&Informer> = self
            .of_kind(kind)
            .iter()
            .filter(|informer| serves(informer) && informer.includes(selector))
            .filter(|informer| match (&informer.spec().namespace, namespace) {
                (None, _) | (Some(_), None) => true,
                (Some(own), Some(wanted)) => **own == *wanted,
            })
            .collect();
        // One informer of all namespaces answers alone; else one of each namespace, and together they are all there is.
        let mut chosen: Vec<&Informer> = Vec::new();
        match within.iter().find(|informer| informer.spec().namespace.is_none()) {
            Some(whole) => chosen.push(whole),
            None => {
                for informer in within {
                    let namespace = &informer.spec().namespace;
                    if chosen.iter().all(|other| other.spec().namespace != *namespace) {
                        chosen.push(informer);
                    }
                }
            }
        }
        if chosen.is_empty() || !chosen.iter().all(|informer| informer.has_synced()) {
            return None;
        }
        let mut found = Vec::new();
        for informer in chosen {
            let unseen = informer.all_unseen(namespace);
            if unseen.iter().any(|(_, entry)| matches!(entry, Entry::InDoubt)) {
                return None;
            }
            found.extend(merge(informer, informer.list(namespace, selector), unseen, |object| {
                informer.selects(object) && selector.is_none_or(|selector| selector.matches(&object.header().labels))
            }));
        }
        found.sort_by(|a, b| a.key().cmp(b.key()));
        Some(found)
    }

    /// The objects that name this uid as an owner, ordered by key; an informer of metadata alone answers too.
    #[must_use]
    pub fn by_owner(&self, kind: &Kind, uid: &str) -> Vec<Cached> {
        let owned = |object: &Cached| object.header().owners.iter().any(|owner| *owner.uid == *uid);
        self.union(kind, |informer| Some((informer.by_owner(uid), Box::new(owned))))
            .unwrap_or_default()
    }

    /// The objects under a value of an index; `None` where no informer of the kind has such an index.
    #[must_use]
    pub fn by_index(&self, kind: &Kind, name: &str, value: &str) -> Option<Vec<Cached>> {
        self.union(kind, |informer| {
            let function = informer.index(name)?;
            let under = move |object: &Cached| function(object).iter().any(|found| found == value);
            Some((informer.by_index(name, value), Box::new(under)))
        })
    }

    /// The objects of a namespace, or of all, whose last write has an unknown outcome; ordered by key.
    #[must_use]
    pub fn in_doubt(&self, kind: &Kind, namespace: Option<&str>) -> Vec<ObjectKey> {
        let unseen = self.of_kind(kind).iter().flat_map(|i| i.all_unseen(namespace));
        let doubtful = unseen.filter(|(_, entry)| matches!(entry, Entry::InDoubt));
        let keys: BTreeSet<ObjectKey> = doubtful.map(|(key, _)| key).collect();
        keys.into_iter().collect()
    }

    /// Whether an informer holds the object with its body, and so will tell when it goes.
    pub(crate) fn keeps(&self, object: &Cached) -> bool {
        let mut informers = self.of_kind(object.kind()).iter();
        informers.any(|informer| !informer.spec().metadata_only && informer.selects(object))
    }

    /// The informers of a kind.
    #[must_use]
    pub fn of_kind(&self, kind: &Kind) -> &[Informer] {
        let found = self.informers.iter().find(|(own, _)| own == kind);
        found.map_or(&[], |(_, informers)| informers.as_slice())
    }

    fn first(&self, kind: &Kind) -> Option<&Informer> {
        self.of_kind(kind).first()
    }

    fn look(&self, kind: &Kind, key: &ObjectKey, serves: impl Fn(&Informer) -> bool) -> Lookup {
        let mut why = Unknown::NotWatched;
        for informer in self.of_kind(kind).iter().filter(|informer| serves(informer)) {
            let covers = informer.covers(key);
            if covers == Covers::No {
                if why == Unknown::NotWatched {
                    why = Unknown::OutsideNamespaces;
                }
                continue;
            }
            // The overlay before the informer, see there.
            let unseen = informer.unseen(key);
            let held = informer.get(key);
            let missing = match (unseen, held) {
                (Some(Entry::InDoubt), _) => return Lookup::Unknown(Unknown::InDoubt),
                (Some(Entry::Object(own)), held) => return Lookup::Found(newer(own, held)),
                (Some(Entry::Deleted(gone)), Some(held)) if gone.hides(held.header()) => true,
                (_, Some(held)) => return Lookup::Found(held),
                (Some(Entry::Deleted(_)), None) => true,
                (None, None) => informer.has_synced(),
            };
            why = match (missing, covers) {
                (true, Covers::Full) => return Lookup::Missing,
                (true, _) => Unknown::OutsideSelector,
                (false, _) => Unknown::Unsynced,
            };
        }
        Lookup::Unknown(why)
    }

    /// The results of all informers of a kind; `None` where none has any.
    #[allow(clippy::type_complexity, reason = "a result and who belongs into it, used twice")]
    fn union<'a>(
        &self,
        kind: &Kind,
        ask: impl Fn(&Informer) -> Option<(Vec<Cached>, Box<dyn Fn(&Cached) -> bool + 'a>)>,
    ) -> Option<Vec<Cached>> {
        let mut found: Option<BTreeMap<ObjectKey, Cached>> = None;
        for informer in self.of_kind(kind) {
            let unseen = informer.all_unseen(None);
            let Some((base, accepts)) = ask(informer) else { continue };
            let all = found.get_or_insert_with(BTreeMap::new);
            for object in merge(informer, base, unseen, accepts) {
                all.entry(object.key().clone()).or_insert(object);
            }
        }
        found.map(|all| all.into_values().collect())
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.informers.iter().flat_map(|(_, of_kind)| of_kind))
            .finish()
    }
}

/// An own write over what the informer holds, which may be newer while a list is under way.
fn newer(own: Cached, held: Option<Cached>) -> Cached {
    match held {
        Some(held) if held.header().version.reaches(&own.header().version) => held,
        _ => own,
    }
}

/// Own writes over what an informer gave.
fn merge(
    informer: &Informer,
    base: Vec<Cached>,
    unseen: Vec<(ObjectKey, Entry)>,
    accepts: impl Fn(&Cached) -> bool,
) -> Vec<Cached> {
    if unseen.is_empty() {
        return base;
    }
    let mut all: BTreeMap<ObjectKey, Cached> = base.into_iter().map(|object| (object.key().clone(), object)).collect();
    for (key, entry) in unseen {
        match entry {
            Entry::Object(own) => {
                all.remove(&key);
                let object = newer(own, informer.get(&key));
                if accepts(&object) {
                    all.insert(key, object);
                }
            }
            Entry::Deleted(gone) => {
                if all.get(&key).is_some_and(|held| gone.hides(held.header())) {
                    all.remove(&key);
                }
            }
            Entry::InDoubt => {}
        }
    }
    all.into_values().collect()
}
