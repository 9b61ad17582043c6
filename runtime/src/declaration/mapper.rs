use std::fmt;
use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use serde::de::DeserializeOwned;

use crate::cache::decode_cause;
use crate::declaration::PrimaryIndex;
use crate::error::Result;
use crate::key::ObjectKey;
use crate::kind::Kind;

/// One version of a watched object, as a map function is asked about it.
#[derive(Clone, Debug)]
pub struct MapInput {
    /// The object's kind.
    pub kind: Kind,
    /// The object.
    pub key: ObjectKey,
    /// Its JSON; metadata only where the watch is `metadata_only`.
    pub body: Bytes,
}

/// Maps a watched object to keys of the primary kind. Made from a [`MapFn`]; cheap to clone.
#[derive(Clone)]
pub struct Mapper(Arc<Erased>);

type Erased = dyn Fn(MapInput, &PrimaryIndex) -> BoxFuture<'static, Result<Vec<ObjectKey>>> + Send + Sync;

impl Mapper {
    /// The mapper of a map function, for a primary kind that is or is not namespaced.
    pub fn new<K, M, F: MapFn<K, M>>(map: F, primary_namespaced: bool) -> Self {
        let map = Arc::new(map);
        Self(Arc::new(move |input, primaries| {
            F::keys(&map, input, primary_namespaced, primaries)
        }))
    }

    /// The keys that `input` wakes, once for the old and once for the new version of an object.
    ///
    /// # Errors
    ///
    /// When the body does not decode as the kind's Rust type.
    ///
    /// # Cancel safety
    ///
    /// As the map function; plain functions do not wait.
    pub async fn map(&self, input: MapInput) -> Result<Vec<ObjectKey>> {
        self.map_among(input, &PrimaryIndex::default()).await
    }

    /// As [`map`](Self::map), for functions that ask the indexes of the primary kind.
    ///
    /// # Errors
    ///
    /// As [`map`](Self::map); there is no such index.
    ///
    /// # Cancel safety
    ///
    /// As [`map`](Self::map).
    pub async fn map_among(&self, input: MapInput, primaries: &PrimaryIndex) -> Result<Vec<ObjectKey>> {
        (self.0)(input, primaries).await
    }
}

impl fmt::Debug for Mapper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mapper(..)")
    }
}

/// What a map function may answer an iterator of.
///
/// [`ObjectKey`], `(namespace, name)`, or a bare name, which stands for the watched object's own namespace.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name a primary object",
    label = "a map function answers `ObjectKey`s, `(namespace, name)` pairs, or names in the watched object's namespace"
)]
pub trait MapKey {
    /// The key that is meant, where `from` is the watched object.
    fn into_key(self, from: &ObjectKey, primary_namespaced: bool) -> ObjectKey;
}

impl MapKey for ObjectKey {
    fn into_key(self, _from: &ObjectKey, _primary_namespaced: bool) -> ObjectKey {
        self
    }
}

impl<N: Into<Arc<str>>, M: Into<Arc<str>>> MapKey for (N, M) {
    fn into_key(self, from: &ObjectKey, _primary_namespaced: bool) -> ObjectKey {
        ObjectKey {
            cluster: from.cluster.clone(),
            namespace: self.0.into(),
            name: self.1.into(),
        }
    }
}

impl MapKey for Arc<str> {
    fn into_key(self, from: &ObjectKey, primary_namespaced: bool) -> ObjectKey {
        ObjectKey {
            cluster: from.cluster.clone(),
            namespace: if primary_namespaced {
                from.namespace.clone()
            } else {
                Arc::from("")
            },
            name: self,
        }
    }
}

impl MapKey for String {
    fn into_key(self, from: &ObjectKey, primary_namespaced: bool) -> ObjectKey {
        Arc::<str>::from(self).into_key(from, primary_namespaced)
    }
}

impl MapKey for &str {
    fn into_key(self, from: &ObjectKey, primary_namespaced: bool) -> ObjectKey {
        Arc::<str>::from(self).into_key(from, primary_namespaced)
    }
}

/// A function from a watched object to the primary objects that a change of it wakes.
///
/// Implemented for plain and async functions and closures that take `&K` or `Arc<K>` and answer an iterator of
/// [`MapKey`]s. `M` only tells these shapes apart; leave it to inference.
#[diagnostic::on_unimplemented(
    message = "this is no map function for `{K}`",
    label = "expected `fn(&{K}) -> Vec<ObjectKey>`, or an async one",
    note = "any iterator will do, of `ObjectKey`, `(namespace, name)`, or a name in the watched object's namespace"
)]
pub trait MapFn<K, M>: Send + Sync + 'static {
    /// Calls the function on what `input` decodes to.
    #[doc(hidden)]
    fn keys(
        map: &Arc<Self>,
        input: MapInput,
        primary_namespaced: bool,
        primaries: &PrimaryIndex,
    ) -> BoxFuture<'static, Result<Vec<ObjectKey>>>;
}

