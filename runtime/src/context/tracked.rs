//! Children that no owner reference can name: in other namespaces, or of another scope. A label with the primary's uid
//! tells them apart.

use serde_json::json;

use crate::cache::{Cached, Selector};
use crate::context::body::Body;
use crate::context::inner::Inner;
use crate::declaration::TRACKED_BY;
use crate::delta::Header;
use crate::error::{Error, Result};
use crate::kind::Kind;
use crate::owner::{Ownership, controller_reference};

impl Inner {
    /// Makes the object to write the primary's: by a reference, or by the label where the kind is tracked.
    pub(super) fn take_ownership(&self, kind: &Kind, body: &mut Body) -> Result<()> {
        if self.shared.declared.may_track(kind) {
            body.set_label(TRACKED_BY, self.uid());
            return Ok(());
        }
        body.add_owner(&controller_reference(&self.primary.kind, self.key(), self.uid()))
    }

    /// Whose an object of a kind is that the controller owns or tracks.
    pub(super) fn ownership(&self, kind: &Kind, header: &Header) -> Ownership {
        if !self.shared.declared.may_track(kind) {
            return Ownership::of(header, self.uid());
        }
        match header.labels.get(TRACKED_BY) {
            Some(uid) if uid == self.uid() => Ownership::Ours,
            Some(uid) => Ownership::Foreign(format!("the primary with uid {uid}")),
            // What somebody controls is not free, whether it is labelled or not.
            None => match Ownership::of(header, self.uid()) {
                Ownership::Ours => Ownership::Free,
                other => other,
            },
        }
    }

    /// The primary's objects of a tracked kind, wherever they are.
    pub(super) fn tracked(&self, kind: &Kind) -> Result<Vec<Cached>> {
        let selector = Selector::labels([(TRACKED_BY, self.uid())]);
        let found = self.shared.reader.list(kind, None, Some(&selector));
        let found = found.or_else(|| self.shared.reader.list_metadata(kind, None, Some(&selector)));
        found.ok_or_else(|| {
            Error::from(format!(
                "it is not known which {} are this primary's: the outcome of a write is unknown, or the cache has not \
                 synced; the run is retried",
                kind.plural()
            ))
        })
    }

    /// The patch that lets a tracked child go.
    pub(super) fn untrack(&self, header: &Header) -> serde_json::Value {
        let path = format!("/metadata/labels/{}", TRACKED_BY.replace('~', "~0").replace('/', "~1"));
        json!([
            { "op": "test", "path": "/metadata/uid", "value": &*header.uid },
            { "op": "test", "path": path, "value": self.uid() },
            { "op": "remove", "path": path },
        ])
    }
}
