//! What one run has done so far: its writes, the fields it applied, the versions it made.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::delta::Header;
use crate::diagnostics::WriteRecord;
use crate::error::{Error, Result};
use crate::key::ObjectKey;
use crate::kind::Kind;

/// The log of one run. Methods take it by reference, since a reconcile may write concurrently.
#[derive(Debug, Default)]
pub(super) struct RunLog(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    writes: Vec<WriteRecord>,
    applied: BTreeMap<(Kind, ObjectKey, String), Vec<String>>,
    versions: BTreeMap<(Kind, ObjectKey), Vec<Step>>,
}

/// One write of this run: the object as it was known before, and as the server answered it.
#[derive(Debug)]
struct Step {
    before: Arc<Header>,
    after: Arc<Header>,
    /// The server itself checked that the write was made on `before`.
    checked: bool,
}

impl RunLog {
    /// Notes a write, in order.
    pub(super) fn wrote(&self, record: WriteRecord) {
        self.lock().writes.push(record);
    }

    /// Everything written so far; empties the log.
    pub(super) fn take_writes(&self) -> Vec<WriteRecord> {
        std::mem::take(&mut self.lock().writes)
    }

    /// Notes which fields an apply sets.
    ///
    /// # Errors
    ///
    /// The same manager applied the same object before with other fields: the server would drop the fields of the
    /// first apply, and the two would fight in each run.
    pub(super) fn apply_fields(&self, kind: &Kind, key: &ObjectKey, manager: &str, fields: Vec<String>) -> Result<()> {
        let mut inner = self.lock();
        let at = (kind.clone(), key.clone(), manager.to_owned());
        match inner.applied.get(&at) {
            Some(first) if *first != fields => {
                let differ = first
                    .iter()
                    .chain(&fields)
                    .find(|f| !(first.contains(f) && fields.contains(f)));
                let field = differ.map_or("", String::as_str);
                Err(Error::terminal(format!(
                    "{} {key} is applied twice in one reconcile with different fields (`{field}` is in one of them \
                     only), so each apply would remove what the other set: build the object once, or give the second \
                     part its own field manager with `cx.apply_part(\"…\", object)`",
                    kind.kind()
                )))
            }
            Some(_) => Ok(()),
            None => {
                inner.applied.insert(at, fields);
                Ok(())
            }
        }
    }

    /// Notes that a write took the object from `before`, as it was known here, to `after`, as the server answered.
    /// `checked` says that the request carried the version of `before`.
    pub(super) fn advanced(
        &self,
        kind: &Kind,
        key: &ObjectKey,
        before: Arc<Header>,
        after: Arc<Header>,
        checked: bool,
    ) {
        let step = Step { before, after, checked };
        self.lock()
            .versions
            .entry((kind.clone(), key.clone()))
            .or_default()
            .push(step);
    }

    /// The version that an update of `version` may be based on: the last one that this run itself made from it,
    /// as long as nothing but our own write lies between the two. `None` leaves the version as it is.
    pub(super) fn rebase(&self, kind: &Kind, key: &ObjectKey, version: &str) -> Option<Arc<Header>> {
        let inner = self.lock();
        let steps = inner.versions.get(&(kind.clone(), key.clone()))?;
        let mut at = version.to_owned();
        let mut latest = None;
        for step in steps {
            if step.before.version.as_str() == at && (step.checked || only_status_between(&step.before, &step.after)) {
                at = step.after.version.as_str().into_owned();
                latest = Some(Arc::clone(&step.after));
            }
        }
        latest
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether nothing but the status differs, so that whatever else happened in between, an update loses nothing.
fn only_status_between(before: &Header, after: &Header) -> bool {
    before.uid == after.uid
        && before.generation == after.generation
        && before.spec_digest == after.spec_digest
        && before.annotations_digest == after.annotations_digest
        && before.labels == after.labels
        && before.owners == after.owners
        && before.finalizers == after.finalizers
        && before.deletion == after.deletion
}
