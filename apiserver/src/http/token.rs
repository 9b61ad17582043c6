//! Bearer tokens that the server itself hands out.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::clock::Clock;

/// Who holds a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) user: String,
    pub(crate) uid: String,
    pub(crate) groups: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct Tokens {
    admin: String,
    holders: Mutex<BTreeMap<String, Holder>>,
}

impl Tokens {
    pub(crate) fn new(admin: String) -> Self {
        let holder = Holder {
            user: "admin".into(),
            uid: "admin-uid".into(),
            groups: vec!["system:masters".into()],
        };
        let holders = Mutex::new(BTreeMap::from([(admin.clone(), holder)]));
        Self { admin, holders }
    }

    pub(crate) fn admin(&self) -> &str {
        &self.admin
    }

    pub(crate) fn mint(&self, clock: &Clock, user: &str, groups: &[&str]) -> String {
        let token = clock.name_suffix(32);
        let holder = Holder {
            user: user.into(),
            uid: String::new(),
            groups: groups.iter().map(|&g| g.to_owned()).collect(),
        };
        self.holders
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(token.clone(), holder);
        token
    }

    pub(crate) fn holder(&self, token: &str) -> Option<Holder> {
        self.holders
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(token)
            .cloned()
    }
}
