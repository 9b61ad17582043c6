//! What a webhook is told of the request that it judges.

use bytes::Bytes;
use serde::de::DeserializeOwned;

use super::review::{AdmissionRequest, KindNames, User};

/// What a request does to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Operation {
    /// A new object.
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

    pub(super) fn parse(word: &str) -> Option<Self> {
        [Self::Create, Self::Update, Self::Delete, Self::Connect]
            .into_iter()
            .find(|operation| operation.as_str() == word)
    }
}

/// The request that a webhook judges, without its object.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Request {
    /// What it does.
    pub operation: Operation,
    /// Name of the object; empty where the server is still to generate one.
    pub name: String,
    /// Namespace of the object; empty for cluster-scoped kinds.
    pub namespace: String,
    /// Subresource, such as `status`; empty for the object itself.
    pub subresource: String,
    /// Who asks.
    pub user: User,
    /// Whether nothing will be stored. Leave effects outside the cluster out then.
    pub dry_run: bool,
    pub(super) uid: String,
    pub(super) kind: KindNames,
    pub(super) object: Option<Bytes>,
    pub(super) old_object: Option<Bytes>,
    options: Option<Bytes>,
}

impl Request {
    /// A request of that sort on an object; for unit tests of webhooks.
    #[must_use]
    pub fn new(operation: Operation, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            operation,
            name: name.into(),
            namespace: namespace.into(),
            subresource: String::new(),
            user: User::default(),
            dry_run: false,
            uid: String::new(),
            kind: KindNames::default(),
            object: None,
            old_object: None,
            options: None,
        }
    }

    /// The object before the request, where there was one that can be read as `K`.
    #[must_use]
    pub fn old<K: DeserializeOwned>(&self) -> Option<K> {
        serde_json::from_slice(self.old_object.as_ref()?).ok()
    }

    /// The options of the request, such as `CreateOptions` with its field manager.
    #[must_use]
    pub fn options(&self) -> Option<serde_json::Value> {
        serde_json::from_slice(self.options.as_ref()?).ok()
    }

    /// Takes the objects as parts of the body, which is shared and not copied.
    pub(super) fn of(asked: AdmissionRequest<'_>, operation: Operation, body: &Bytes) -> Self {
        let part = |raw: Option<&serde_json::value::RawValue>| raw.map(|raw| body.slice_ref(raw.get().as_bytes()));
        Self {
            operation,
            name: asked.name.into_owned(),
            namespace: asked.namespace.into_owned(),
            subresource: asked.sub_resource.into_owned(),
            user: asked.user_info,
            dry_run: asked.dry_run.unwrap_or(false),
            uid: asked.uid.into_owned(),
            kind: asked.kind,
            object: part(asked.object),
            old_object: part(asked.old_object),
            options: part(asked.options),
        }
    }
}
