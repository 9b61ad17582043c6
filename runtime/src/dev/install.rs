//! `kubectl apply --server-side`, for what goes into the embedded server: manifests and samples.

use std::fmt;

use kubewright_apiserver::server::ApiServer;
use serde_json::Value;

use crate::manifests::{YamlError, documents};

/// An object that the embedded server did not take.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The text holds no objects that could be applied.
    #[error("{origin}: {cause}")]
    Unreadable {
        /// The file, or what else the text came from.
        origin: String,
        /// What is wrong with it.
        cause: YamlError,
    },
    /// The file cannot be read.
    #[error("{path}: cannot read it: {cause}")]
    File {
        /// The file.
        path: String,
        /// What the operating system said.
        cause: std::io::Error,
    },
    /// The server does not know the kind.
    #[error(
        "{origin}: {object}: the server has no kind {kind} in {api_version}: check both, or apply its CustomResourceDefinition first"
    )]
    UnknownKind {
        /// The file, or what else the object came from.
        origin: String,
        /// `kind/name`.
        object: String,
        /// The kind asked for.
        kind: String,
        /// Its group and version.
        api_version: String,
    },
    /// The server refused the object.
    #[error("{origin}: {object}: {message}")]
    Refused {
        /// The file, or what else the object came from.
        origin: String,
        /// `kind/name`.
        object: String,
        /// What the server said.
        message: String,
    },
}

/// Applies objects to the embedded server under a field manager, in order; namespaces default to the client's.
#[derive(Clone)]
pub struct Installer {
    server: ApiServer,
    client: kube::Client,
    manager: String,
}

impl Installer {
    /// Applies as `client`, which should be an administrator's, under the field manager `manager`.
    pub fn new(server: ApiServer, client: kube::Client, manager: impl Into<String>) -> Self {
        Self {
            server,
            client,
            manager: manager.into(),
        }
    }

    /// Applies every object of a YAML text. `origin` names the text in errors.
    ///
    /// # Errors
    ///
    /// At the first object that cannot be applied; those before it stay.
    pub async fn yaml(&self, origin: &str, text: &str) -> Result<Vec<Value>, InstallError> {
        let objects = documents(text).map_err(|cause| InstallError::Unreadable {
            origin: origin.to_owned(),
            cause,
        })?;
        let mut stored = Vec::with_capacity(objects.len());
        for object in &objects {
            stored.push(self.object(origin, object).await?);
        }
        Ok(stored)
    }

    /// Applies every object of a file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, and as [`Installer::yaml`].
    pub async fn file(&self, path: &std::path::Path) -> Result<Vec<Value>, InstallError> {
        let origin = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|cause| InstallError::File {
            path: origin.clone(),
            cause,
        })?;
        self.yaml(&origin, &text).await
    }

    /// Applies one object and answers what the server stored.
    ///
    /// # Errors
    ///
    /// When the server does not know the kind or refuses the object.
    pub async fn object(&self, origin: &str, object: &Value) -> Result<Value, InstallError> {
        let refused = |message: String| InstallError::Refused {
            origin: origin.to_owned(),
            object: title(object),
            message,
        };
        let (path, name) = self.place(origin, object)?;
        let request = http::Request::patch(format!(
            "{path}/{name}?fieldManager={}&fieldValidation=Strict",
            self.manager
        ))
        .header(http::header::CONTENT_TYPE, "application/apply-patch+yaml")
        .header(http::header::USER_AGENT, format!("kubewright-{}", self.manager))
        .body(object.to_string().into_bytes())
        .map_err(|e| refused(format!("its name makes no URL: {e}")))?;
        self.client.request::<Value>(request).await.map_err(|error| {
            refused(match error {
                // The kind is known, so that what is missing is the namespace.
                kube::Error::Api(status) if status.code == 404 => format!(
                    "{}: create it first, for example by a document further up in the file",
                    status.message
                ),
                kube::Error::Api(status) => status.message.clone(),
                other => other.to_string(),
            })
        })
    }

    /// Path of the object's collection, and its name.
    fn place(&self, origin: &str, object: &Value) -> Result<(String, String), InstallError> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let api_version = text(&object["apiVersion"]);
        let kind = text(&object["kind"]);
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        let Some(resource) = self.server.catalog().by_kind(group, version, &kind) else {
            return Err(InstallError::UnknownKind {
                origin: origin.to_owned(),
                object: title(object),
                kind,
                api_version,
            });
        };
        let prefix = resource.gvr().prefix();
        let plural = &resource.plural;
        let path = if resource.namespaced {
            let namespace = object["metadata"]["namespace"]
                .as_str()
                .unwrap_or(self.client.default_namespace());
            format!("{prefix}/namespaces/{namespace}/{plural}")
        } else {
            format!("{prefix}/{plural}")
        };
        Ok((path, text(&object["metadata"]["name"])))
    }
}

impl fmt::Debug for Installer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Installer")
            .field("manager", &self.manager)
            .finish_non_exhaustive()
    }
}

/// `kind/name`, in lower case as kubectl prints it.
pub(crate) fn title(object: &Value) -> String {
    format!(
        "{}/{}",
        object["kind"].as_str().unwrap_or("object").to_lowercase(),
        object["metadata"]["name"].as_str().unwrap_or_default()
    )
}
