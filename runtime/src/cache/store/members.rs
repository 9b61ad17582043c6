//! A set of slots: what an index leads to.

use std::collections::BTreeSet;

/// Slots in ascending order. Most sets are small, and some hold all there is.
#[derive(Debug, Default)]
pub(crate) enum Members {
    #[default]
    None,
    One(u32),
    Few(Vec<u32>),
    Many(BTreeSet<u32>),
}

/// Above this, inserting in the middle would move too much.
const FEW: usize = if cfg!(test) { 64 } else { 8192 };

impl Members {
    pub(crate) fn insert(&mut self, slot: u32) {
        match self {
            Self::None => *self = Self::One(slot),
            Self::One(one) if *one == slot => {}
            Self::One(one) => {
                let pair = if *one < slot {
                    vec![*one, slot]
                } else {
                    vec![slot, *one]
                };
                *self = Self::Few(pair);
            }
            Self::Few(few) => {
                if let Err(at) = few.binary_search(&slot) {
                    few.insert(at, slot);
                    if few.len() > FEW {
                        *self = Self::Many(few.iter().copied().collect());
                    }
                }
            }
            Self::Many(many) => {
                many.insert(slot);
            }
        }
    }

    pub(crate) fn remove(&mut self, slot: u32) {
        match self {
            Self::None => {}
            Self::One(one) => {
                if *one == slot {
                    *self = Self::None;
                }
            }
            Self::Few(few) => {
                if let Ok(at) = few.binary_search(&slot) {
                    few.remove(at);
                    if let [one] = few[..] {
                        *self = Self::One(one);
                    }
                }
            }
            Self::Many(many) => {
                many.remove(&slot);
                if many.len() <= FEW / 2 {
                    *self = Self::Few(many.iter().copied().collect());
                }
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::None)
    }

    pub(crate) fn append_to(&self, slots: &mut Vec<u32>) {
        match self {
            Self::None => {}
            Self::One(one) => slots.push(*one),
            Self::Few(few) => slots.extend_from_slice(few),
            Self::Many(many) => slots.extend(many),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn members_are_a_set_in_ascending_order(steps in proptest::collection::vec((any::<bool>(), 0_u32..700), 0..2_000)) {
            let mut members = Members::default();
            let mut model = BTreeSet::new();
            // From more than one representation to the other and back.
            for slot in 0..600 {
                members.insert(slot);
                model.insert(slot);
            }
            for (insert, slot) in steps {
                if insert {
                    members.insert(slot);
                    model.insert(slot);
                } else {
                    members.remove(slot);
                    model.remove(&slot);
                }
                prop_assert_eq!(members.is_empty(), model.is_empty());
            }
            let mut slots = Vec::new();
            members.append_to(&mut slots);
            prop_assert_eq!(slots, model.into_iter().collect::<Vec<_>>());
        }
    }
}
