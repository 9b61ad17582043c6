//! Whether the store has come to what a list held that was taken another way.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Informer, State};
use crate::cache::facts::ScanError;
use crate::delta::Version;
use crate::key::ObjectKey;

/// What a consistent list held: names, uids and versions.
#[derive(Debug)]
pub(crate) struct Listed {
    version: Version,
    objects: BTreeMap<ObjectKey, (Arc<str>, Version)>,
}

impl Listed {
    /// A list of that version, without objects yet.
    pub(crate) fn of(version: Version) -> Self {
        Self {
            version,
            objects: BTreeMap::new(),
        }
    }
}

impl Informer {
    /// Adds an object to a list of this informer's kind.
    pub(crate) fn note(&self, listed: &mut Listed, object: &[u8]) -> Result<(), ScanError> {
        let found = self.inner.scanner.identify(object)?;
        let key = ObjectKey::new(&*found.namespace, &*found.name);
        listed.objects.insert(key, (Arc::from(&*found.uid), found.version));
        Ok(())
    }

    /// Returns when the store holds all that the list held, or something newer.
    ///
    /// The versions of quiet kinds stand still while the server's goes on, and bookmarks come once a minute, so object by
    /// object is compared; one event or bookmark from beyond the list settles all at once.
    ///
    /// # Cancel safety
    ///
    /// Holds no state.
    pub(crate) async fn reached(&self, listed: &Listed) {
        let mut lagging = self.lagging(listed);
        loop {
            let moved = self.inner.moved.notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            {
                let state = self.state();
                if state.progress.as_ref().is_some_and(|own| own.reaches(&listed.version)) {
                    return;
                }
                lagging.retain(|key| lags(&state, key, listed));
            }
            if lagging.is_empty() {
                return;
            }
            moved.await;
        }
    }

    fn lagging(&self, listed: &Listed) -> Vec<ObjectKey> {
        let state = self.state();
        let held = state.store.all(None).into_iter();
        let unlisted = held
            .map(|slot| state.store.record(slot).key())
            .filter(|key| !listed.objects.contains_key(key));
        let all = unlisted.chain(listed.objects.keys().cloned());
        all.filter(|key| lags(&state, key, listed)).collect()
    }
}

fn lags(state: &State, key: &ObjectKey, listed: &Listed) -> bool {
    let held = state.store.find(key).map(|slot| state.store.record(slot));
    match (held, listed.objects.get(key)) {
        (Some(held), Some((uid, version))) => {
            let own = held.version();
            !(held.has_uid(uid) && (own == *version || own.reaches(version)))
        }
        // Made after the list, or gone before it.
        (Some(held), None) => !held.version().reaches(&listed.version),
        (None, listed) => listed.is_some(),
    }
}
