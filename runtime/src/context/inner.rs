//! The part of a context that knows no types: one primary object, one run, and the way to the cluster.

use std::sync::Arc;

use crate::cache::{ApplyMemory, Cached, Reader};
use crate::client::{ClientError, Origin, Transport};
use crate::context::run::RunLog;
use crate::declaration::{Adopt, Declared, OwnEvents};
use crate::delta::Header;
use crate::diagnostics::{Base, WriteOutcome, WriteRecord};
use crate::env::Env;
use crate::error::{Error, Result};
use crate::events::{Recorder, Regarding};
use crate::grants::Undeclared;
use crate::key::ObjectKey;
use crate::kind::Kind;
use crate::owner::{NotOwned, Ownership};

/// A version that no object has any more. An apply that carries it creates a missing object and is refused with 409
/// where one exists, so that a stranger's object is never seized by a create.
pub(super) const NEVER_CURRENT: &str = "1";

/// What all runs of one controller share.
#[derive(Clone, Debug)]
pub struct Shared {
    /// What the controller declared.
    pub declared: Arc<Declared>,
    /// Reads: overlay over cache.
    pub reader: Reader,
    /// Writes and live reads.
    pub transport: Transport,
    /// What was applied before, so that an apply that changes nothing is not sent.
    pub memory: Arc<ApplyMemory>,
    /// Clock and randomness.
    pub env: Env,
    /// Takes events.
    pub recorder: Recorder,
    /// Field manager of applies; that of the status is `<manager>-status`.
    pub field_manager: Arc<str>,
}

/// The primary object of a run, without its body.
#[derive(Clone, Debug)]
pub struct Primary {
    /// Its kind.
    pub kind: Kind,
    /// What is known of it.
    pub header: Arc<Header>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) shared: Shared,
    pub(super) primary: Primary,
    pub(super) origin: Origin,
    pub(super) log: RunLog,
}

/// How an object may be written.
pub(super) enum Claim {
    /// The primary owns the kind, and the object is to carry its controller reference.
    Owned(Existing),
    /// The kind is declared by `writes`: any object, no reference.
    Written,
}

/// What is known of an owned object before it is written.
pub(super) enum Existing {
    /// Nothing: it is to be created.
    Missing,
    /// It is the primary's.
    Ours(Arc<Header>),
    /// Nobody controls it and the declaration lets it be taken over.
    Adoptable(Arc<Header>),
}

impl Inner {
    pub(super) fn key(&self) -> &ObjectKey {
        &self.primary.header.key
    }

    pub(super) fn uid(&self) -> &str {
        &self.primary.header.uid
    }

    pub(super) fn regarding(&self) -> Regarding {
        Regarding {
            kind: self.primary.kind.clone(),
            key: self.key().clone(),
            uid: Arc::clone(&self.primary.header.uid),
        }
    }

    /// Whether writes say which version they are based on, so that their echoes can be told from what others do.
    pub(super) fn tells_own_events(&self) -> bool {
        self.shared.declared.own_events == OwnEvents::Skip
    }

    /// The error for what the declaration does not cover.
    pub(super) fn undeclared(&self, verb: &'static str, kind: &Kind, remedy: String) -> Error {
        Error::Undeclared(Undeclared {
            controller: self.shared.declared.name.clone(),
            verb,
            kind: kind.kind().to_owned(),
            remedy,
        })
    }

    /// Checks a hand-written grant against the declaration.
    pub(super) fn check_write(&self, kind: &Kind) -> Result<()> {
        if self.shared.declared.may_write(kind) {
            return Ok(());
        }
        let name = kind.kind();
        Err(self.undeclared("write", kind, format!("add `owns = {name}` or `writes = {name}`")))
    }

    /// Checks a hand-written grant against the declaration.
    pub(super) fn check_own(&self, kind: &Kind) -> Result<()> {
        if self.shared.declared.may_own(kind) {
            return Ok(());
        }
        Err(self.undeclared("own", kind, format!("add `owns = {0}` or `tracks = {0}`", kind.kind())))
    }

    /// Decides whether an owned object may be written, from what is known of it.
    ///
    /// # Errors
    ///
    /// [`NotOwned`] where it belongs to someone else, or to nobody and may not be taken over.
    pub(super) fn claim(&self, kind: &Kind, key: &ObjectKey, current: Option<Arc<Header>>) -> Result<Existing> {
        let Some(header) = current else {
            return Ok(Existing::Missing);
        };
        let owner = match self.ownership(kind, &header) {
            Ownership::Ours => return Ok(Existing::Ours(header)),
            Ownership::Free if self.may_adopt(kind, &header)? => return Ok(Existing::Adoptable(header)),
            Ownership::Free => None,
            Ownership::Foreign(owner) => Some(owner),
        };
        Err(Error::NotOwned(NotOwned {
            kind: kind.clone(),
            key: key.clone(),
            owner,
        }))
    }

    /// The object as the server has it now.
    pub(super) async fn live(&self, kind: &Kind, key: &ObjectKey) -> Result<Option<Cached>> {
        match self.shared.transport.get(&self.origin, kind, key).await {
            Ok(body) => Ok(Some(self.answer(kind, body)?)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads an answer of the server.
    pub(super) fn answer(&self, kind: &Kind, body: bytes::Bytes) -> Result<Cached> {
        Ok(Cached::parse(kind, body, &self.shared.field_manager)?)
    }

    /// Notes what became of a write that the server was made to base on `based_on`.
    pub(super) fn record(
        &self,
        verb: &'static str,
        kind: &Kind,
        key: &ObjectKey,
        subresource: Option<&'static str>,
        based_on: Base,
        result: Result<&Header, &ClientError>,
    ) {
        let outcome = match result {
            Ok(header) => WriteOutcome::Sent {
                uid: Some(Arc::clone(&header.uid)),
                version: Some(Arc::from(&*header.version.as_str())),
                based_on,
            },
            Err(error) => WriteOutcome::Failed {
                message: error.to_string(),
            },
        };
        self.note(verb, kind, key, subresource, outcome);
    }

    /// Notes a write with its outcome.
    pub(super) fn note(
        &self,
        verb: &'static str,
        kind: &Kind,
        key: &ObjectKey,
        subresource: Option<&'static str>,
        outcome: WriteOutcome,
    ) {
        self.log.wrote(WriteRecord {
            verb,
            kind: kind.clone(),
            key: key.clone(),
            subresource,
            outcome,
        });
    }

    fn may_adopt(&self, kind: &Kind, header: &Header) -> Result<bool> {
        let declared = self
            .shared
            .declared
            .children()
            .find(|w| w.kind == *kind)
            .map(|w| &w.adopt);
        match declared {
            None | Some(Adopt::Never) => Ok(false),
            Some(Adopt::Always) => Ok(true),
            Some(Adopt::Labels(selector)) => {
                let selector = crate::cache::Selector::parse(selector)
                    .map_err(|e| Error::terminal(format!("adopt = {selector:?} is no label selector: {e}")))?;
                Ok(selector.matches(&header.labels))
            }
        }
    }
}

/// A version as the base of a write.
pub(super) fn on(header: &Header) -> Base {
    Base::Version(Arc::from(&*header.version.as_str()))
}