/// Marks functions of `&K`.
pub struct ByRef<R>(std::marker::PhantomData<R>);
/// Marks functions of `Arc<K>`.
pub struct ByArc<R>(std::marker::PhantomData<R>);
/// Marks async functions of `&K`.
pub struct AsyncByRef<R>(std::marker::PhantomData<R>);
/// Marks async functions of `Arc<K>`.
pub struct AsyncByArc<R>(std::marker::PhantomData<R>);

#[diagnostic::do_not_recommend]
impl<K, F, R> MapFn<K, ByRef<R>> for F
where
    K: DeserializeOwned + 'static,
    F: Fn(&K) -> R + Send + Sync + 'static,
    R: IntoIterator<Item: MapKey> + 'static,
{
    fn keys(
        map: &Arc<F>,
        input: MapInput,
        primary_namespaced: bool,
        _: &PrimaryIndex,
    ) -> BoxFuture<'static, Result<Vec<ObjectKey>>> {
        let keys = decode::<K>(&input).map(|object| collect(map(&object), &input.key, primary_namespaced));
        Box::pin(std::future::ready(keys))
    }
}

#[diagnostic::do_not_recommend]
impl<K, F, R> MapFn<K, ByArc<R>> for F
where
    K: DeserializeOwned + 'static,
    F: Fn(Arc<K>) -> R + Send + Sync + 'static,
    R: IntoIterator<Item: MapKey> + 'static,
{
    fn keys(
        map: &Arc<F>,
        input: MapInput,
        primary_namespaced: bool,
        _: &PrimaryIndex,
    ) -> BoxFuture<'static, Result<Vec<ObjectKey>>> {
        let keys = decode::<K>(&input).map(|object| collect(map(Arc::new(object)), &input.key, primary_namespaced));
        Box::pin(std::future::ready(keys))
    }
}

/// An async function of a borrowed object. The lifetime is the trait's, because the future may borrow the argument.
pub trait BorrowingFn<'a, K: 'a>: Send + Sync {
    /// What the future answers.
    type Output;
    /// The future.
    type Future: Future<Output = Self::Output> + Send + 'a;
    /// Calls the function.
    fn call(&self, object: &'a K) -> Self::Future;
}

impl<'a, K, F, U> BorrowingFn<'a, K> for F
where
    K: 'a,
    F: Fn(&'a K) -> U + Send + Sync,
    U: Future + Send + 'a,
{
    type Output = U::Output;
    type Future = U;
    fn call(&self, object: &'a K) -> U {
        self(object)
    }
}

#[diagnostic::do_not_recommend]
impl<K, F, R> MapFn<K, AsyncByRef<R>> for F
where
    K: DeserializeOwned + Send + Sync + 'static,
    F: for<'a> BorrowingFn<'a, K, Output = R> + 'static,
    R: IntoIterator<Item: MapKey> + 'static,
{
    fn keys(
        map: &Arc<F>,
        input: MapInput,
        primary_namespaced: bool,
        _: &PrimaryIndex,
    ) -> BoxFuture<'static, Result<Vec<ObjectKey>>> {
        let map = Arc::clone(map);
        Box::pin(async move {
            let object = decode::<K>(&input)?;
            Ok(collect(map.call(&object).await, &input.key, primary_namespaced))
        })
    }
}

#[diagnostic::do_not_recommend]
impl<K, F, U, R> MapFn<K, AsyncByArc<R>> for F
where
    K: DeserializeOwned + Send + Sync + 'static,
    F: Fn(Arc<K>) -> U + Send + Sync + 'static,
    U: Future<Output = R> + Send + 'static,
    R: IntoIterator<Item: MapKey> + 'static,
{
    fn keys(
        map: &Arc<F>,
        input: MapInput,
        primary_namespaced: bool,
        _: &PrimaryIndex,
    ) -> BoxFuture<'static, Result<Vec<ObjectKey>>> {
        let map = Arc::clone(map);
        Box::pin(async move {
            let object = decode::<K>(&input)?;
            Ok(collect(map(Arc::new(object)).await, &input.key, primary_namespaced))
        })
    }
}

pub(super) fn decode<K: DeserializeOwned>(input: &MapInput) -> Result<K> {
    serde_json::from_slice(&input.body).map_err(|error| {
        format!(
            "{} {} does not decode as `{}`, so its map function was not asked: {}",
            input.kind.kind(),
            input.key,
            std::any::type_name::<K>(),
            decode_cause(&input.kind, &error)
        )
        .into()
    })
}

fn collect<R: IntoIterator<Item: MapKey>>(keys: R, from: &ObjectKey, primary_namespaced: bool) -> Vec<ObjectKey> {
    keys.into_iter()
        .map(|key| key.into_key(from, primary_namespaced))
        .collect()
}
