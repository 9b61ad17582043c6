//! Reads that bypass the cache.

use std::marker::PhantomData;
use std::sync::Arc;

use futures::future::BoxFuture;

use crate::client::{ListParams, Pages};
use crate::context::Context;
use crate::context::inner::Inner;
use crate::context::query::Query;
use crate::context::target::ObjectName;
use crate::error::Result;
use crate::grants::{Declare, LiveReadBy};
use crate::kind::Kind;
use crate::object::Object;

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

    /// As [`list`](Self::list), for what is too much to be held at once: gives a page of a few hundred objects at a time.
    ///
    /// # Errors
    ///
    /// The kind is not declared, where the grant was written by hand.
    pub fn pages<K: LiveReadBy<C>>(&self, query: &Query) -> Result<LivePages<'_, K>> {
        let kind = Kind::of::<K>();
        let inner: &Inner = &self.cx.inner;
        inner.check_read(&kind)?;
        let params = ListParams {
            labels: query.labels.clone(),
            ..ListParams::default()
        };
        let pages = inner
            .shared
            .transport
            .pages(&inner.origin, &kind, query.namespace.as_deref(), params);
        Ok(LivePages {
            inner,
            kind,
            pages,
            of: PhantomData,
        })
    }
}

/// The pages of a live list; made by [`Live::pages`].
#[derive(Debug)]
pub struct LivePages<'a, K> {
    inner: &'a Inner,
    kind: Kind,
    pages: Pages,
    of: PhantomData<fn() -> K>,
}

impl<K: Object> LivePages<'_, K> {
    /// The next page; `None` after the last. All show the collection at one moment, see [`Pages::next`].
    ///
    /// # Errors
    ///
    /// The request failed, or an object does not fit its Rust type.
    ///
    /// # Cancel safety
    ///
    /// Safe: nothing is changed, and the page is asked for again.
    #[expect(
        clippy::should_implement_trait,
        reason = "it awaits, which the standard trait cannot"
    )]
    pub fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Arc<K>>>>> {
        Box::pin(async move {
            let Some(page) = self.pages.next().await else {
                return Ok(None);
            };
            let objects = page?.items.into_iter().map(|item| {
                // An item shares the answer's buffer, which must not live as long as the object.
                let cached = self.inner.answer(&self.kind, item)?;
                Ok(cached.decode::<K>()?)
            });
            objects.collect::<Result<_>>().map(Some)
        })
    }
}
