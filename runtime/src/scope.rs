//! Which kinds may own which: a namespaced object owns objects of its own namespace only.
//!
//! The rule is Kubernetes': a cluster-scoped object with a namespaced owner is garbage-collected, since the owner is
//! looked up in no namespace and not found.
//! See <https://kubernetes.io/docs/concepts/architecture/garbage-collection/#owners-dependents>.

use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};
use kube::Resource;

use crate::object::Object;

/// A kind that objects of kind `P` may own.
#[diagnostic::on_unimplemented(
    message = "`{P}` cannot own `{Self}`",
    label = "not a Kubernetes kind, or cluster-scoped where `{P}` is namespaced"
)]
pub trait OwnableBy<P>: Object {}

#[diagnostic::do_not_recommend]
impl<K, P> OwnableBy<P> for K
where
    K: Object,
    P: Object,
    P::Scope: MayOwn<K::Scope>,
{
}

/// Scopes whose objects may own objects of scope `S`.
#[diagnostic::on_unimplemented(
    message = "a namespaced object cannot own a cluster-scoped one",
    label = "this kind is cluster-scoped, and the primary kind is namespaced",
    note = "the garbage collector would delete the child: declare it with `writes` and delete it in `cleanup`"
)]
pub trait MayOwn<S> {}

impl MayOwn<NamespaceResourceScope> for NamespaceResourceScope {}
impl MayOwn<NamespaceResourceScope> for ClusterResourceScope {}
impl MayOwn<ClusterResourceScope> for ClusterResourceScope {}

/// The scope of a kind, for bounds.
pub type ScopeOf<K> = <K as Resource>::Scope;
