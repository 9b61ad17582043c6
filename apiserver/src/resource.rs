//! A resource as data: everything that the generic code needs to know to serve a kind.
//!
//! Built-in kinds come from the table in [`crate::builtins`], custom ones from their CustomResourceDefinition
//! ([`crate::crd`]). No generic code asks for a kind by name.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::schema::Schema;

/// Group, version and plural: how a URL names a resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gvr {
    /// API group; empty for the core group.
    pub group: String,
    /// Version, such as `v1`.
    pub version: String,
    /// Lower-case plural, such as `deployments`.
    pub plural: String,
}

impl Gvr {
    /// Names a resource.
    pub fn new(group: impl Into<String>, version: impl Into<String>, plural: impl Into<String>) -> Self {
        Self {
            group: group.into(),
            version: version.into(),
            plural: plural.into(),
        }
    }

    /// `/apis/apps/v1` or `/api/v1`.
    #[must_use]
    pub fn prefix(&self) -> String {
        if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        }
    }
}

impl fmt::Display for Gvr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.prefix(), self.plural)
    }
}

/// One served version of one kind.
#[derive(Clone, Debug)]
pub struct Resource {
    /// API group; empty for the core group.
    pub group: String,
    /// The served version that this value describes.
    pub version: String,
    /// The version that objects are stored in.
    pub storage_version: String,
    /// What storage calls the resource: `group_resource()`, except where two groups show the same objects (`events`
    /// and `events.k8s.io` both live under `events`).
    pub stored_under: Arc<str>,
    /// Kind, such as `Deployment`.
    pub kind: String,
    /// Kind of lists, such as `DeploymentList`.
    pub list_kind: String,
    /// Lower-case plural.
    pub plural: String,
    /// Lower-case singular.
    pub singular: String,
    /// Names that kubectl also takes.
    pub short_names: Vec<String>,
    /// Groups of kinds that kubectl can list together, such as `all`.
    pub categories: Vec<String>,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Verbs in the order in which discovery lists them.
    pub verbs: Vec<String>,
    /// Whether the kind counts `metadata.generation`.
    pub counts_generation: bool,
    /// The subresources that are served, `status` and `scale` among them.
    pub subresources: Vec<Subresource>,
    /// The schema of this version.
    pub schema: Arc<Schema>,
    /// What every request for this version is warned of; nothing for versions to stay.
    pub deprecation: Option<String>,
    /// Set for kinds that a CustomResourceDefinition defines.
    pub custom: Option<Arc<Custom>>,
}

/// A subresource as discovery shows it.
#[derive(Clone, Debug)]
pub struct Subresource {
    /// Name after the slash, such as `status`.
    pub name: String,
    /// Kind of its body, such as `Scale`.
    pub kind: String,
    /// Group and version of its body where they differ from the parent's.
    pub group_version: Option<(String, String)>,
    /// Verbs in discovery's order.
    pub verbs: Vec<String>,
}

/// What only custom resources have.
#[derive(Clone, Debug)]
pub struct Custom {
    /// Name of the definition: `<plural>.<group>`.
    pub definition: String,
    /// uid of the definition.
    pub definition_uid: String,
    /// `metadata.generation` of the definition: objects stored under an older one are shaped anew when read.
    pub definition_generation: u64,
    /// Whether the definition is being deleted (creates answer 403).
    pub terminating: bool,
    /// `spec.conversion`, as written.
    pub conversion: Value,
    /// All served versions, with the schema of each, in the definition's order.
    pub versions: Vec<(String, Arc<Schema>)>,
    /// `additionalPrinterColumns` of this version; empty means the default Age column.
    pub columns: Vec<Value>,
    /// JSON paths of `selectableFields`, such as `.spec.color`.
    pub selectable_fields: Vec<String>,
    /// `subresources.scale`, as written.
    pub scale: Option<Value>,
}

impl Resource {
    /// The resource's name in a URL.
    #[must_use]
    pub fn gvr(&self) -> Gvr {
        Gvr::new(&*self.group, &*self.version, &*self.plural)
    }

    /// `apps/v1`, or `v1` in the core group.
    #[must_use]
    pub fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    /// `deployments.apps`, or `pods` in the core group: how messages name a resource.
    #[must_use]
    pub fn group_resource(&self) -> String {
        if self.group.is_empty() {
            self.plural.clone()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    /// The group that refusals of its objects name: the one that stores them, where two groups show the same objects.
    #[must_use]
    pub fn stored_group(&self) -> &str {
        if &*self.stored_under == "events" {
            ""
        } else {
            &self.group
        }
    }

    /// The subresource of that name, if it is served.
    #[must_use]
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|s| s.name == name)
    }
}

/// `group/version`, or the version alone in the core group.
#[must_use]
pub fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}
