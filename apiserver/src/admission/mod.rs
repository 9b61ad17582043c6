//! What is checked and changed between the request and the store, besides validation.
//!
//! [`Admission::mutate`] runs before the object is validated, [`Admission::validate`] after. Both answer the
//! warnings that go out as `Warning` headers.

mod conditions;
pub(crate) mod configuration;
mod defaults;
mod limits;
mod namespace;
mod owner_references;
mod pod_security;
mod policy;
mod quota;
mod reinvocation;
mod resize;
pub mod webhook;

use std::sync::Arc;

use serde_json::Value;

use self::reinvocation::{Callees, Reinvocation};
use crate::access::{Authorizer, User};
use crate::catalog::Catalog;
use crate::clock::Clock;
use crate::error::ApiError;
use crate::resource::Resource;
use crate::storage::Store;

/// What a request does to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A new object; also a subresource that is posted to, unless it connects.
    Create,
    /// A change of an object.
    Update,
    /// A deletion.
    Delete,
    /// A subresource that opens a connection, such as `pods/exec`.
    Connect,
}

impl Operation {
    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

/// A request on its way to the store.
#[derive(Debug)]
pub struct Request<'a> {
    /// Who asks.
    pub user: &'a User,
    /// What the request does.
    pub operation: Operation,
    /// The resource, in the version of the request.
    pub resource: &'a Resource,
    /// Subresource, or empty.
    pub subresource: &'a str,
    /// Namespace of the request; empty for cluster-scoped resources.
    pub namespace: &'a str,
    /// Name in the request's path; empty on create.
    pub name: &'a str,
    /// The object as it is about to be stored; null on delete.
    pub object: &'a mut Value,
    /// The stored object, in the version of the request; absent on create.
    pub old: Option<&'a Value>,
    /// Whether nothing will be stored.
    pub dry_run: bool,
    /// `CreateOptions`, `UpdateOptions`, `PatchOptions` or `DeleteOptions` of the request.
    pub options: &'a Value,
    /// What is served now.
    pub catalog: &'a Catalog,
}

impl Request<'_> {
    /// The object's name as messages show it: a name still to be generated is `Unknown`.
    #[must_use]
    pub fn shown_name(&self) -> &str {
        match self.object["metadata"]["name"].as_str() {
            Some(name) if !name.is_empty() => name,
            _ if !self.name.is_empty() => self.name,
            _ => "Unknown",
        }
    }
}

/// The admission plugins of one server. Clones share their state.
#[derive(Clone)]
pub struct Admission(Arc<Inner>);

pub(crate) struct Inner {
    store: Store,
    authorizer: Authorizer,
    clock: Clock,
    owner_references_permission: bool,
    policies: policy::Policies,
    webhooks: webhook::Configured,
    client: webhook::Client,
}

impl Admission {
    /// The plugins over a server's parts; `owner_references_permission` switches
    /// OwnerReferencesPermissionEnforcement on.
    #[must_use]
    pub fn new(store: Store, authorizer: Authorizer, clock: Clock, owner_references_permission: bool) -> Self {
        Self(Arc::new(Inner {
            client: webhook::Client::new(store.clone()),
            store,
            authorizer,
            clock,
            owner_references_permission,
            policies: policy::Policies::default(),
            webhooks: webhook::Configured::default(),
        }))
    }

    /// What calls the webhooks: lets handlers in this process answer for some of them.
    #[must_use]
    pub fn client(&self) -> &webhook::Client {
        &self.0.client
    }

    /// Lets the mutating plugins see and change the object. Answers the warnings to send with the answer.
    ///
    /// # Errors
    ///
    /// The refusal of the first plugin that refuses, with the warnings so far.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the object half changed; webhooks may have been called.
    pub async fn mutate(&self, request: &mut Request<'_>) -> Result<Vec<String>, ApiError> {
        let (mut warnings, mut course) = (Vec::new(), Course::default());
        let mut mutated = self.mutate_once(request, &mut warnings, &mut course).await;
        if mutated.is_ok() && course.turn.begin() {
            mutated = self.mutate_once(request, &mut warnings, &mut course).await;
        }
        with_warnings(mutated, warnings)
    }

    async fn mutate_once(
        &self,
        request: &mut Request<'_>,
        warnings: &mut Vec<String>,
        course: &mut Course,
    ) -> Result<(), ApiError> {
        namespace::check(&self.0.store, request)?;
        limits::default(&self.0, request);
        defaults::apply(&self.0, request)?;
        policy::mutate(&self.0, request, &mut course.turn, &mut course.policies).await?;
        webhook::mutate(&self.0, request, warnings, &mut course.turn, &mut course.webhooks).await
    }

    /// Whether any policy or webhook may change objects.
    pub(crate) fn mutates(&self) -> bool {
        let inner = &self.0;
        inner.webhooks.mutates(&inner.store) || inner.policies.mutates(&inner.store)
    }

    /// Lets the validating plugins see the object as it would be stored. Answers the warnings to send with the answer.
    ///
    /// # Errors
    ///
    /// The refusal of the first plugin that refuses, with the warnings so far.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing; webhooks may have been called.
    pub async fn validate(&self, request: &Request<'_>) -> Result<Vec<String>, ApiError> {
        if self.0.owner_references_permission {
            owner_references::check(&self.0.authorizer, request)?;
        }
        let mut warnings = Vec::new();
        let mut validated = limits::check(&self.0, request)
            .and_then(|()| pod_security::check(&self.0, request, &mut warnings))
            .and_then(|()| resize::check(&self.0, request));
        if validated.is_ok() {
            validated = policy::validate(&self.0, request, &mut warnings).await;
        }
        if validated.is_ok() {
            validated = webhook::validate(&self.0, request, &mut warnings).await;
        }
        if validated.is_ok() {
            validated = quota::check(&self.0, request);
        }
        with_warnings(validated, warnings)
    }
}

/// How far the mutating plugins are with a request.
#[derive(Default)]
struct Course {
    turn: Reinvocation,
    policies: Callees,
    webhooks: Callees,
}

/// The warnings on their own, or with the refusal.
fn with_warnings(outcome: Result<(), ApiError>, warnings: Vec<String>) -> Result<Vec<String>, ApiError> {
    match outcome {
        Ok(()) => Ok(warnings),
        Err(mut error) => {
            error.warnings.splice(0..0, warnings);
            Err(error)
        }
    }
}

impl std::fmt::Debug for Admission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Admission").finish_non_exhaustive()
    }
}
