//! Shares equal strings: namespaces, label keys and values, owners.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// A set of strings that are in use. What nobody uses any more goes when the set has doubled.
#[derive(Debug, Default)]
pub(crate) struct Interner(Mutex<Strings>);

#[derive(Debug, Default)]
struct Strings {
    set: BTreeSet<Arc<str>>,
    purge_at: usize,
}

const SMALLEST_PURGE: usize = 1024;

impl Interner {
    /// The shared string that equals `text`.
    pub(crate) fn get(&self, text: &str) -> Arc<str> {
        let mut strings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = strings.set.get(text) {
            return Arc::clone(found);
        }
        if strings.set.len() >= strings.purge_at.max(SMALLEST_PURGE) {
            strings.set.retain(|text| Arc::strong_count(text) > 1);
            strings.purge_at = strings.set.len() * 2;
        }
        let shared: Arc<str> = Arc::from(text);
        strings.set.insert(Arc::clone(&shared));
        shared
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).set.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_are_one_and_unused_ones_go() {
        let interner = Interner::default();
        let kept = interner.get("shop");
        assert!(Arc::ptr_eq(&kept, &interner.get("shop")));
        for n in 0..10_000 {
            interner.get(&format!("label-{n}"));
        }
        assert!(interner.len() <= SMALLEST_PURGE + 1, "{}", interner.len());
        assert!(Arc::ptr_eq(&kept, &interner.get("shop")));
    }
}
