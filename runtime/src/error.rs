//! The error of a reconcile: anything that `?` takes, with the class that the framework acts on.

use std::error::Error as StdError;
use std::fmt;

/// The result of a reconcile and of everything on [`Context`](crate::Context).
pub type Result<T, E = Error> = std::result::Result<T, E>;

type BoxError = Box<dyn StdError + Send + Sync>;

/// Why a reconcile failed.
///
/// `?` converts every standard error, anyhow's errors and strings. It is not a standard error itself, which is what
/// makes that conversion possible; [`Error::into_boxed`] gives one.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The API server or the way to it refused or failed.
    Client(crate::client::ClientError),
    /// An object of that name exists and belongs to someone else.
    NotOwned(crate::owner::NotOwned),
    /// What the declaration does not allow, found at run time.
    Undeclared(crate::grants::Undeclared),
    /// Not worth a retry: waits for a change of the object or of what it watches.
    Terminal(BoxError),
    /// Anything else that the author's code returned.
    Other(BoxError),
}

impl Error {
    /// An error that a retry cannot mend: the key waits for a change.
    pub fn terminal(error: impl Into<BoxError>) -> Self {
        Self::Terminal(error.into())
    }

    /// Whether the key waits for a change instead of backing off.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal(_))
    }

    /// The error as a standard one, its class kept for a later `?`.
    #[must_use]
    pub fn into_boxed(self) -> BoxError {
        match self {
            Self::Client(e) => Box::new(e),
            Self::NotOwned(e) => Box::new(e),
            Self::Undeclared(e) => Box::new(e),
            Self::Terminal(e) => Box::new(TerminalError(e)),
            Self::Other(e) => e,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(e) => e.fmt(f),
            Self::NotOwned(e) => e.fmt(f),
            Self::Undeclared(e) => e.fmt(f),
            Self::Terminal(e) | Self::Other(e) => e.fmt(f),
        }
    }
}

/// Boxes the error, then looks for our own classes in the box, so that `?` keeps them.
impl<E: Into<BoxError>> From<E> for Error {
    fn from(error: E) -> Self {
        let boxed: BoxError = error.into();
        let boxed = match boxed.downcast::<crate::client::ClientError>() {
            Ok(e) => return Self::Client(*e),
            Err(other) => other,
        };
        let boxed = match boxed.downcast::<crate::owner::NotOwned>() {
            Ok(e) => return Self::NotOwned(*e),
            Err(other) => other,
        };
        let boxed = match boxed.downcast::<crate::grants::Undeclared>() {
            Ok(e) => return Self::Undeclared(*e),
            Err(other) => other,
        };
        match boxed.downcast::<TerminalError>() {
            Ok(e) => Self::Terminal(e.0),
            Err(other) => Self::Other(other),
        }
    }
}

/// Carries the class Terminal through a standard error.
#[derive(Debug)]
struct TerminalError(BoxError);

impl fmt::Display for TerminalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for TerminalError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.0)
    }
}
