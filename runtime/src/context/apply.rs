//! Server-side apply of children and of declared kinds.

use std::sync::Arc;

use crate::cache::{Cached, Slot};
use crate::context::body::Body;
use crate::context::inner::{Claim, Existing, Inner, NEVER_CURRENT, on};
use crate::diagnostics::{Base, WriteOutcome};
use crate::error::{Error, Result};
use crate::key::ObjectKey;
use crate::kind::Kind;

/// How often a claim is decided anew when the object changes hands under the apply.
const ATTEMPTS: usize = 3;

impl Inner {
    /// Applies `body`: creates the object, or brings the fields that it sets in line.
    pub(super) async fn apply(&self, kind: Kind, mut body: Body, part: Option<&str>) -> Result<Cached> {
        self.check_write(&kind)?;
        let key = self.place(&kind, &mut body)?;
        let manager = self.manager(part)?;
        self.log.apply_fields(&kind, &key, &manager, body.field_paths())?;
        if self.shared.declared.may_own(&kind) {
            self.take_ownership(&kind, &mut body)?;
            self.apply_owned(&kind, &key, body, &manager).await
        } else {
            self.take_over(&kind, &key, &manager, None).await?;
            self.apply_claimed(&kind, &key, body, &manager, &Claim::Written, false)
                .await
        }
    }

    /// Name and namespace of an object to write: a namespaced object without one goes beside the primary.
    ///
    /// # Errors
    ///
    /// No name; no namespace where the primary has none; a child outside the primary's namespace.
    pub(super) fn place(&self, kind: &Kind, body: &mut Body) -> Result<ObjectKey> {
        let Some(name) = body.name().map(str::to_owned) else {
            return Err(Error::terminal(format!(
                "a {} to write has no metadata.name: derive it from the primary's name, or use `cx.create` with \
                 generateName",
                kind.kind()
            )));
        };
        let key = ObjectKey {
            cluster: Arc::clone(&self.key().cluster),
            ..self.place_in(kind, body, name)?
        };
        body.set_key(&key);
        Ok(key)
    }

    /// As [`place`](Self::place), for an object that may leave its name to the server.
    pub(super) fn place_in(&self, kind: &Kind, body: &Body, name: String) -> Result<ObjectKey> {
        if !kind.namespaced() {
            return Ok(ObjectKey::cluster_scoped(name));
        }
        let own = self.key().namespace();
        let namespace = match (body.namespace(), own) {
            (Some(given), Some(own)) if given != own && self.is_beside_its_owner(kind) => {
                return Err(Error::terminal(format!(
                    "{} {given}/{name} cannot be a child of {} {}: an owner must be in the namespace of what it \
                     owns; leave the namespace out, or declare `tracks = {}`",
                    kind.kind(),
                    self.primary.kind.kind(),
                    self.key(),
                    kind.kind()
                )));
            }
            (Some(given), _) => given.to_owned(),
            (None, Some(own)) => own.to_owned(),
            (None, None) => {
                return Err(Error::terminal(format!(
                    "{} {name} needs a metadata.namespace: the primary {} has none to lend",
                    kind.kind(),
                    self.primary.kind.kind()
                )));
            }
        };
        Ok(ObjectKey::new(namespace, name))
    }

    /// Whether objects of the kind carry an owner reference, which names nothing in another namespace.
    fn is_beside_its_owner(&self, kind: &Kind) -> bool {
        let declared = &self.shared.declared;
        declared.may_own(kind) && !declared.may_track(kind)
    }

    /// The field manager of a whole object, or of a named part of it.
    pub(super) fn manager(&self, part: Option<&str>) -> Result<Arc<str>> {
        match part {
            None => Ok(Arc::clone(&self.shared.field_manager)),
            Some("") => Err(Error::terminal(
                "the name of a part must not be empty: name what it sets",
            )),
            Some(part) => Ok(Arc::from(format!("{}/{part}", self.shared.field_manager))),
        }
    }

    async fn apply_owned(&self, kind: &Kind, key: &ObjectKey, body: Body, manager: &str) -> Result<Cached> {
        let mut existing = self.claim(kind, key, self.known(kind, key).await?)?;
        if !matches!(existing, Existing::Missing)
            && let Some(taken_over) = self.take_over(kind, key, manager, None).await?
        {
            existing = self.claim(kind, key, Some(taken_over))?;
        }
        let mut attempt = 1;
        loop {
            // The last try is not held to a version: somebody may change the object all the time.
            let exactly = self.tells_own_events() && attempt < ATTEMPTS;
            let answer = self
                .apply_claimed(kind, key, body.clone(), manager, &Claim::Owned(existing), exactly)
                .await;
            match answer {
                // The object is not what it was taken for: ask the server, and decide again.
                Err(Error::Client(error)) if error.contradicts_precondition() && attempt < ATTEMPTS => {
                    let live = self.live(kind, key).await?.map(|cached| cached.header_arc());
                    existing = self.claim(kind, key, live)?;
                    attempt += 1;
                }
                answer => return answer,
            }
        }
    }

    /// Applies an object that is what `claim` says; `exactly` the version that it says, or it is a conflict.
    async fn apply_claimed(
        &self,
        kind: &Kind,
        key: &ObjectKey,
        mut body: Body,
        manager: &str,
        claim: &Claim,
        exactly: bool,
    ) -> Result<Cached> {
        // What is remembered is what the author asked for; the preconditions added below change from run to run.
        let configuration = body.digest()?;
        let slot = Slot::new(kind, key, manager, None);
        if matches!(claim, Claim::Written | Claim::Owned(Existing::Ours(_)))
            && let Some(current) = self.shared.reader.cached_body(kind, key)
            && (self.shared.memory.should_skip(&slot, configuration, &current)
                || self
                    .shared
                    .memory
                    .recall(&slot, configuration, body.members(), &current))
        {
            self.note("apply", kind, key, None, WriteOutcome::Skipped);
            return Ok(current);
        }
        let based_on = match claim {
            Claim::Owned(Existing::Missing) => {
                body.set_metadata("resourceVersion", NEVER_CURRENT);
                Base::Nothing
            }
            Claim::Owned(Existing::Ours(header)) if !exactly => {
                body.set_metadata("uid", &*header.uid);
                Base::Unknown
            }
            Claim::Owned(Existing::Ours(header) | Existing::Adoptable(header)) => {
                body.set_metadata("uid", &*header.uid);
                body.set_metadata("resourceVersion", &*header.version.as_str());
                on(header)
            }
            Claim::Written => Base::Unknown,
        };
        let before = self
            .shared
            .reader
            .cached_body(kind, key)
            .map(|cached| cached.header_arc());
        let sent = self
            .shared
            .transport
            .apply(&self.origin, kind, key, None, body.into_bytes()?, manager, true)
            .await;
        let answer = match sent {
            Ok(bytes) => self.answer(kind, bytes)?,
            Err(error) => {
                // A version that has moved on is no failure: it is asked for, and the apply goes out once more.
                if !(exactly && error.is_conflict()) {
                    self.record("apply", kind, key, None, based_on, Err(&error));
                }
                return Err(error.into());
            }
        };
        self.record("apply", kind, key, None, based_on, Ok(answer.header()));
        // Without a cached object to compare with, nothing is skipped, and nobody would say when to forget.
        if self.shared.reader.keeps(&answer) {
            self.shared.memory.record(&slot, configuration, &answer);
        }
        if let Some(before) = before {
            self.log.advanced(kind, key, before, answer.header_arc(), false);
        }
        Ok(answer)
    }
}
