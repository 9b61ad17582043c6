//! Kinds that are known at run time only, from configuration or discovery.

use std::sync::Arc;

use futures::future::BoxFuture;
use kube::core::DynamicObject;

use crate::cache::Cached;
use crate::context::Context;
use crate::context::body::Body;
use crate::context::patch::Patch;
use crate::context::query::Query;
use crate::context::target::ObjectName;
use crate::error::Result;
use crate::grants::Declare;
use crate::key::ObjectKey;
use crate::kind::Kind;

/// Reads and writes one kind without a Rust type; made by [`Context::dynamic`].
///
/// There is no type that a compiler could check, so the declaration is asked at run time: a kind that was not given to
/// `watches_dynamic` or `owns_dynamic` is refused with the method to call.
#[derive(Debug)]
pub struct Dynamic<'a, C: Declare> {
    pub(super) cx: &'a Context<C>,
    pub(super) kind: Kind,
}

impl<'a, C: Declare> Dynamic<'a, C> {
    /// As [`Context::get`].
    ///
    /// # Errors
    ///
    /// The kind is not declared; a live read failed.
    ///
    /// # Cancel safety
    ///
    /// Safe: nothing is changed.
    pub fn get(self, name: impl ObjectName) -> BoxFuture<'a, Result<Option<Arc<DynamicObject>>>> {
        let key = self.key(name);
        Box::pin(async move {
            match self.cx.inner.get(&self.kind, &key).await? {
                Some(cached) => Ok(Some(cached.decode()?)),
                None => Ok(None),
            }
        })
    }

    /// As [`Context::list`].
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get); the query's selector does not parse.
    ///
    /// # Cancel safety
    ///
    /// Safe: nothing is changed.
    pub fn list(self, query: Query) -> BoxFuture<'a, Result<Vec<Arc<DynamicObject>>>> {
        Box::pin(async move { decoded(&self.cx.inner.list(&self.kind, &query).await?) })
    }

    /// As [`Context::apply`]; `types` may be left out of the object.
    ///
    /// # Errors
    ///
    /// As [`Context::apply`]; the kind is not declared by `owns_dynamic`.
    ///
    /// # Cancel safety
    ///
    /// See [`Context`].
    pub fn apply(self, object: &DynamicObject) -> BoxFuture<'a, Result<Arc<DynamicObject>>> {
        let body = Body::of(&self.kind, object);
        Box::pin(async move { Ok(self.cx.inner.apply(self.kind, body?, None).await?.decode()?) })
    }

    /// As [`Context::apply_part`].
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply).
    ///
    /// # Cancel safety
    ///
    /// See [`Context`].
    pub fn apply_part(self, part: &str, object: &DynamicObject) -> BoxFuture<'a, Result<Arc<DynamicObject>>> {
        let body = Body::of(&self.kind, object);
        let part = part.to_owned();
        Box::pin(async move { Ok(self.cx.inner.apply(self.kind, body?, Some(&part)).await?.decode()?) })
    }

    /// As [`Context::apply_set`].
    ///
    /// # Errors
    ///
    /// As [`Context::apply_set`]; the kind is not declared by `owns_dynamic` or `tracks_dynamic`.
    ///
    /// # Cancel safety
    ///
    /// As [`Context::apply_set`].
    pub fn apply_set<'o>(
        self,
        children: impl IntoIterator<Item = &'o DynamicObject>,
    ) -> BoxFuture<'a, Result<Vec<Arc<DynamicObject>>>> {
        let bodies: Result<Vec<Body>> = children.into_iter().map(|child| Body::of(&self.kind, child)).collect();
        Box::pin(async move { decoded(&self.cx.inner.apply_set(self.kind, bodies?).await?) })
    }

    /// As [`Context::create`].
    ///
    /// # Errors
    ///
    /// As [`Context::create`]; the kind is not declared by `owns_dynamic` or `tracks_dynamic`.
    ///
    /// # Cancel safety
    ///
    /// See [`Context`].
    pub fn create(self, object: &DynamicObject) -> BoxFuture<'a, Result<Arc<DynamicObject>>> {
        let body = Body::of(&self.kind, object);
        Box::pin(async move { Ok(self.cx.inner.create(self.kind, body?).await?.decode()?) })
    }

    /// As [`Context::update`]; answers what is stored.
    ///
    /// # Errors
    ///
    /// As [`Context::update`]; the kind is not declared by `updates_dynamic`.
    ///
    /// # Cancel safety
    ///
    /// See [`Context`].
    pub fn update(self, object: &DynamicObject) -> BoxFuture<'a, Result<Arc<DynamicObject>>> {
        let body = Body::of(&self.kind, object);
        Box::pin(async move { Ok(self.cx.inner.update(&self.kind, body?).await?.decode()?) })
    }

    /// As [`Context::patch`].
    ///
    /// # Errors
    ///
    /// As [`Context::patch`]; the kind is not declared by `owns_dynamic` or `tracks_dynamic`.
    ///
    /// # Cancel safety
    ///
    /// See [`Context`].
    pub fn patch(self, name: impl ObjectName, patch: Patch) -> BoxFuture<'a, Result<Arc<DynamicObject>>> {
        let key = self.key(name);
        Box::pin(async move { Ok(self.cx.inner.patch(&self.kind, &key, patch).await?.decode()?) })
    }

    /// As [`Context::children`].
    ///
    /// # Errors
    ///
    /// As [`Context::children`]; the kind is not declared by `owns_dynamic` or `tracks_dynamic`.
    pub fn children(self) -> Result<Vec<Arc<DynamicObject>>> {
        decoded(&self.cx.inner.children(&self.kind)?)
    }

    /// As [`Context::children_gone`].
    ///
    /// # Errors
    ///
    /// As [`Context::children_gone`].
    ///
    /// # Cancel safety
    ///
    /// As [`Context::children_gone`].
    pub fn children_gone(self) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move { self.cx.inner.children_gone(&self.kind).await })
    }

    /// As [`Context::by_index`].
    ///
    /// # Errors
    ///
    /// As [`Context::by_index`].
    pub fn by_index(self, name: &str, value: &str) -> Result<Vec<Arc<DynamicObject>>> {
        decoded(&self.cx.inner.by_index(&self.kind, name, value)?)
    }

    /// As [`Context::release`].
    ///
    /// # Errors
    ///
    /// As [`Context::release`].
    ///
    /// # Cancel safety
    ///
    /// See [`Context`].
    pub fn release(self, name: impl ObjectName) -> BoxFuture<'a, Result<()>> {
        let key = self.key(name);
        Box::pin(async move { self.cx.inner.release(&self.kind, &key).await.map(drop) })
    }

    /// The object as the server has it now; `None` if there is none.
    ///
    /// # Errors
    ///
    /// The kind is not declared; the request failed.
    ///
    /// # Cancel safety
    ///
    /// Safe: nothing is changed.
    pub fn get_live(self, name: impl ObjectName) -> BoxFuture<'a, Result<Option<Arc<DynamicObject>>>> {
        let key = self.key(name);
        Box::pin(async move {
            self.cx.inner.check_read(&self.kind)?;
            match self.cx.inner.live(&self.kind, &key).await? {
                Some(cached) => Ok(Some(cached.decode()?)),
                None => Ok(None),
            }
        })
    }

    /// The objects that match a query, as the server has them now.
    ///
    /// # Errors
    ///
    /// As [`get_live`](Self::get_live).
    ///
    /// # Cancel safety
    ///
    /// Safe: nothing is changed.
    pub fn list_live(self, query: Query) -> BoxFuture<'a, Result<Vec<Arc<DynamicObject>>>> {
        Box::pin(async move {
            self.cx.inner.check_read(&self.kind)?;
            decoded(&self.cx.inner.list_live(&self.kind, &query).await?)
        })
    }

    /// As [`Context::delete`].
    ///
    /// # Errors
    ///
    /// As [`Context::delete`]; the kind is not declared by `owns_dynamic`.
    ///
    /// # Cancel safety
    ///
    /// See [`Context`].
    pub fn delete(self, name: impl ObjectName) -> BoxFuture<'a, Result<()>> {
        let key = self.key(name);
        Box::pin(async move { self.cx.inner.delete(&self.kind, &key).await })
    }

    fn key(&self, name: impl ObjectName) -> ObjectKey {
        name.into_key(&self.cx.key().namespace, self.kind.namespaced())
    }
}

fn decoded(found: &[Cached]) -> Result<Vec<Arc<DynamicObject>>> {
    found.iter().map(|cached| Ok(cached.decode()?)).collect()
}
