//! Which kinds may own which: a namespaced object owns objects of its own namespace only.
//!
//! The rule is Kubernetes': a cluster-scoped object with a namespaced owner is garbage-collected, since the owner is
//! looked up in no namespace and not found.
//! See <https://kubernetes.io/docs/concepts/architecture/garbage-collection/#owners-dependents>.

use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};

use crate::object::Object;

/// A kind that objects of kind `P` may own: every kind, but no cluster-scoped one where `P` is namespaced.
// Where the scopes do not fit, `MayOwn` says so; what is left for this message is a type that is no kind.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a Kubernetes kind",
    label = "expected a built-in kind, or one that `#[derive(CustomResource)]` makes",
    note = "the derive on `AppSpec` with `kind = \"App\"` makes the kind `App`: name that"
)]
pub trait OwnableBy<P>: Object {}

impl<K, P> OwnableBy<P> for K
where
    K: Object,
    P: Object,
    <P as Scoped>::In: MayOwn<<K as Scoped>::In>,
{
}

/// The scope of a kind. Unlike kube's associated type, asking for it of a type that is no kind is an error about
/// [`Object`], so that rustc sees one mistake and not two.
pub trait Scoped {
    /// The scope.
    type In;
}

#[diagnostic::do_not_recommend]
impl<K: Object> Scoped for K {
    type In = K::Scope;
}

/// Scopes whose objects may own objects of scope `S`.
#[diagnostic::on_unimplemented(
    message = "a namespaced object cannot own a cluster-scoped one",
    label = "this kind is cluster-scoped, and the primary kind is namespaced",
    note = "the garbage collector would delete the child: declare it with `writes` and delete it in `cleanup`"
)]
pub trait MayOwn<S> {}

impl MayOwn<NamespaceResourceScope> for NamespaceResourceScope {}
impl<S> MayOwn<S> for ClusterResourceScope {}
