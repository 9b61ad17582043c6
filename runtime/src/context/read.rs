//! Reads: the cache where it answers for the kind, the server where it does not.

use std::sync::Arc;

use crate::cache::{Cached, Lookup, Selector, Unknown};
use crate::client::ListParams;
use crate::context::inner::Inner;
use crate::context::query::Query;
use crate::declaration::Index;
use crate::delta::Header;
use crate::error::{Error, Result};
use crate::key::ObjectKey;
use crate::kind::Kind;
use crate::object::Object;
use crate::owner::Ownership;

impl Inner {
    /// Checks a hand-written grant against the declaration.
    pub(super) fn check_read(&self, kind: &Kind) -> Result<()> {
        if self.shared.declared.may_read(kind) {
            return Ok(());
        }
        let name = kind.kind();
        Err(self.undeclared(
            "read",
            kind,
            format!("add `owns = {name}`, `watches({name}, map = …)` or `live = {name}`"),
        ))
    }

    /// One object with its body. A miss in a full cache is final; all else that the cache does not know is asked live.
    pub(super) async fn get(&self, kind: &Kind, key: &ObjectKey) -> Result<Option<Cached>> {
        self.check_read(kind)?;
        match self.shared.reader.get(kind, key) {
            Lookup::Found(cached) => Ok(Some(cached)),
            Lookup::Missing => Ok(None),
            Lookup::Unknown(Unknown::OutsideNamespaces) => Err(self.outside(kind, key)),
            Lookup::Unknown(_) => self.live(kind, key).await,
        }
    }

    /// As [`get`](Self::get), decoded; `None` where the server must be asked.
    pub(super) fn get_cached<K: Object>(&self, kind: &Kind, key: &ObjectKey) -> Result<Option<Option<Arc<K>>>> {
        self.check_read(kind)?;
        let looked = if of_metadata::<K>() {
            match self.shared.reader.metadata(kind, key) {
                Lookup::Found(cached) => Lookup::Found(cached.decode()?),
                Lookup::Missing => Lookup::Missing,
                Lookup::Unknown(why) => Lookup::Unknown(why),
            }
        } else {
            self.shared.reader.get_as(kind, key)?
        };
        match looked {
            Lookup::Found(object) => Ok(Some(Some(object))),
            Lookup::Missing => Ok(Some(None)),
            Lookup::Unknown(Unknown::OutsideNamespaces) => Err(self.outside(kind, key)),
            Lookup::Unknown(_) => Ok(None),
        }
    }

    /// The object as the server has it now, decoded.
    pub(super) async fn live_as<K: Object>(&self, kind: &Kind, key: &ObjectKey) -> Result<Option<Arc<K>>> {
        match self.live(kind, key).await? {
            Some(cached) => Ok(Some(cached.decode::<K>()?)),
            None => Ok(None),
        }
    }

    /// The object's newest known header: from the cache, or live where the cache does not answer for it.
    pub(super) async fn known(&self, kind: &Kind, key: &ObjectKey) -> Result<Option<Arc<Header>>> {
        match self.shared.reader.metadata(kind, key) {
            Lookup::Found(cached) => Ok(Some(cached.header_arc())),
            Lookup::Missing => Ok(None),
            Lookup::Unknown(Unknown::OutsideNamespaces) => Err(self.outside(kind, key)),
            Lookup::Unknown(_) => Ok(self.live(kind, key).await?.map(|cached| cached.header_arc())),
        }
    }

    /// The objects under a value of a declared index, sorted by namespace and name.
    pub(super) fn by_index(&self, kind: &Kind, name: &str, value: &str) -> Result<Vec<Cached>> {
        self.check_read(kind)?;
        let in_cache = Index::name_in_cache(&self.shared.declared.name, name);
        let found = self.shared.reader.by_index(kind, &in_cache, value);
        found.ok_or_else(|| {
            Error::terminal(format!(
                "{} has no index `{name}`: declare it on the watch, as `.index(\"{name}\", f)`",
                kind.kind()
            ))
        })
    }

