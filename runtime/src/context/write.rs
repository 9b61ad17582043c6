//! The other writes: create, update, patch, release.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::cache::Cached;
use crate::client::{ClientError, PatchType};
use crate::context::body::Body;
use crate::context::inner::{Existing, Inner, NEVER_CURRENT};
use crate::context::patch::Patch;
use crate::delta::Header;
use crate::diagnostics::Base;
use crate::error::{Error, Result};
use crate::key::ObjectKey;
use crate::kind::Kind;
use crate::owner::Ownership;

impl Inner {
    /// Creates an object; one that exists is an error.
    pub(super) async fn create(&self, kind: Kind, mut body: Body) -> Result<Cached> {
        self.check_write(&kind)?;
        let name = match (body.name(), body.get_metadata("generateName")) {
            (Some(name), _) => name.to_owned(),
            (None, Some(_)) => String::new(),
            (None, None) => {
                return Err(Error::terminal(format!(
                    "a {} to create needs metadata.name or metadata.generateName",
                    kind.kind()
                )));
            }
        };
        let key = self.place_in(&kind, &body, name)?;
        match key.namespace() {
            Some(namespace) => body.set_metadata("namespace", namespace),
            None => body.remove_metadata("namespace"),
        }
        body.remove_metadata("resourceVersion");
        if self.shared.declared.may_own(&kind) {
            self.take_ownership(&kind, &mut body)?;
        }
        let manager = Arc::clone(&self.shared.field_manager);
        let sent = self
            .shared
            .transport
            .create(&self.origin, &kind, &key, body.into_bytes()?, &manager)
            .await;
        self.wrote("create", &kind, &key, None, Base::Nothing, sent)
    }

    /// Replaces an object, based on `version`; rebased where this run itself made the version after it.
    pub(super) async fn update(&self, kind: &Kind, mut body: Body) -> Result<Cached> {
        if !self.shared.declared.may_update(kind) {
            let name = kind.kind();
            return Err(self.undeclared("update", kind, format!("add `updates = {name}`, or use `cx.apply`")));
        }
        let key = self.place(kind, &mut body)?;
        let Some(version) = body.get_metadata("resourceVersion").map(str::to_owned) else {
            return Err(Error::terminal(format!(
                "{} {key} cannot be updated without the resourceVersion it was read with: read it first, or use \
                 `cx.apply`",
                kind.kind()
            )));
        };
        if let Some(own) = self.log.rebase(kind, &key, &version) {
            body.set_metadata("resourceVersion", &*own.version.as_str());
        }
        let based_on = Base::Version(body.get_metadata("resourceVersion").unwrap_or_default().into());
        let before = self.header_at(kind, &key, &version);
        let manager = Arc::clone(&self.shared.field_manager);
        let sent = self
            .shared
            .transport
            .replace(&self.origin, kind, &key, None, body.into_bytes()?, &manager)
            .await;
        let answer = self.wrote("update", kind, &key, None, based_on, sent)?;
        if let Some(before) = before {
            self.log.advanced(kind, &key, before, answer.header_arc(), true);
        }
        Ok(answer)
    }

    /// Patches an object. An owned kind's must be the primary's.
    pub(super) async fn patch(&self, kind: &Kind, key: &ObjectKey, mut patch: Patch) -> Result<Cached> {
        self.check_write(kind)?;
        if self.shared.declared.may_own(kind) {
            let found = self.known(kind, key).await?;
            match self.claim(kind, key, found)? {
                // What the cache has not seen yet may be a stranger's.
                Existing::Missing => patch.bind("resourceVersion", NEVER_CURRENT),
                Existing::Ours(header) => patch.bind("uid", &header.uid),
                Existing::Adoptable(header) => {
                    return Err(Error::NotOwned(crate::owner::NotOwned {
                        kind: kind.clone(),
                        key: header.key.clone(),
                        owner: None,
                    }));
                }
            }
        }
        let before = self
            .shared
            .reader
            .cached_body(kind, key)
            .map(|cached| cached.header_arc());
        let (patch_type, body) = patch.into_parts()?;
        let manager = Arc::clone(&self.shared.field_manager);
        let sent = self
            .shared
            .transport
            .patch(&self.origin, kind, key, None, patch_type, body, &manager)
            .await;
        let answer = self.wrote("patch", kind, key, None, Base::Unknown, sent)?;
        if let Some(before) = before {
            self.log.advanced(kind, key, before, answer.header_arc(), false);
        }
        Ok(answer)
    }

    /// Lets a child go: takes the primary's reference out of its owners and leaves the rest of it alone.
    pub(super) async fn release(&self, kind: &Kind, key: &ObjectKey) -> Result<Option<Cached>> {
        self.check_own(kind)?;
        let Some(header) = self.known(kind, key).await? else {
            return Ok(None);
        };
        let operations: Value = if self.shared.declared.may_track(kind) {
            if self.ownership(kind, &header) != Ownership::Ours {
                return Ok(None);
            }
            self.untrack(&header)
        } else {
            let Some(at) = header.owners.iter().position(|owner| *owner.uid == *self.uid()) else {
                return Ok(None);
            };
            let path = format!("/metadata/ownerReferences/{at}");
            // The tests keep the patch from removing another owner when the list changed since it was read.
            json!([
                { "op": "test", "path": "/metadata/uid", "value": &*header.uid },
                { "op": "test", "path": format!("{path}/uid"), "value": self.uid() },
                { "op": "remove", "path": path },
            ])
        };
        let body = serde_json::to_vec(&operations).map_err(|e| Error::terminal(e.to_string()))?;
        let manager = Arc::clone(&self.shared.field_manager);
        let sent = self
            .shared
            .transport
            .patch(&self.origin, kind, key, None, PatchType::Json, body, &manager)
            .await;
        self.wrote("patch", kind, key, None, Base::Unknown, sent).map(Some)
    }

    /// Notes a write and reads its answer.
    pub(super) fn wrote(
        &self,
        verb: &'static str,
        kind: &Kind,
        key: &ObjectKey,
        subresource: Option<&'static str>,
        based_on: Base,
        sent: Result<Bytes, ClientError>,
    ) -> Result<Cached> {
        match sent {
            Ok(bytes) => {
                let answer = self.answer(kind, bytes)?;
                self.record(verb, kind, answer.key(), subresource, based_on, Ok(answer.header()));
                Ok(answer)
            }
            Err(error) => {
                self.record(verb, kind, key, subresource, based_on, Err(&error));
                Err(error.into())
            }
        }
    }

    /// The header of exactly that version, where the cache or this run has it.
    fn header_at(&self, kind: &Kind, key: &ObjectKey, version: &str) -> Option<Arc<Header>> {
        if let Some(own) = self.log.rebase(kind, key, version) {
            return Some(own);
        }
        let cached = self.shared.reader.cached_body(kind, key)?;
        (cached.header().version.as_str() == version).then(|| cached.header_arc())
    }
}
