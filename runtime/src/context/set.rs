//! Children as a set: what the primary no longer asks for goes away.

use std::collections::BTreeSet;

use crate::cache::Cached;
use crate::client::Preconditions;
use crate::context::body::Body;
use crate::context::inner::Inner;
use crate::error::{Error, Result};
use crate::key::ObjectKey;
use crate::kind::Kind;
use crate::owner::{NotOwned, Ownership};

impl Inner {
    /// Applies `children`, then deletes the primary's other objects of the kind.
    ///
    /// All are applied before any is deleted, and nothing is deleted when an apply fails.
    pub(super) async fn apply_set(&self, kind: Kind, children: Vec<Body>) -> Result<Vec<Cached>> {
        self.check_own(&kind)?;
        let mut wanted = BTreeSet::new();
        for child in &children {
            let mut placed = child.clone();
            let key = self.place(&kind, &mut placed)?;
            if !wanted.insert(key.clone()) {
                return Err(Error::terminal(format!("{} {key} is in the set twice", kind.kind())));
            }
        }
        let mut applied = Vec::with_capacity(children.len());
        for child in children {
            applied.push(self.apply(kind.clone(), child, None).await?);
        }
        for child in self.children_for_sure(&kind).await? {
            if !wanted.contains(child.key()) && !child.header().is_deleting() {
                self.delete_seen(&kind, &child).await?;
            }
        }
        Ok(applied)
    }

    /// Deletes what the primary controls of a kind; true once nothing of it is left.
    pub(super) async fn children_gone(&self, kind: &Kind) -> Result<bool> {
        let children = self.children_for_sure(kind).await?;
        for child in &children {
            if !child.header().is_deleting() {
                self.delete_seen(kind, child).await?;
            }
        }
        Ok(children.is_empty() || self.children(kind)?.is_empty())
    }

    /// Deletes an object by name. An owned kind's must be the primary's; one that is gone already is success.
    pub(super) async fn delete(&self, kind: &Kind, key: &ObjectKey) -> Result<()> {
        self.check_write(kind)?;
        if !self.shared.declared.may_own(kind) {
            return self.send_delete(kind, key, Preconditions::default()).await;
        }
        let Some(header) = self.known(kind, key).await? else {
            return Ok(());
        };
        let owner = match self.ownership(kind, &header) {
            Ownership::Ours => {
                // The uid alone: whoever changed the object since, it is ours and is to go.
                let uid = Preconditions {
                    uid: Some(header.uid.to_string()),
                    resource_version: None,
                };
                return self.send_delete(kind, key, uid).await;
            }
            Ownership::Free => None,
            Ownership::Foreign(owner) => Some(owner),
        };
        Err(Error::NotOwned(NotOwned {
            kind: kind.clone(),
            key: key.clone(),
            owner,
        }))
    }

    /// Deletes exactly the version that was seen: an object that changed hands since is left alone, and the conflict
    /// is retried with what is there then.
    async fn delete_seen(&self, kind: &Kind, seen: &Cached) -> Result<()> {
        let header = seen.header();
        let exactly = Preconditions {
            uid: Some(header.uid.to_string()),
            resource_version: Some(header.version.as_str().into_owned()),
        };
        self.send_delete(kind, &header.key, exactly).await
    }

    async fn send_delete(&self, kind: &Kind, key: &ObjectKey, preconditions: Preconditions) -> Result<()> {
        let sent = self
            .shared
            .transport
            .delete(&self.origin, kind, key, preconditions)
            .await;
        let outcome = match &sent {
            Ok(_) => crate::diagnostics::WriteOutcome::Sent {
                uid: None,
                version: None,
                based_on: crate::diagnostics::Base::Unknown,
            },
            Err(error) if error.is_not_found() => return Ok(()),
            Err(error) => crate::diagnostics::WriteOutcome::Failed {
                message: error.to_string(),
            },
        };
        self.note("delete", kind, key, None, outcome);
        sent.map(drop).map_err(Error::from)
    }
}
