//! The primary's status: applied under a field manager of its own, so that spec and status never fight.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use crate::cache::{Cached, Slot};
use crate::client::ClientError;
use crate::context::body::{Body, drop_nulls};
use crate::context::inner::{Inner, on};
use crate::diagnostics::{Base, WriteOutcome};
use crate::error::{Error, Result};

impl Inner {
    /// Applies `status`, or takes every field of ours out of it where it is `None`.
    pub(super) async fn apply_status(&self, status: Option<Value>) -> Result<Cached> {
        let kind = self.primary.kind.clone();
        let key = self.key().clone();
        let manager: Arc<str> = Arc::from(format!("{}-status", self.shared.field_manager));
        let mut body = Body::bare(&kind, &key);
        if let Some(mut status) = status {
            if !status.is_object() {
                return Err(Error::terminal(format!(
                    "the status of {} must be written as a JSON object",
                    kind.kind()
                )));
            }
            drop_nulls(&mut status);
            body.set("status", status);
        }
        self.log.apply_fields(&kind, &key, &manager, body.field_paths())?;
        let configuration = body.digest()?;
        let slot = Slot::new(&kind, &key, &manager, Some("status"));
        self.take_over(&kind, &key, &manager, Some("status")).await?;
        let before = self.shared.reader.cached_body(&kind, &key);
        if let Some(current) = &before
            && current.header().uid == self.primary.header.uid
            && (self.shared.memory.should_skip(&slot, configuration, current)
                || self.shared.memory.recall(&slot, configuration, body.members(), current))
        {
            self.note("apply", &kind, &key, Some("status"), WriteOutcome::Skipped);
            return Ok(current.clone());
        }
        // An object recreated under the same name must not get this one's status.
        body.set_metadata("uid", self.uid());
        let exactly = before.as_ref().filter(|_| self.tells_own_events());
        let mut sent = None;
        if let Some(current) = exactly {
            let mut body = body.clone();
            body.set_metadata("resourceVersion", &*current.header().version.as_str());
            sent = match self.send_status(body, &manager).await? {
                // Somebody was faster; the status follows from what this run read all the same.
                Err(error) if error.is_conflict() => None,
                sent => Some((sent, on(current.header()))),
            };
        }
        let (sent, based_on) = match sent {
            Some(sent) => sent,
            None => (self.send_status(body, &manager).await?, Base::Unknown),
        };
        let answer = self.wrote("apply", &kind, &key, Some("status"), based_on, sent)?;
        if self.shared.reader.keeps(&answer) {
            self.shared.memory.record(&slot, configuration, &answer);
        }
        if let Some(before) = before {
            self.log
                .advanced(&kind, &key, before.header_arc(), answer.header_arc(), false);
        }
        Ok(answer)
    }

    async fn send_status(&self, body: Body, manager: &str) -> Result<Result<Bytes, ClientError>> {
        let (kind, key, bytes) = (&self.primary.kind, self.key(), body.into_bytes()?);
        let transport = &self.shared.transport;
        let sent = transport.apply(&self.origin, kind, key, Some("status"), bytes, manager, true);
        Ok(sent.await)
    }
}
