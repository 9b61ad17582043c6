//! What a reconcile may do: read, write, own, report.
//!
//! [`Context`] is the typed face; what it does is written once, without types, in `inner` and its neighbours:
//! `read`, `apply`, `set`, `write`, `status`.

mod apply;
mod body;
mod dynamic;
mod inner;
mod live;
mod migrate;
mod patch;
mod query;
mod read;
mod run;
mod set;
mod status;
mod target;
mod tracked;
mod write;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use futures::future::BoxFuture;
use jiff::Timestamp;
use kube::core::object::HasStatus;
use serde::Serialize;

pub use dynamic::Dynamic;
pub use inner::{Primary, Shared};
pub use live::{Live, LivePages};
pub use patch::Patch;
pub use query::Query;
pub use target::ObjectName;

use crate::client::Origin;
use crate::conditions::{Observed, StatusConditions};
use crate::context::body::Body;
use crate::context::inner::Inner;
use crate::context::run::RunLog;
use crate::diagnostics::WriteRecord;
use crate::env::Env;
use crate::error::{Error, Result};
use crate::events::{Event, EventType};
use crate::grants::{Declare, OwnedBy, ReadBy, Ungranted, UpdatedBy, WrittenBy};
use crate::key::ObjectKey;
use crate::kind::Kind;
use crate::status_of::StatusOf;

/// Handed to each reconcile: the way to read and write, bound to one primary object and one run.
///
/// What a method may do follows from the controller's declaration: a kind that is not declared does not compile, and
/// the message names the key to add.
///
/// # Cancel safety
///
/// Every write may be cancelled by dropping its future. The request may then have taken effect or not; the next read
/// of the object asks the server instead of the cache.
pub struct Context<C> {
    inner: Inner,
    controller: PhantomData<fn() -> C>,
}

#[allow(
    clippy::needless_pass_by_value,
    reason = "a written object is handed over: `cx.apply(deployment(&app))`"
)]
impl<C: Declare> Context<C> {
    /// The context of one run.
    #[must_use]
    pub fn new(shared: Shared, primary: Primary, origin: Origin) -> Self {
        Self {
            inner: Inner {
                shared,
                primary,
                origin,
                log: RunLog::default(),
            },
            controller: PhantomData,
        }
    }

    /// The primary object's namespace and name.
    #[must_use]
    pub fn key(&self) -> &ObjectKey {
        self.inner.key()
    }

    /// The controller's name.
    #[must_use]
    pub fn controller(&self) -> &str {
        &self.inner.shared.declared.name
    }

