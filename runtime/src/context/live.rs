//! Reads that bypass the cache.

use std::sync::Arc;

use futures::future::BoxFuture;

use crate::context::Context;
use crate::context::inner::Inner;
use crate::context::query::Query;
use crate::context::target::ObjectName;
use crate::error::Result;
use crate::grants::{Declare, LiveReadBy};
use crate::kind::Kind;

/// Reads from the server itself; made by [`Context::live`].
#[derive(Debug)]
pub struct Live<'a, C: Declare> {
    pub(super) cx: &'a Context<C>,
}

impl<C: Declare> Live<'_, C> {
    /// The object as the server has it now; `None` if there is none.
    ///
    /// # Errors
    ///
    /// The request failed, or the object does not fit its Rust type.
    ///
    /// # Cancel safety
    ///
    /// Safe: nothing is changed.
    pub fn get<K: LiveReadBy<C>>(&self, name: impl ObjectName) -> BoxFuture<'_, Result<Option<Arc<K>>>> {
        let kind = Kind::of::<K>();
        let inner: &Inner = &self.cx.inner;
        let key = name.into_key(&inner.key().namespace, kind.namespaced());
        Box::pin(async move {
            inner.check_read(&kind)?;
            match inner.live(&kind, &key).await? {
                Some(cached) => Ok(Some(cached.decode::<K>()?)),
                None => Ok(None),
            }
        })
    }

    /// The objects that match a query, as the server has them now, page by page.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    ///
    /// # Cancel safety
    ///
    /// Safe: nothing is changed.
    pub fn list<K: LiveReadBy<C>>(&self, query: Query) -> BoxFuture<'_, Result<Vec<Arc<K>>>> {
        let kind = Kind::of::<K>();
        let inner: &Inner = &self.cx.inner;
        Box::pin(async move {
            inner.check_read(&kind)?;
            let found = inner.list_live(&kind, &query).await?;
            found.iter().map(|cached| Ok(cached.decode::<K>()?)).collect()
        })
    }
}