    fn outside(&self, kind: &Kind, key: &ObjectKey) -> Error {
        Error::terminal(format!(
            "{} {key} lies outside the namespaces that the operator watches: add its namespace to the operator's \
             flag --watch-namespaces",
            kind.kind()
        ))
    }

    /// The objects of a kind that match a query, decoded, sorted by namespace and name.
    pub(super) async fn list_as<K: Object>(&self, kind: &Kind, query: &Query) -> Result<Vec<Arc<K>>> {
        let found = self.list_of(kind, query, of_metadata::<K>()).await?;
        found.iter().map(|cached| Ok(cached.decode::<K>()?)).collect()
    }

    /// The objects of a kind that match a query, sorted by namespace and name.
    pub(super) async fn list(&self, kind: &Kind, query: &Query) -> Result<Vec<Cached>> {
        self.list_of(kind, query, false).await
    }

    async fn list_of(&self, kind: &Kind, query: &Query, metadata: bool) -> Result<Vec<Cached>> {
        self.check_read(kind)?;
        let selector = match &query.labels {
            None => None,
            Some(text) => Some(
                Selector::parse(text).map_err(|e| Error::terminal(format!("{text:?} is no label selector: {e}")))?,
            ),
        };
        let (reader, namespace) = (&self.shared.reader, query.namespace.as_deref());
        let cached = if metadata {
            reader.list_metadata(kind, namespace, selector.as_ref())
        } else {
            reader.list(kind, namespace, selector.as_ref())
        };
        match cached {
            Some(found) => Ok(found),
            None => self.list_live(kind, query).await,
        }
    }

    /// As [`list`](Self::list), from the server, page by page.
    pub(super) async fn list_live(&self, kind: &Kind, query: &Query) -> Result<Vec<Cached>> {
        let params = ListParams {
            labels: query.labels.clone(),
            ..Default::default()
        };
        let bodies = self
            .shared
            .transport
            .list_all(&self.origin, kind, query.namespace.as_deref(), params)
            .await?;
        bodies.into_iter().map(|body| self.answer(kind, body)).collect()
    }

    /// What the primary controls of a kind. An object that names it as one owner among others is somebody else's.
    pub(super) fn children(&self, kind: &Kind) -> Result<Vec<Cached>> {
        self.check_own(kind)?;
        if self.shared.declared.may_track(kind) {
            return self.tracked(kind);
        }
        let mut owned = self.shared.reader.by_owner(kind, self.uid());
        owned.retain(|object| Ownership::of(object.header(), self.uid()) == Ownership::Ours);
        Ok(owned)
    }

    /// As [`children`](Self::children), decoded.
    pub(super) fn children_as<K: Object>(&self, kind: &Kind) -> Result<Vec<Arc<K>>> {
        self.check_own(kind)?;
        if self.shared.declared.may_track(kind) {
            let tracked = self.tracked(kind)?;
            return tracked.iter().map(|cached| Ok(cached.decode::<K>()?)).collect();
        }
        Ok(self.shared.reader.controlled_as(kind, self.uid())?)
    }

    /// As [`children`](Self::children), after asking the server what became of writes whose outcome is unknown.
    pub(super) async fn children_for_sure(&self, kind: &Kind) -> Result<Vec<Cached>> {
        let beside = !self.shared.declared.may_track(kind);
        let namespace = self.key().namespace().filter(|_| beside);
        for key in self.shared.reader.in_doubt(kind, namespace) {
            self.live(kind, &key).await?;
        }
        self.children(kind)
    }
}

/// Whether a type holds metadata alone (`PartialObjectMeta`), for which informers of metadata do. There is nothing else to
/// tell it from the kind that it names; where the type were called differently, reads of it would be live.
fn of_metadata<K>() -> bool {
    let name = std::any::type_name::<K>();
    // Few kinds have parameters, and each read asks.
    name.ends_with('>') && name.contains("::PartialObjectMeta<")
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::core::PartialObjectMeta;

    use super::of_metadata;

    #[test]
    fn metadata_is_told_from_its_kind() {
        assert!(of_metadata::<PartialObjectMeta<ConfigMap>>());
        assert!(!of_metadata::<ConfigMap>());
    }
}
