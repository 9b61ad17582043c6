//! Why a request failed, in one line that says what to do about it.

use std::fmt;
use std::time::Duration;

use crate::client::target::Target;

/// A request to the API server that failed.
///
/// The display form is one line: what was tried, on what, why it failed, and what to do next.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ClientError {
    /// The server answered with an error.
    Status(Box<StatusError>),
    /// No answer, and the request surely had no effect: no connection could be made.
    Unreachable {
        /// What was tried.
        target: Box<Target>,
        /// What the transport said.
        cause: String,
    },
    /// The connection broke or the answer did not come in time.
    Timeout {
        /// What was tried.
        target: Box<Target>,
        /// How long was waited; zero where the connection broke.
        after: Duration,
        /// What the transport said, if anything.
        cause: Option<String>,
        /// Whether the server may have carried out the request.
        outcome_unknown: bool,
    },
    /// The server answered something that cannot be read.
    Decode {
        /// What was tried.
        target: Box<Target>,
        /// What does not fit.
        cause: String,
    },
    /// The write was not sent, or was given up, because this process does not hold the lease (any more).
    FenceClosed {
        /// What was tried.
        target: Box<Target>,
        /// Whether the request had been sent when the lease ran out.
        outcome_unknown: bool,
    },
    /// The deletion was not sent: as many had been sent within a minute as the operator may send.
    DeletesCapped {
        /// What was tried.
        target: Box<Target>,
        /// The most within a minute.
        per_minute: u32,
    },
    /// The way to the cluster is not configured, or wrongly.
    Config {
        /// What is wrong and what to do.
        message: String,
    },
    /// The request could not be built, as with a name that is no URL path segment.
    Invalid {
        /// What was tried.
        target: Box<Target>,
        /// What is wrong.
        cause: String,
    },
}

/// What the server's `Status` said.
#[derive(Clone, Debug)]
pub struct StatusError {
    /// What was tried.
    pub target: Target,
    /// HTTP code.
    pub code: u16,
    /// `metav1.StatusReason`, or empty.
    pub reason: String,
    /// The server's message.
    pub message: String,
    /// `details.causes` as `(field, reason, message)`.
    pub causes: Vec<(String, String, String)>,
    /// How long the server asks to wait (`Retry-After`, or `details.retryAfterSeconds`).
    pub retry_after: Option<Duration>,
    /// `details.uid`, where the server names the object's.
    pub uid: Option<String>,
    /// `metadata.continue`: where a list whose moment is gone can go on with a later one.
    pub continue_token: Option<String>,
}

impl ClientError {
    /// HTTP code of the server's answer, if it answered.
    #[must_use]
    pub fn code(&self) -> Option<u16> {
        self.status().map(|status| status.code)
    }

    /// `metav1.StatusReason` of the server's answer; empty where there is none.
    #[must_use]
    pub fn reason(&self) -> &str {
        self.status().map_or("", |status| &status.reason)
    }

    /// The server's answer, if it answered.
    #[must_use]
    pub fn status(&self) -> Option<&StatusError> {
        match self {
            Self::Status(status) => Some(status),
            _ => None,
        }
    }

    /// What was tried; `None` before there was a request.
    #[must_use]
    pub fn target(&self) -> Option<&Target> {
        match self {
            Self::Status(status) => Some(&status.target),
            Self::Unreachable { target, .. }
            | Self::Timeout { target, .. }
            | Self::Decode { target, .. }
            | Self::FenceClosed { target, .. }
            | Self::DeletesCapped { target, .. }
            | Self::Invalid { target, .. } => Some(target),
            Self::Config { .. } => None,
        }
    }

    /// 404: the object, its namespace or its kind is not there.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.code() == Some(404)
    }

    /// 404 without the name of an object: the server does not serve the kind.
    #[must_use]
    pub fn is_kind_missing(&self) -> bool {
        self.status().is_some_and(|status| {
            status.code == 404
                && (status.message.contains("could not find the requested resource")
                    || status.message.starts_with("404 page not found"))
        })
    }

    /// 409: the object changed in between, or a precondition does not hold.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.code() == Some(409) && self.reason() != "AlreadyExists"
    }

    /// The object is not the one that was meant: 409, or 422 because its uid cannot be changed to the one sent.
    #[must_use]
    pub fn contradicts_precondition(&self) -> bool {
        self.is_conflict()
            || self.status().is_some_and(|status| {
                status.code == 422
                    && (status.causes.iter().any(|(field, ..)| field == "metadata.uid")
                        || status.message.contains("metadata.uid"))
            })
    }

    /// 409 with reason `AlreadyExists`.
    #[must_use]
    pub fn is_already_exists(&self) -> bool {
        self.code() == Some(409) && self.reason() == "AlreadyExists"
    }

    /// 403: a permission or an admission rule is missing.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.code() == Some(403)
    }

    /// 401: the server does not know who we are.
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        self.code() == Some(401)
    }

    /// 410, or the message of the versions before it: the version asked for is gone.
    #[must_use]
    pub fn is_expired(&self) -> bool {
        self.code() == Some(410) || matches!(self.reason(), "Expired" | "Gone")
    }

    /// 422: the object breaks the schema.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        self.code() == Some(422)
    }

    /// Whether the server may have carried out the request although no answer came.
    #[must_use]
    pub fn outcome_unknown(&self) -> bool {
        match self {
            Self::Timeout { outcome_unknown, .. } | Self::FenceClosed { outcome_unknown, .. } => *outcome_unknown,
            Self::Decode { target, .. } => target.is_write(),
            Self::Status(status) => status.code == 504 && status.target.is_write(),
            _ => false,
        }
    }

    /// How long the server asks to wait.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.status().and_then(|status| status.retry_after)
    }
}