    /// What conditions speak of: the generation of `object`, the conditions that it has, and the time now. For
    /// [`StatusConditions::set_condition`].
    #[must_use]
    pub fn observed<'a, K>(&self, object: &'a K) -> Observed<'a>
    where
        K: kube::Resource + HasStatus<Status: StatusConditions>,
    {
        let before = object.status().map(StatusConditions::conditions).unwrap_or_default();
        Observed::new(before, object.meta().generation, self.now())
    }

    /// The wall-clock time. Tests control it.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.inner.shared.env.now()
    }

    /// Randomness that tests control.
    #[must_use]
    pub fn rng(&self) -> &Env {
        &self.inner.shared.env
    }

    /// An object of a kind that the controller may read; `None` if there is none.
    ///
    /// Reads the cache where the kind is watched, never behind this operator's own writes. A miss is final where the
    /// whole kind is watched; under a selector, and for kinds declared by `live`, the server is asked.
    ///
    /// # Errors
    ///
    /// A live read failed, or the object does not fit its Rust type.
    ///
    /// # Cancel safety
    ///
    /// Safe: nothing is changed.
    pub fn get<K: ReadBy<C>>(&self, name: impl ObjectName) -> BoxFuture<'_, Result<Option<Arc<K>>>> {
        let kind = Kind::of::<K>();
        let key = name.into_key(&self.key().namespace, kind.namespaced());
        Box::pin(async move {
            match self.inner.get_cached(&kind, &key)? {
                Some(known) => Ok(known),
                // In a box of its own, so that the way of most reads is short.
                None => Box::pin(self.inner.live_as(&kind, &key)).await,
            }
        })
    }

    /// The objects of a kind that match a query, sorted by namespace and name.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get); the query's selector does not parse.
    ///
    /// # Cancel safety
    ///
    /// Safe: nothing is changed.
    pub fn list<K: ReadBy<C>>(&self, query: Query) -> BoxFuture<'_, Result<Vec<Arc<K>>>> {
        let kind = Kind::of::<K>();
        Box::pin(async move { self.inner.list_as(&kind, &query).await })
    }

    /// The objects of a kind that the primary controls, sorted by namespace and name.
    ///
    /// # Errors
    ///
    /// An object does not fit its Rust type.
    pub fn children<K: OwnedBy<C>>(&self) -> Result<Vec<Arc<K>>> {
        self.inner.children_as(&Kind::of::<K>())
    }

    /// The objects of a watched kind that a declared index finds under `value`, sorted by namespace and name.
    ///
    /// # Errors
    ///
    /// There is no such index on the kind; an object does not fit its Rust type.
    pub fn by_index<K: ReadBy<C>>(&self, name: &str, value: &str) -> Result<Vec<Arc<K>>> {
        let found = self.inner.by_index(&Kind::of::<K>(), name, value)?;
        found.iter().map(|cached| Ok(cached.decode::<K>()?)).collect()
    }

    /// Reads that bypass the cache.
    #[must_use]
    pub fn live(&self) -> Live<'_, C> {
        Live { cx: self }
    }

    /// Reads and writes a kind that is known at run time only, as declared by `watches_dynamic` or `owns_dynamic`.
    #[must_use]
    pub fn dynamic(&self, kind: &Kind) -> Dynamic<'_, C> {
        Dynamic {
            cx: self,
            kind: kind.clone(),
        }
    }

    /// A client that may ask for anything the operator's role allows, whatever the declaration says: the key
    /// `ungranted_client` opens it, and `rbac(…)` declares the permissions.
    ///
    /// Its requests pass the same layers as all others: writes are fenced by the Lease, own writes are not read past,
    /// and everything is recorded. What the context's own methods do beyond that, it leaves to the author: ownership,
    /// skipped applies, two updates in one run.
    #[must_use]
    pub fn ungranted_client(&self) -> kube::Client
    where
        C: Ungranted,
    {
        self.inner.shared.transport.client(&self.inner.origin)
    }

    /// Creates the object, or brings the fields that it sets in line (server-side apply); answers what is stored.
    ///
    /// Fields that an earlier apply set and this one leaves out are removed; fields of others stay. Conflicts on
    /// fields are forced, ownership never: under `owns` the object gets the primary's controller reference, and one
    /// that belongs to someone else is left alone. Name it after the primary; the namespace may be left out. An
    /// apply that would change nothing is not sent.
    ///
    /// # Errors
    ///
    /// [`Error::NotOwned`] where the object is not the primary's; the object has no name or sits in another
    /// namespace; it is applied twice in one run with different fields; the request failed.
    ///
    /// # Cancel safety
    ///
    /// See [`Context`].
    pub fn apply<K: WrittenBy<C>>(&self, object: K) -> BoxFuture<'_, Result<Arc<K>>> {
        self.send_apply(&object, None)
    }

    /// As [`apply`](Self::apply) under a field manager of its own, for a second part of an object that is applied in
    /// the same run: the manager is `<field manager>/<part>`.
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply).
    pub fn apply_part<K: WrittenBy<C>>(&self, part: &str, object: K) -> BoxFuture<'_, Result<Arc<K>>> {
        self.send_apply(&object, Some(part.to_owned()))
    }

    /// Applies all of `children`, then deletes the primary's other objects of the kind.
    ///
    /// What the primary's spec no longer asks for goes away: pass an empty iterator, or an `Option`, to remove the
    /// last one. Nothing is deleted unless everything was applied.
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply); a name that is in the set twice.
    ///
    /// # Cancel safety
    ///
    /// Some of the objects may have been written; the next run completes the set.
    pub fn apply_set<K: OwnedBy<C>>(
        &self,
        children: impl IntoIterator<Item = K>,
    ) -> BoxFuture<'_, Result<Vec<Arc<K>>>> {
        let kind = Kind::of::<K>();
        let bodies: Result<Vec<Body>> = children.into_iter().map(|child| Body::of(&kind, &child)).collect();
        Box::pin(async move {
            let applied = self.inner.apply_set(kind, bodies?).await?;
            applied.iter().map(|cached| Ok(cached.decode::<K>()?)).collect()
        })
    }

    /// Creates an object; `generateName` is allowed. Under `owns` it gets the primary's controller reference.
    ///
    /// # Errors
    ///
    /// The object exists, or the request failed. After a time-out it may exist all the same: names that the primary
    /// determines make a repeated create harmless, generated ones do not.
    ///
    /// # Cancel safety
    ///
    /// See [`Context`].
    pub fn create<K: WrittenBy<C>>(&self, object: K) -> BoxFuture<'_, Result<Arc<K>>> {
        let kind = Kind::of::<K>();
        let body = Body::of(&kind, &object);
        Box::pin(async move { Ok(self.inner.create(kind, body?).await?.decode::<K>()?) })
    }

    /// Replaces an object with what was changed in a copy of it; `object` becomes what is stored.
    ///
    /// Two updates of one object in one run do not conflict: the second is based on the version that the first made.
    ///
    /// # Errors
    ///
    /// Someone else changed the object since it was read (409): the run is retried. The object has no
    /// resourceVersion.
    ///
    /// # Cancel safety
    ///
    /// See [`Context`].
    pub fn update<'a, K: UpdatedBy<C>>(&'a self, object: &'a mut K) -> BoxFuture<'a, Result<()>> {
        let kind = Kind::of::<K>();
        let body = Body::of(&kind, object);
        Box::pin(async move {
            let answer = self.inner.update(&kind, body?).await?;
            *object = Arc::unwrap_or_clone(answer.decode::<K>()?);
            Ok(())
        })
    }

    /// Patches an object and answers what is stored.
    ///
    /// # Errors
    ///
    /// [`Error::NotOwned`] for an object of an owned kind that is not the primary's; the request failed.
    ///
    /// # Cancel safety
    ///
    /// See [`Context`].
    pub fn patch<K: WrittenBy<C>>(&self, name: impl ObjectName, patch: Patch) -> BoxFuture<'_, Result<Arc<K>>> {
        let kind = Kind::of::<K>();
        let key = name.into_key(&self.key().namespace, kind.namespaced());
        Box::pin(async move { Ok(self.inner.patch(&kind, &key, patch).await?.decode::<K>()?) })
    }

    /// Deletes an object in the background; one that is gone already is success.
    ///
    /// # Errors
    ///
    /// [`Error::NotOwned`] for an object of an owned kind that is not the primary's; the request failed.
    ///
    /// # Cancel safety
    ///
    /// See [`Context`].
    pub fn delete<K: WrittenBy<C>>(&self, name: impl ObjectName) -> BoxFuture<'_, Result<()>> {
        let kind = Kind::of::<K>();
        let key = name.into_key(&self.key().namespace, kind.namespaced());
        Box::pin(async move { self.inner.delete(&kind, &key).await })
    }

    /// Lets a child go: removes the primary's owner reference and leaves the object as it is.
    ///
    /// # Errors
    ///
    /// The request failed; the owners changed in the meantime (the run is retried).
    ///
    /// # Cancel safety
    ///
    /// See [`Context`].
    pub fn release<K: OwnedBy<C>>(&self, name: impl ObjectName) -> BoxFuture<'_, Result<()>> {
        let kind = Kind::of::<K>();
        let key = name.into_key(&self.key().namespace, kind.namespaced());
        Box::pin(async move { self.inner.release(&kind, &key).await.map(drop) })
    }

    /// Deletes the primary's objects of a kind; true once none is left. For `cleanup`, where children must go before
    /// what they depend on: `if !cx.children_gone::<Job>().await? { return Ok(Action::requeue(…)) }`.
    ///
    /// # Errors
    ///
    /// A request failed.
    ///
    /// # Cancel safety
    ///
    /// Some may have been deleted; the next run goes on.
    pub fn children_gone<K: OwnedBy<C>>(&self) -> BoxFuture<'_, Result<bool>> {
        let kind = Kind::of::<K>();
        Box::pin(async move { self.inner.children_gone(&kind).await })
    }

    /// Brings the primary's status in line with `status`, under the field manager `<field manager>-status`.
    ///
    /// Fields that are `None` are left out and so cleared, if an earlier run set them; fields of others stay. A
    /// status that would change nothing is not sent.
    ///
    /// # Errors
    ///
    /// The status does not pass the kind's schema; the request failed.
    ///
    /// # Cancel safety
    ///
    /// See [`Context`].
    pub fn apply_status<S, M>(&self, status: S) -> BoxFuture<'_, Result<Arc<C::Primary>>>
    where
        S: Serialize + StatusOf<C::Primary, M>,
        C: Declare<Primary: crate::object::Object>,
    {
        let status = serde_json::to_value(&status)
            .map_err(|e| Error::terminal(format!("the status cannot be written as JSON: {e}")));
        Box::pin(async move { Ok(self.inner.apply_status(Some(status?)).await?.decode()?) })
    }

    /// Takes every field that this controller set out of the primary's status.
    ///
    /// # Errors
    ///
    /// The request failed.
    pub fn clear_status(&self) -> BoxFuture<'_, Result<Arc<C::Primary>>>
    where
        C: Declare<Primary: crate::object::Object>,
    {
        Box::pin(async move { Ok(self.inner.apply_status(None).await?.decode()?) })
    }

    /// Records an event about the primary. Never waits and never fails; equal events are counted as a series.
    ///
    /// `reason` is a CamelCase word for machines, `note` is for people (at most 1 kB).
    pub fn event(&self, event_type: EventType, reason: impl Into<String>, note: impl Into<String>) {
        let reason = reason.into();
        self.inner.shared.recorder.record(Event {
            event_type,
            action: reason.clone(),
            reason,
            note: note.into(),
            regarding: self.inner.regarding(),
            related: None,
        });
    }

    /// What the run wrote, in order; called once, when the run is over.
    pub(crate) fn take_writes(&self) -> Vec<WriteRecord> {
        self.inner.log.take_writes()
    }

    fn send_apply<K: WrittenBy<C>>(&self, object: &K, part: Option<String>) -> BoxFuture<'_, Result<Arc<K>>> {
        let kind = Kind::of::<K>();
        let body = Body::of(&kind, object);
        Box::pin(async move { Ok(self.inner.apply(kind, body?, part.as_deref()).await?.decode::<K>()?) })
    }
}

impl<C> fmt::Debug for Context<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("primary", &self.inner.primary.header.key)
            .finish_non_exhaustive()
    }
}
