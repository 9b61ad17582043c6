//! Who may do what: users, RBAC, impersonation, tokens and the access reviews.
//!
//! [`Access`] is the one door. Nothing here speaks HTTP. The rules are those of the real server's RBAC authorizer
//! (<https://kubernetes.io/docs/reference/access-authn-authz/rbac/>).

mod attributes;
mod authorizer;
mod bootstrap;
mod escalation;
mod impersonate;
mod policy;
mod review;
pub(crate) mod selector;
mod source;
mod store;
mod token_request;
mod tokens;
mod user;

use std::collections::BTreeMap;
use std::sync::Arc;

use http::HeaderMap;
use serde_json::Value;

pub use attributes::{Attributes, forbidden};
pub use authorizer::{Authorizer, Decision};
pub use bootstrap::bootstrap_objects;
pub use impersonate::{Impersonation, requested};
pub use policy::Rule;
pub use source::Source;
pub use tokens::{AUDIENCE, Bound, ServiceAccountClaims, Tokens, Verified};
pub use user::User;

use crate::clock::Clock;
use crate::error::ApiError;
use crate::resource::Resource;

/// Everything about access to one server. Clones share their state.
#[derive(Clone)]
pub struct Access {
    authorizer: Authorizer,
    tokens: Tokens,
    impersonation: Impersonation,
    source: Arc<dyn Source>,
    clock: Clock,
}

/// How roles and bindings count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rbac {
    /// Everybody may do everything.
    Off,
    /// As they are written: on a server that runs alone.
    AsWritten,
    /// Roles with an `aggregationRule` grant what it selects: on a cluster with a controller manager.
    Gathering,
}

impl Access {
    /// Access to a server over `source`. `fixed` maps ready-made tokens to their users.
    pub fn new<S: Source + Clone + 'static>(
        source: &S,
        clock: &Clock,
        rbac: Rbac,
        fixed: BTreeMap<String, User>,
    ) -> Self {
        Self {
            authorizer: match rbac {
                Rbac::Off => Authorizer::allow_all(),
                Rbac::AsWritten => Authorizer::new(source.clone(), false),
                Rbac::Gathering => Authorizer::new(source.clone(), true),
            },
            tokens: Tokens::new(source.clone(), clock.clone(), fixed),
            impersonation: Impersonation::default(),
            source: Arc::new(source.clone()),
            clock: clock.clone(),
        }
    }

    /// The user of a bearer token; none when the token is not good (answer 401).
    #[must_use]
    pub fn authenticate(&self, token: &str) -> Option<Arc<User>> {
        self.tokens.authenticate(token)
    }

    /// A token that makes its bearer this user.
    #[must_use]
    pub fn mint(&self, user: &User) -> String {
        self.tokens.mint(user)
    }

    /// The user that the request continues as: the requester, or whom its `Impersonate-*` headers name.
    ///
    /// `request` is what is asked for (before authorization).
    ///
    /// # Errors
    ///
    /// 403 when the requester may not act as that user, 400 when the headers name no user.
    pub fn impersonate(
        &self,
        requester: Arc<User>,
        headers: &HeaderMap,
        request: &Attributes<'_>,
    ) -> Result<Arc<User>, ApiError> {
        match requested(headers)? {
            Some(wanted) => self
                .impersonation
                .impersonate(&self.authorizer, &requester, &wanted, request)
                .map(Arc::new),
            None => Ok(requester),
        }
    }

    /// Whether the user may do what is asked.
    ///
    /// # Errors
    ///
    /// The 403 to answer.
    pub fn authorize(&self, user: &User, asked: &Attributes<'_>) -> Result<(), ApiError> {
        self.authorizer
            .authorize(user, asked)
            .map_err(|reason| forbidden(user, asked, &reason))
    }

    /// Answers a review (`SubjectAccessReview`, `TokenReview`, `SelfSubjectReview`, …): the object with its status.
    ///
    /// `object` has been decoded, defaulted and given its managedFields; `namespace` is the request's. Reviews are
    /// answered with 201 and never stored.
    ///
    /// # Errors
    ///
    /// 422 for a question that makes no sense, 400 for one without its subject.
    pub fn review(&self, kind: &str, namespace: &str, object: Value, user: &User) -> Result<Value, ApiError> {
        review::answer(
            &self.authorizer,
            &self.tokens,
            &self.clock,
            kind,
            namespace,
            object,
            user,
        )
    }

    /// Answers a create of `serviceaccounts/<name>/token`: the TokenRequest with its token.
    ///
    /// `object` has been decoded, defaulted and given its managedFields (subresource `token`).
    ///
    /// # Errors
    ///
    /// 404, 409, 422 or 400; see [`Tokens`].
    pub fn request_token(&self, namespace: &str, account: &str, object: Value) -> Result<Value, ApiError> {
        token_request::answer(&*self.source, &self.tokens, &self.clock, namespace, account, object)
    }

    /// Checks that a write of a role or binding gives nobody more than the user has; other resources pass.
    ///
    /// `new` is the object about to be stored, `old` the stored one (absent on create).
    ///
    /// # Errors
    ///
    /// 403, or 404 when the bound role does not exist.
    pub fn check_escalation(
        &self,
        user: &User,
        resource: &Resource,
        namespace: &str,
        new: &Value,
        old: Option<&Value>,
    ) -> Result<(), ApiError> {
        escalation::check(&self.authorizer, user, resource, namespace, new, old)
    }

    /// The authorizer alone.
    #[must_use]
    pub fn authorizer(&self) -> &Authorizer {
        &self.authorizer
    }

    /// The tokens alone.
    #[must_use]
    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access").finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(crate) use source::tests;
