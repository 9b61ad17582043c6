//! The writes of the framework. Each feeds the overlay before its caller sees the answer.

use bytes::Bytes;
use http::Method;

use crate::client::error::ClientError;
use crate::client::origin::Origin;
use crate::client::params::{DeleteOptions, PatchType, Preconditions};
use crate::client::request::{Query, collection_path, object_path};
use crate::client::target::Target;
use crate::client::transport::{JSON, Transport, invalid};
use crate::key::ObjectKey;
use crate::kind::Kind;

impl Transport {
    /// Applies a configuration (server-side apply) as `manager`; `force` takes fields over from other managers.
    ///
    /// # Errors
    ///
    /// [`ClientError`]; 409 on a conflict.
    ///
    /// # Cancel safety
    ///
    /// Dropped after sending, the outcome is unknown: the overlay marks the object and the next read asks the server.
    #[allow(clippy::too_many_arguments, reason = "each is a part of the request")]
    pub async fn apply(
        &self,
        origin: &Origin,
        kind: &Kind,
        key: &ObjectKey,
        subresource: Option<&'static str>,
        body: Vec<u8>,
        manager: &str,
        force: bool,
    ) -> Result<Bytes, ClientError> {
        let mut query = Query::default();
        query.push("fieldManager", manager);
        if force {
            query.push("force", "true");
        }
        self.write(
            origin,
            Target::object("patch", kind, key, subresource),
            Method::PATCH,
            &query,
            "application/apply-patch+yaml",
            body,
        )
        .await
    }

    /// Creates an object in a namespace; its name may be left to the server (`generateName`).
    ///
    /// # Errors
    ///
    /// [`ClientError`]; 409 `AlreadyExists` where the name is taken.
    ///
    /// # Cancel safety
    ///
    /// As [`Transport::apply`]; what the server named itself is not marked.
    pub async fn create(
        &self,
        origin: &Origin,
        kind: &Kind,
        key: &ObjectKey,
        body: Vec<u8>,
        manager: &str,
    ) -> Result<Bytes, ClientError> {
        let target = Target::object("create", kind, key, None);
        if kind.namespaced() && key.namespace.is_empty() {
            let cause = format!("{} live in namespaces; set metadata.namespace", kind.plural());
            return Err(invalid(&target, cause));
        }
        let path = collection_path(kind, key.namespace()).map_err(|cause| invalid(&target, cause))?;
        let mut query = Query::default();
        query.push("fieldManager", manager);
        let request = self.request(&target, Method::POST, query.onto(path), JSON, Some(JSON), body.into())?;
        self.call(origin, &target, request).await
    }

    /// Replaces an object, or one of its subresources (PUT).
    ///
    /// # Errors
    ///
    /// [`ClientError`]; 409 where the body's version is not the server's.
    ///
    /// # Cancel safety
    ///
    /// As [`Transport::apply`].
    pub async fn replace(
        &self,
        origin: &Origin,
        kind: &Kind,
        key: &ObjectKey,
        subresource: Option<&'static str>,
        body: Vec<u8>,
        manager: &str,
    ) -> Result<Bytes, ClientError> {
        let mut query = Query::default();
        query.push("fieldManager", manager);
        let target = Target::object("update", kind, key, subresource);
        self.write(origin, target, Method::PUT, &query, JSON, body).await
    }

    /// Patches an object, or one of its subresources.
    ///
    /// # Errors
    ///
    /// [`ClientError`]; 422 where a test of a JSON patch fails.
    ///
    /// # Cancel safety
    ///
    /// As [`Transport::apply`].
    #[allow(clippy::too_many_arguments, reason = "each is a part of the request")]
    pub async fn patch(
        &self,
        origin: &Origin,
        kind: &Kind,
        key: &ObjectKey,
        subresource: Option<&'static str>,
        patch: PatchType,
        body: Vec<u8>,
        manager: &str,
    ) -> Result<Bytes, ClientError> {
        let content_type = match patch {
            PatchType::Json => "application/json-patch+json",
            PatchType::Merge => "application/merge-patch+json",
            PatchType::Strategic => "application/strategic-merge-patch+json",
        };
        let mut query = Query::default();
        query.push("fieldManager", manager);
        let target = Target::object("patch", kind, key, subresource);
        self.write(origin, target, Method::PATCH, &query, content_type, body)
            .await
    }

    /// Deletes an object. The answer is the object where it lingers (finalizers, grace), else the object or a `Status`.
    ///
    /// # Errors
    ///
    /// [`ClientError`]; 404 where it is gone already, 409 where a precondition does not hold.
    ///
    /// # Cancel safety
    ///
    /// As [`Transport::apply`].
    pub async fn delete(
        &self,
        origin: &Origin,
        kind: &Kind,
        key: &ObjectKey,
        preconditions: Preconditions,
    ) -> Result<Bytes, ClientError> {
        let options = DeleteOptions {
            preconditions,
            ..DeleteOptions::default()
        };
        self.delete_with(origin, kind, key, &options).await
    }

    /// Deletes an object in a chosen manner.
    ///
    /// # Errors
    ///
    /// As [`Transport::delete`].
    ///
    /// # Cancel safety
    ///
    /// As [`Transport::apply`].
    pub async fn delete_with(
        &self,
        origin: &Origin,
        kind: &Kind,
        key: &ObjectKey,
        options: &DeleteOptions,
    ) -> Result<Bytes, ClientError> {
        let target = Target::object("delete", kind, key, None);
        let body = options.to_json();
        self.write(origin, target, Method::DELETE, &Query::default(), JSON, body)
            .await
    }

    async fn write(
        &self,
        origin: &Origin,
        target: Target,
        method: Method,
        query: &Query,
        content_type: &'static str,
        body: Vec<u8>,
    ) -> Result<Bytes, ClientError> {
        let path =
            object_path(&target.kind, &target.key, target.subresource).map_err(|cause| invalid(&target, cause))?;
        let request = self.request(&target, method, query.onto(path), JSON, Some(content_type), body.into())?;
        self.call(origin, &target, request).await
    }
}
