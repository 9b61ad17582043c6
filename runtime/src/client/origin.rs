//! Who makes a request.

use std::sync::Arc;

use crate::key::ObjectKey;

/// The part of the operator that makes a request; travels with it as an extension, so that records tell whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Name of the controller, or of the part of the framework: `informer`, `leader`, `events`.
    pub controller: Arc<str>,
    /// The primary object that is being reconciled, if any.
    pub key: Option<ObjectKey>,
    /// Number of the reconcile within the process; 0 outside of one.
    pub run: u64,
}

impl Origin {
    /// A reconcile of one object.
    #[must_use]
    pub fn reconcile(controller: Arc<str>, key: ObjectKey, run: u64) -> Self {
        Self {
            controller,
            key: Some(key),
            run,
        }
    }

    /// A part of the framework that acts for no object.
    #[must_use]
    pub fn part(name: &str) -> Self {
        Self {
            controller: Arc::from(name),
            key: None,
            run: 0,
        }
    }
}