impl std::error::Error for ClientError {}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => status.fmt(f),
            Self::Unreachable { target, cause } => write!(
                f,
                "{target}: the API server cannot be reached: {}; check the server's address in the kubeconfig, and that it is up",
                OneLine(cause)
            ),
            Self::Timeout {
                target,
                after,
                cause,
                outcome_unknown,
            } => {
                match cause {
                    Some(cause) => write!(
                        f,
                        "{target}: the connection broke before the answer: {}",
                        OneLine(cause)
                    )?,
                    None => write!(f, "{target}: no answer within {after:?}")?,
                }
                if *outcome_unknown {
                    f.write_str("; the server may have carried it out, the next read asks the server")?;
                }
                Ok(())
            }
            Self::Decode { target, cause } => write!(
                f,
                "{target}: the answer cannot be read: {}; is a proxy between the operator and the API server?",
                OneLine(cause)
            ),
            Self::FenceClosed {
                target,
                outcome_unknown: false,
            } => write!(f, "{target}: not sent, this replica does not hold the lease"),
            Self::FenceClosed { target, .. } => write!(
                f,
                "{target}: given up when the lease ran out; the server may have carried it out"
            ),
            Self::DeletesCapped { target, per_minute } => write!(
                f,
                "{target}: not sent, {per_minute} deletions within a minute are the most that this operator may do; it is \
                 tried again. If so much is to go, raise `deletes_per_minute`"
            ),
            Self::Config { message } => OneLine(message).fmt(f),
            Self::Invalid { target, cause } => write!(f, "{target}: cannot be sent: {}", OneLine(cause)),
        }
    }
}

impl fmt::Display for StatusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            target,
            code,
            reason,
            message,
            ..
        } = self;
        write!(f, "{target}: {} ({code}", OneLine(message))?;
        if !reason.is_empty() {
            write!(f, " {reason}")?;
        }
        f.write_str(")")?;
        match code {
            401 => f.write_str("; the credentials are missing or have expired: check the kubeconfig's user"),
            // Admission plugins answer 403 too; only RBAC names a user.
            403 if message.contains("cannot ") => write!(f, "; grant {}", MissingRule(target)),
            404 if target.key.name.is_empty() || message.contains("could not find the requested resource") => write!(
                f,
                "; the server does not serve {}: install its CRD (`manifests` prints it)",
                target.kind
            ),
            409 if reason == "Conflict" => f.write_str("; read it again and retry"),
            429 => f.write_str("; the server is overloaded, the request will be retried"),
            _ => Ok(()),
        }
    }
}

/// The RBAC rule that a request needs.
struct MissingRule<'a>(&'a Target);

impl fmt::Display for MissingRule<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Target {
            verb,
            kind,
            subresource,
            ..
        } = self.0;
        write!(f, "`{verb}` on `{}", kind.plural())?;
        if let Some(subresource) = subresource {
            write!(f, "/{subresource}")?;
        }
        write!(
            f,
            "` in apiGroup `{}`: apply the RBAC that `manifests` prints, or declare the kind on the controller",
            kind.group()
        )
    }
}

/// Text of others, forced onto one line.
struct OneLine<'a>(&'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, word) in self.0.split_whitespace().enumerate() {
            if index > 0 {
                f.write_str(" ")?;
            }
            f.write_str(word)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::ObjectKey;
    use crate::kind::Kind;

    fn status(verb: &'static str, code: u16, reason: &str, message: &str) -> ClientError {
        let kind = Kind::new("apps", "v1", "Deployment", "deployments", true);
        ClientError::Status(Box::new(StatusError {
            target: Target::object(verb, &kind, &ObjectKey::new("shop", "web"), None),
            code,
            reason: reason.to_owned(),
            message: message.to_owned(),
            causes: Vec::new(),
            retry_after: None,
            uid: None,
            continue_token: None,
        }))
    }

    #[test]
    fn a_refused_permission_names_the_rule_to_add() {
        let error = status(
            "patch",
            403,
            "Forbidden",
            "deployments.apps \"web\" is forbidden: User \"op\" cannot patch resource \"deployments\"",
        );
        let line = error.to_string();
        assert!(line.contains("User \"op\""), "{line}");
        assert!(
            line.contains("grant `patch` on `deployments` in apiGroup `apps`"),
            "{line}"
        );
        assert!(error.is_forbidden());
    }

    #[test]
    fn an_error_is_always_one_line() {
        let line = status("get", 500, "", "a\n  b\tc").to_string();
        assert_eq!(line, "get deployments.apps shop/web: a b c (500)");
    }

    #[test]
    fn already_exists_is_not_a_conflict() {
        assert!(status("create", 409, "AlreadyExists", "").is_already_exists());
        assert!(!status("create", 409, "AlreadyExists", "").is_conflict());
        assert!(status("update", 409, "Conflict", "").is_conflict());
    }
}
