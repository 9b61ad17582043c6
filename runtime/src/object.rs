//! What a type must be so that a controller can work with it.

use std::fmt::Debug;

use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};
use kube::Resource;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A Kubernetes kind as a Rust type: built-in kinds of k8s-openapi and what `CustomResource` derives.
///
/// Implemented for every type that fits; there is nothing to implement by hand.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a Kubernetes kind",
    label = "expected a built-in kind, or one that `#[derive(CustomResource)]` makes",
    note = "the derive on `AppSpec` with `kind = \"App\"` makes the kind `App`: name that"
)]
pub trait Object:
    Resource<DynamicType = (), Scope: Scope> + Serialize + DeserializeOwned + Clone + Debug + Send + Sync + 'static
{
}

#[diagnostic::do_not_recommend]
impl<K> Object for K where
    K: Resource<DynamicType = (), Scope: Scope> + Serialize + DeserializeOwned + Clone + Debug + Send + Sync + 'static
{
}

/// Whether a kind lives in namespaces, from `Resource::Scope`.
pub trait Scope {
    /// True for namespaced kinds.
    const NAMESPACED: bool;
}

impl Scope for NamespaceResourceScope {
    const NAMESPACED: bool = true;
}

impl Scope for ClusterResourceScope {
    const NAMESPACED: bool = false;
}
