//! Equal strings stored once, by number: namespaces, whole sets of labels, lists of owners and of finalizers. Each
//! knows which objects use it, so that the table is an index too.

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use super::members::Members;

/// Strings by number. A string that no object uses any more goes, and its number is used again.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    entries: Vec<Entry>,
    table: HashTable<u32>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Entry {
    text: Arc<str>,
    members: Members,
}

/// The number of a string.
pub(crate) type Symbol = u32;

impl Symbols {
    /// The number of a string, if some object uses it.
    pub(crate) fn find(&self, text: &str) -> Option<Symbol> {
        let hash = hash_of(text);
        self.table.find(hash, |id| **self.text(*id) == *text).copied()
    }

    /// An object in `slot` uses a string. True where it is the first.
    pub(crate) fn add(&mut self, text: &str, slot: u32) -> (Symbol, bool) {
        let (symbol, new) = match self.find(text) {
            Some(symbol) => (symbol, false),
            None => (self.intern(text), true),
        };
        self.entries[symbol as usize].members.insert(slot);
        (symbol, new)
    }

    /// The object in `slot` uses the string no longer. Gives the string where nobody else does.
    pub(crate) fn drop(&mut self, symbol: Symbol, slot: u32) -> Option<Arc<str>> {
        let entry = &mut self.entries[symbol as usize];
        entry.members.remove(slot);
        if !entry.members.is_empty() {
            return None;
        }
        let text = std::mem::replace(&mut entry.text, Arc::from(""));
        let hash = hash_of(&text);
        if let Ok(found) = self.table.find_entry(hash, |id| *id == symbol) {
            found.remove();
        }
        self.free.push(symbol);
        Some(text)
    }

    pub(crate) fn text(&self, symbol: Symbol) -> &Arc<str> {
        &self.entries[symbol as usize].text
    }

    pub(crate) fn members(&self, symbol: Symbol) -> &Members {
        &self.entries[symbol as usize].members
    }

    /// All strings in use, by number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Symbol, &Arc<str>)> {
        self.entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| !entry.members.is_empty())
            .filter_map(|(symbol, entry)| Some((u32::try_from(symbol).ok()?, &entry.text)))
    }

    /// Gives back what growth left over.
    pub(crate) fn fit(&mut self) {
        self.entries.shrink_to_fit();
    }

    fn intern(&mut self, text: &str) -> Symbol {
        let entry = Entry {
            text: Arc::from(text),
            members: Members::None,
        };
        let symbol = match self.free.pop() {
            Some(symbol) => {
                self.entries[symbol as usize] = entry;
                symbol
            }
            None => {
                self.entries.push(entry);
                u32::try_from(self.entries.len() - 1).expect("fewer strings than objects, and those are counted in u32")
            }
        };
        let entries = &self.entries;
        self.table
            .insert_unique(hash_of(text), symbol, |id| hash_of(&entries[*id as usize].text));
        symbol
    }
}

/// Strings come from objects that tenants write: collisions cost time only, as entries are compared.
fn hash_of(text: &str) -> u64 {
    let mut hasher = HASHES.build_hasher();
    hasher.write(text.as_bytes());
    hasher.finish()
}

const HASHES: FixedState = FixedState::with_seed(0x7379_6d62_6f6c_7321);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_stored_once_and_goes_with_its_last_user() {
        let mut symbols = Symbols::default();
        let (shop, new) = symbols.add("shop", 1);
        assert!(new);
        assert_eq!(symbols.add("shop", 2), (shop, false));
        let (other, _) = symbols.add("other", 3);
        assert_ne!(shop, other);
        assert!(symbols.drop(shop, 1).is_none());
        assert_eq!(symbols.drop(shop, 2).as_deref(), Some("shop"));
        assert_eq!(symbols.find("shop"), None);
        assert_eq!(symbols.add("third", 4), (shop, true));
        assert_eq!(symbols.find("third"), Some(shop));
        let all: Vec<&str> = symbols.iter().map(|(_, text)| &**text).collect();
        assert_eq!(all, ["third", "other"]);
    }
}
