//! Conversion between the versions of a kind, through the one that is its hub.

use std::fmt;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::Deserialize;
use serde_json::Value;

use crate::kind::Kind;
use crate::object::Object;

/// A version of a kind that converts to the hub version `H` and back.
///
/// Implemented for what has `From` or `TryFrom` in both directions; there is nothing else to implement by hand. Carry
/// labels and annotations over: the rest of the metadata is kept by the framework, since the server lets no converter
/// change it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not convert to `{H}` and back",
    label = "write `impl From<{Self}> for {H}` and `impl From<{H}> for {Self}`, or `TryFrom` where it can fail"
)]
pub trait Convert<H>: Sized {
    /// This object in the hub version.
    ///
    /// # Errors
    ///
    /// Why it has no such form; the server shows it to the user.
    fn to_hub(self) -> Result<H, String>;

    /// An object of the hub version in this one.
    ///
    /// # Errors
    ///
    /// Why it has no such form; the server shows it to the user.
    fn from_hub(hub: H) -> Result<Self, String>;
}

#[diagnostic::do_not_recommend]
impl<V, H> Convert<H> for V
where
    V: TryInto<H, Error: fmt::Display>,
    H: TryInto<V, Error: fmt::Display>,
{
    fn to_hub(self) -> Result<H, String> {
        self.try_into().map_err(|error| error.to_string())
    }

    fn from_hub(hub: H) -> Result<Self, String> {
        hub.try_into().map_err(|error| error.to_string())
    }
}

/// The versions of one kind.
#[derive(Clone, Debug)]
pub struct Conversion {
    pub(super) hub: Version,
    pub(super) others: Vec<Version>,
}

/// One version: its definition, and the way to the hub and back.
#[derive(Clone)]
pub(super) struct Version {
    pub(super) kind: Kind,
    pub(super) definition: fn() -> CustomResourceDefinition,
    to_hub: fn(&[u8]) -> Result<Value, String>,
    from_hub: fn(Value) -> Result<Value, String>,
    rewrite: fn(&Value) -> Result<Value, String>,
    /// Fields that get lost on the way to this version and back, as their author said.
    pub(super) loses: Vec<String>,
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Version")
            .field("kind", &self.kind)
            .field("loses", &self.loses)
            .finish_non_exhaustive()
    }
}

impl Version {
    /// The hub itself.
    pub(super) fn hub<H: Object + kube::CustomResourceExt>() -> Self {
        Self {
            kind: Kind::of::<H>(),
            definition: H::crd,
            to_hub: |object| written(&read::<H>(object)?),
            from_hub: Ok,
            rewrite: rewrite::<H>,
            loses: Vec::new(),
        }
    }

    /// Another version.
    pub(super) fn of<V, H>() -> Self
    where
        V: Object + kube::CustomResourceExt + Convert<H>,
        H: Object,
    {
        Self {
            kind: Kind::of::<V>(),
            definition: V::crd,
            to_hub: |object| written(&read::<V>(object)?.to_hub()?),
            from_hub: |hub| {
                let hub: H = serde_json::from_value(hub).map_err(|error| unreadable::<H>(&error))?;
                written(&V::from_hub(hub)?)
            },
            rewrite: rewrite::<V>,
            loses: Vec::new(),
        }
    }

    pub(super) fn to_hub(&self, object: &[u8]) -> Result<Value, String> {
        (self.to_hub)(object)
    }

    pub(super) fn read_hub(&self, hub: Value) -> Result<Value, String> {
        (self.from_hub)(hub)
    }

    /// An object of this version as its own type writes it.
    pub(super) fn rewritten(&self, object: &Value) -> Result<Value, String> {
        (self.rewrite)(object)
    }
}

fn rewrite<K: Object>(object: &Value) -> Result<Value, String> {
    let object: K = serde_json::from_value(object.clone()).map_err(|error| unreadable::<K>(&error))?;
    written(&object)
}

fn read<K: Object>(object: &[u8]) -> Result<K, String> {
    serde_json::from_slice(object).map_err(|error| unreadable::<K>(&error))
}

fn unreadable<K: Object>(error: &serde_json::Error) -> String {
    format!(
        "cannot be read as {}: {error}: the definition in the cluster and the operator are of different versions",
        Kind::of::<K>().api_version()
    )
}

fn written<K: Object>(object: &K) -> Result<Value, String> {
    serde_json::to_value(object).map_err(|error| format!("cannot be written as JSON: {error}"))
}

/// What an object says of itself, whatever its version.
#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[derive(Default)]
struct Head {
    api_version: String,
    kind: String,
    metadata: Value,
}

impl Conversion {
    /// The kind, in its hub version.
    #[must_use]
    pub fn kind(&self) -> &Kind {
        &self.hub.kind
    }

    /// All versions, the hub first.
    pub(super) fn versions(&self) -> impl Iterator<Item = &Version> {
        std::iter::once(&self.hub).chain(&self.others)
    }

    /// One object in the version `to`, such as `demo.dev/v1`.
    pub(super) fn convert(&self, object: &[u8], to: &str) -> Result<Value, String> {
        let head: Head = serde_json::from_slice(object).map_err(|error| format!("an object is no JSON: {error}"))?;
        let name = head.metadata["name"].as_str().unwrap_or_default();
        let converted = self.convert_body(object, &head, to);
        let mut converted = converted.map_err(|why| format!("{} {name:?}: {why}", head.kind))?;
        keep_metadata(&mut converted, head.metadata);
        Ok(converted)
    }

    fn convert_body(&self, object: &[u8], head: &Head, to: &str) -> Result<Value, String> {
        let (from, to) = (
            self.version(&head.api_version, &head.kind)?,
            self.version(to, &head.kind)?,
        );
        if from.kind == to.kind {
            return serde_json::from_slice(object).map_err(|error| error.to_string());
        }
        to.read_hub(from.to_hub(object)?)
    }

    fn version(&self, api_version: &str, kind: &str) -> Result<&Version, String> {
        let found = self
            .versions()
            .find(|version| version.kind.api_version() == api_version && version.kind.kind() == kind);
        found.ok_or_else(|| {
            let known: Vec<String> = self.versions().map(|version| version.kind.api_version()).collect();
            format!(
                "{api_version} {kind} is not converted here, which knows {}: the definition in the cluster and the \
                 operator are of different versions, apply the operator's manifests again",
                known.join(", ")
            )
        })
    }
}

/// Only labels and annotations may change: the server refuses an answer that differs in more.
fn keep_metadata(converted: &mut Value, mut metadata: Value) {
    let mut given = converted["metadata"].take();
    if let Some(kept) = metadata.as_object_mut() {
        for field in ["labels", "annotations"] {
            match given[field].take() {
                Value::Null => kept.remove(field),
                value => kept.insert(field.to_owned(), value),
            };
        }
    }
    converted["metadata"] = metadata;
}
