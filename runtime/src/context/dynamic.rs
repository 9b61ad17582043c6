//! Kinds that are known at run time only, from configuration or discovery.

use std::sync::Arc;

use futures::future::BoxFuture;
use kube::core::DynamicObject;

use crate::context::Context;
use crate::context::body::Body;
use crate::context::query::Query;
use crate::context::target::ObjectName;
use crate::error::Result;
use crate::grants::Declare;
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
        let key = name.into_key(&self.cx.key().namespace, self.kind.namespaced());
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
        Box::pin(async move {
            let found = self.cx.inner.list(&self.kind, &query).await?;
            found.iter().map(|cached| Ok(cached.decode()?)).collect()
        })
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
        let key = name.into_key(&self.cx.key().namespace, self.kind.namespaced());
        Box::pin(async move { self.cx.inner.delete(&self.kind, &key).await })
    }
}
