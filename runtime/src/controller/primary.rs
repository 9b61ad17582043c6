//! The primary object of a run: finding it, and its finalizers.

use std::sync::Arc;

use crate::cache::{Cached, Lookup, Reader, Unknown};
use crate::client::{ClientError, Origin, PatchType, Preconditions, Transport};
use crate::declaration::Declared;
use crate::delta::Header;
use crate::diagnostics::{Base, WriteOutcome, WriteRecord};
use crate::error::Result;
use crate::finalizer::{self, Leftovers};
use crate::key::ObjectKey;

/// How often a finalizer patch is made anew because the object moved, before the key backs off.
const TRIES: usize = 3;

/// The way to primary objects.
#[derive(Clone, Debug)]
pub(super) struct Primaries {
    pub(super) declared: Arc<Declared>,
    pub(super) reader: Reader,
    pub(super) transport: Transport,
    pub(super) field_manager: Arc<str>,
}

impl Primaries {
    /// The newest known version of the object; `None` when it is gone, or outside of what the controller watches.
    pub(super) async fn find(&self, origin: &Origin, key: &ObjectKey) -> Result<Option<Cached>> {
        match self.reader.get(&self.declared.primary, key) {
            Lookup::Found(cached) => Ok(Some(cached)),
            Lookup::Missing | Lookup::Unknown(Unknown::OutsideNamespaces | Unknown::OutsideSelector) => Ok(None),
            Lookup::Unknown(_) => self.ask(origin, key).await,
        }
    }

    /// Adds the declared finalizer and removes retired ones, before anything else is done. Answers the object as it
    /// is then; `None` when it is gone or has begun to be deleted in the meantime.
    pub(super) async fn ensure_finalizers(
        &self,
        origin: &Origin,
        object: Cached,
        writes: &mut Vec<WriteRecord>,
    ) -> Result<Option<Cached>> {
        let add = self.declared.finalizer.as_deref();
        let retired = &self.declared.retired_finalizers;
        let plan = |header: &Header| {
            if header.is_deleting() {
                return None;
            }
            finalizer::ensure(header, add, retired)
        };
        let object = self.patch(origin, object, plan, writes).await?;
        Ok(object.filter(|object| !object.header().is_deleting()))
    }

    /// Removes our finalizers, retired ones included, after a successful clean-up.
    pub(super) async fn remove_finalizers(
        &self,
        origin: &Origin,
        object: Cached,
        writes: &mut Vec<WriteRecord>,
    ) -> Result<()> {
        let plan = |header: &Header| finalizer::remove(header, |name| self.is_ours(name));
        self.patch(origin, object, plan, writes).await?;
        Ok(())
    }

    /// Lets go of an object that is not being deleted, since the operator is uninstalled.
    pub(super) async fn leave(
        &self,
        leftovers: Leftovers,
        origin: &Origin,
        object: Cached,
        writes: &mut Vec<WriteRecord>,
    ) -> Result<()> {
        // What others define is not the operator's to delete.
        if leftovers == Leftovers::Keep || self.declared.crd.is_none() {
            return self.remove_finalizers(origin, object, writes).await;
        }
        let key = object.key().clone();
        let preconditions = Preconditions {
            uid: Some(object.header().uid.to_string()),
            ..Preconditions::default()
        };
        let sent = self
            .transport
            .delete(origin, &self.declared.primary, &key, preconditions)
            .await;
        let outcome = match &sent {
            Ok(_) => WriteOutcome::Sent {
                uid: Some(Arc::clone(&object.header().uid)),
                version: None,
                based_on: Base::Unknown,
            },
            Err(error) => WriteOutcome::Failed {
                message: error.to_string(),
            },
        };
        writes.push(WriteRecord {
            verb: "delete",
            ..self.record(&key, outcome)
        });
        match sent {
            Ok(_) => Ok(()),
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the object waits for us before it goes.
    pub(super) fn holds(&self, header: &Header) -> bool {
        header.finalizers.iter().any(|name| self.is_ours(name))
    }

    fn is_ours(&self, name: &str) -> bool {
        self.declared.finalizer.as_deref() == Some(name)
            || self.declared.retired_finalizers.iter().any(|old| old == name)
    }

    /// Sends what `plan` makes of the object, anew with the server's version where the cached one was behind. The
    /// object as it is afterwards; `None` when it is gone.
    async fn patch(
        &self,
        origin: &Origin,
        object: Cached,
        plan: impl Fn(&Header) -> Option<serde_json::Value>,
        writes: &mut Vec<WriteRecord>,
    ) -> Result<Option<Cached>> {
        let kind = &self.declared.primary;
        let mut object = object;
        for left in (0..TRIES).rev() {
            let Some(patch) = plan(object.header()) else {
                return Ok(Some(object));
            };
            let key = object.key().clone();
            let sent = self
                .transport
                .patch(
                    origin,
                    kind,
                    &key,
                    None,
                    PatchType::Json,
                    patch.to_string().into_bytes(),
                    &self.field_manager,
                )
                .await;
            let error = match sent {
                Ok(answer) => {
                    let answer = Cached::parse(kind, answer, &self.field_manager)?;
                    writes.push(self.record(&key, sent_as(object.header(), answer.header())));
                    return Ok(Some(answer));
                }
                Err(error) if error.is_not_found() && !error.is_kind_missing() => return Ok(None),
                Err(error) => error,
            };
            let message = error.to_string();
            writes.push(self.record(&key, WriteOutcome::Failed { message }));
            if !may_have_moved(&error) || left == 0 {
                return Err(error.into());
            }
            // A failed test is 422, as is a finalizer name that the server does not allow: only the object tells.
            let Some(fresh) = self.ask(origin, &key).await? else {
                return Ok(None);
            };
            let (old, new) = (object.header(), fresh.header());
            if old.uid != new.uid {
                // Somebody else's now; its own events wake it.
                return Ok(None);
            }
            if old.finalizers == new.finalizers && old.is_deleting() == new.is_deleting() {
                return Err(error.into());
            }
            object = fresh;
        }
        Ok(Some(object))
    }

    async fn ask(&self, origin: &Origin, key: &ObjectKey) -> Result<Option<Cached>> {
        let kind = &self.declared.primary;
        match self.transport.get(origin, kind, key).await {
            Ok(answer) => Ok(Some(Cached::parse(kind, answer, &self.field_manager)?)),
            Err(error) if error.is_not_found() && !error.is_kind_missing() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn record(&self, key: &ObjectKey, outcome: WriteOutcome) -> WriteRecord {
        WriteRecord {
            verb: "patch",
            kind: self.declared.primary.clone(),
            key: key.clone(),
            subresource: None,
            outcome,
        }
    }
}

fn may_have_moved(error: &ClientError) -> bool {
    error.is_invalid() || error.is_conflict()
}

/// A finalizer patch always changes something, so the version that it is answered with is of its making.
fn sent_as(before: &Header, after: &Header) -> WriteOutcome {
    WriteOutcome::Sent {
        uid: Some(Arc::clone(&after.uid)),
        version: Some(Arc::from(&*after.version.as_str())),
        based_on: Base::Version(Arc::from(&*before.version.as_str())),
    }
}
