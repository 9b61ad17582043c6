//! Map functions that find the primary objects by an index of theirs.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde::de::DeserializeOwned;

use crate::declaration::mapper::{MapFn, MapInput, decode};
use crate::error::Result;
use crate::key::ObjectKey;

/// Maps a watched object to the primary objects that an index of the primary kind finds under what `values` answers:
/// the Apps whose spec names a Secret, say, when that Secret changes. A list by index costs what it finds, however many
/// Apps there are.
///
/// The index is declared on the primary, by [`Declaration::index`](crate::Declaration::index). It holds the objects of
/// all namespaces: where names repeat in them, put the namespace into the value, on both sides.
///
/// ```
/// use kubewright::declaration::by_index;
/// use kubewright::prelude::*;
/// use kubewright::{Declaration, Declare, Reads};
///
/// # struct Copier;
/// # impl Reads<Secret> for Copier {}
/// # impl Reconciler for Copier {
/// #     async fn reconcile(&self, _: Arc<ConfigMap>, _: &Context<Self>) -> Result<Action> { Ok(Action::await_change()) }
/// # }
/// impl Declare for Copier {
///     type Primary = ConfigMap;
///     fn declare(d: Declaration<Self>) -> Declaration<Self> {
///         d.for_::<ConfigMap>()
///             .index("secret", |map: &ConfigMap| map.data.iter().flatten().map(|(_, name)| name.clone()).collect::<Vec<_>>())
///             .watches::<Secret, _>(by_index("secret", |secret: &Secret| secret.metadata.name.clone()))
///     }
/// }
/// ```
#[must_use]
pub fn by_index<K, I, F>(index: impl Into<Arc<str>>, values: F) -> ByIndex<K, F>
where
    K: DeserializeOwned + 'static,
    F: Fn(&K) -> I + Send + Sync + 'static,
    I: IntoIterator<Item: Into<String>>,
{
    ByIndex {
        index: index.into(),
        values,
        kind: PhantomData,
    }
}

/// What [`by_index`] gives.
pub struct ByIndex<K, F> {
    index: Arc<str>,
    values: F,
    kind: PhantomData<fn(&K)>,
}

/// Marks map functions that go through an index.
pub struct ThroughIndex<I>(PhantomData<I>);

#[diagnostic::do_not_recommend]
impl<K, F, I> MapFn<K, ThroughIndex<I>> for ByIndex<K, F>
where
    K: DeserializeOwned + 'static,
    F: Fn(&K) -> I + Send + Sync + 'static,
    I: IntoIterator<Item: Into<String>>,
{
    fn keys(
        map: &Arc<Self>,
        input: MapInput,
        _primary_namespaced: bool,
        primaries: &PrimaryIndex,
    ) -> BoxFuture<'static, Result<Vec<ObjectKey>>> {
        let found = decode::<K>(&input).and_then(|object| {
            let mut keys = Vec::new();
            for value in (map.values)(&object) {
                keys.extend(primaries.find(&map.index, &value.into())?);
            }
            Ok(keys)
        });
        Box::pin(std::future::ready(found))
    }
}

impl<K, F> fmt::Debug for ByIndex<K, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ByIndex").field(&self.index).finish()
    }
}

/// Finds primary objects by an index; `None` where there is no such index.
type Find = dyn Fn(&str, &str) -> Option<Vec<ObjectKey>> + Send + Sync;

/// The way to the indexes of the primary kind, for map functions. Empty outside of a running controller.
#[derive(Clone, Default)]
pub struct PrimaryIndex(Option<Arc<Find>>);

impl PrimaryIndex {
    pub(crate) fn new(find: impl Fn(&str, &str) -> Option<Vec<ObjectKey>> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(find)))
    }

    pub(crate) fn find(&self, index: &str, value: &str) -> Result<Vec<ObjectKey>> {
        let found = self.0.as_ref().and_then(|find| find(index, value));
        found.ok_or_else(|| {
            format!(
                "the primary kind has no index `{index}`: declare it, as `.index(\"{index}\", f)` on the declaration"
            )
            .into()
        })
    }
}

impl fmt::Debug for PrimaryIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrimaryIndex(..)")
    }
}
