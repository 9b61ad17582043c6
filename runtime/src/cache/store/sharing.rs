//! What objects share: namespaces, sets of labels, owners and finalizers, each stored once. Who uses them is found by
//! them, so that the tables are indexes too.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::members::Members;
use super::packed::Shared;
use super::symbols::Symbol;
use super::{Store, hash_of};
use crate::cache::facts::{Facts, Scratch};
use crate::delta::{END, Labels};

impl Store {
    /// The objects that name this uid as an owner, or as their controller; in no order.
    pub(crate) fn owned(&self, uid: &str, as_controller: bool) -> Vec<u32> {
        let mut slots = Vec::new();
        for (symbol, at) in self.owner_uids.iter_hash(hash_of("", uid)) {
            let owner = nth_owner(self.owners.text(*symbol), *at);
            if owner.is_some_and(|(found, controller)| found == uid && (controller || !as_controller)) {
                self.owners.members(*symbol).append_to(&mut slots);
            }
        }
        slots
    }

    /// The objects with this label, in no order; `None` where the label is not indexed.
    pub(crate) fn labelled(&self, label: &str, value: &str) -> Option<Vec<u32>> {
        let values = self.label_values.get(label)?;
        let mut symbols = Vec::new();
        if let Some(found) = values.get(value) {
            found.append_to(&mut symbols);
        }
        let mut slots = Vec::new();
        for symbol in symbols {
            self.labels.members(symbol).append_to(&mut slots);
        }
        Some(slots)
    }

    /// Indexes a label from now on.
    pub(crate) fn index_label(&mut self, label: &str) {
        let mut values: BTreeMap<Arc<str>, Members> = BTreeMap::new();
        for (symbol, text) in self.labels.iter() {
            if let Some(value) = label_in(text, label) {
                values.entry(Arc::from(value)).or_default().insert(symbol);
            }
        }
        self.label_values.insert(Arc::from(label), values);
    }

    pub(super) fn share(&mut self, facts: &Facts<'_>, scratch: &Scratch, slot: u32) -> Shared {
        let namespace = self.namespaces.add(&facts.namespace, slot).0;
        let labels = (!scratch.labels.is_empty()).then(|| self.labels.add(&scratch.labels, slot));
        if let Some((symbol, true)) = labels {
            self.index_set(symbol, &scratch.labels);
        }
        let owners = (!scratch.owners.is_empty()).then(|| self.owners.add(&scratch.owners, slot));
        if let Some((symbol, true)) = owners {
            self.index_owners(symbol);
        }
        let finalizers = (!scratch.finalizers.is_empty()).then(|| self.finalizers.add(&scratch.finalizers, slot));
        Shared {
            namespace,
            labels: labels.map(|(symbol, _)| symbol),
            owners: owners.map(|(symbol, _)| symbol),
            finalizers: finalizers.map(|(symbol, _)| symbol),
        }
    }

    /// The object in `slot` uses these strings no longer, those that it still uses apart.
    pub(super) fn unshare(&mut self, slot: u32, namespace: Symbol, symbols: [Option<Symbol>; 3], kept: Option<Shared>) {
        let kept_of = |at: usize| kept.and_then(|kept| [kept.labels, kept.owners, kept.finalizers][at]);
        let gone = |at: usize| symbols[at].filter(|_| symbols[at] != kept_of(at));
        if kept.is_none() {
            self.namespaces.drop(namespace, slot);
        }
        if let Some(symbol) = gone(0)
            && let Some(text) = self.labels.drop(symbol, slot)
        {
            for (label, values) in &mut self.label_values {
                if let Some(value) = label_in(&text, label)
                    && let Some(found) = values.get_mut(value)
                {
                    found.remove(symbol);
                    if found.is_empty() {
                        values.remove(value);
                    }
                }
            }
        }
        if let Some(symbol) = gone(1)
            && let Some(text) = self.owners.drop(symbol, slot)
        {
            for (at, uid) in uids_in(&text) {
                let found = self
                    .owner_uids
                    .find_entry(hash_of("", uid), |entry| *entry == (symbol, at));
                if let Ok(found) = found {
                    found.remove();
                }
            }
        }
        if let Some(symbol) = gone(2) {
            self.finalizers.drop(symbol, slot);
        }
    }

    fn index_set(&mut self, symbol: Symbol, text: &str) {
        for (label, values) in &mut self.label_values {
            if let Some(value) = label_in(text, label) {
                values.entry(Arc::from(value)).or_default().insert(symbol);
            }
        }
    }

    fn index_owners(&mut self, symbol: Symbol) {
        let text = Arc::clone(self.owners.text(symbol));
        let owners = &self.owners;
        for (at, uid) in uids_in(&text) {
            self.owner_uids
                .insert_unique(hash_of("", uid), (symbol, at), |(symbol, at)| {
                    hash_of("", nth_owner(owners.text(*symbol), *at).map_or("", |(uid, _)| uid))
                });
        }
    }
}

/// The value of a label in the text of [`Labels`](crate::delta::Labels).
fn label_in<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    Labels::pairs(text)
        .find(|(key, _)| *key == label)
        .map(|(_, value)| value)
}

/// How many parts the text of an owner has, and which of them is the uid.
const OWNER: (usize, usize) = (5, 3);

fn uids_in(text: &str) -> impl Iterator<Item = (u32, &str)> {
    (0..).zip(text.split_terminator(END).skip(OWNER.1).step_by(OWNER.0))
}

/// Uid of the nth owner, and whether it is the controller.
fn nth_owner(text: &str, at: u32) -> Option<(&str, bool)> {
    let mut parts = text.split_terminator(END).skip(at as usize * OWNER.0 + OWNER.1);
    Some((parts.next()?, parts.next()? == "1"))
}
