//! What a controller may do, as types: the traits that the attribute implements, and the bounds that turn a missing
//! declaration into a message with the key to add.

use std::fmt;
use std::marker::PhantomData;

use crate::declaration::Declaration;
use crate::object::Object;

/// Declares a controller. `#[controller(…)]` writes this; by hand, write the same builder calls.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not declared as a controller: put `#[controller(for = …)]` on it",
    label = "no `#[controller(for = …)]` on this type"
)]
pub trait Declare: Sized {
    /// The primary kind: one queue key per object of it.
    // No bound of kube's here: it would hide our own message.
    type Primary: 'static;

    /// Adds what the controller watches, owns and writes.
    fn declare(d: Declaration<Self>) -> Declaration<Self>;
}

/// The controller owns `K`: may read, apply, create, patch and delete it.
#[diagnostic::on_unimplemented(
    message = "controller `{Self}` does not own `{K}`: add `owns = {K}`",
    label = "`{K}` is not declared as owned by `{Self}`"
)]
pub trait Owns<K>: Declare {}

/// The controller may read `K`.
#[diagnostic::on_unimplemented(
    message = "controller `{Self}` may not read `{K}`: add `owns = {K}`, `watches({K}, map = …)` or `live = {K}`",
    label = "`{K}` is not declared as read by `{Self}`"
)]
pub trait Reads<K>: Declare {}

/// The controller may read the metadata of `K`, and `K` itself live.
#[diagnostic::on_unimplemented(
    message = "controller `{Self}` may not read `{K}`: add `owns = {K}`, `watches({K}, map = …)` or `live = {K}`",
    label = "`{K}` is not declared as read by `{Self}`"
)]
pub trait ReadsMetadata<K>: Declare {}

/// The controller may write `K`.
#[diagnostic::on_unimplemented(
    message = "controller `{Self}` may not write `{K}`: add `owns = {K}` or `writes = {K}`",
    label = "`{K}` is not declared as written by `{Self}`"
)]
pub trait Writes<K>: Declare {}

/// The controller may replace `K` (PUT).
#[diagnostic::on_unimplemented(
    message = "controller `{Self}` may not update `{K}`: add `updates = {K}`, or use `cx.apply`",
    label = "`{K}` is not declared as updated by `{Self}`"
)]
pub trait Updates<K>: Declare {}

/// The controller declared a finalizer.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has a clean-up but no finalizer: add `finalizer = \"example.com/cleanup\"` to its `#[controller(…)]`",
    label = "without a finalizer, nothing would wait for this clean-up"
)]
pub trait Finalized: Declare {}

/// The controller declared `rbac(…)`, which a controller that writes `K` must, where objects of `K` hand out permissions.
#[diagnostic::on_unimplemented(
    message = "controller `{Self}` hands out permissions by writing `{K}`, which the API server allows only to who has \
               them: add `rbac(group = \"rbac.authorization.k8s.io\", resources = [\"roles\", \"clusterroles\"], \
               verbs = [\"bind\", \"escalate\"])`",
    label = "objects of this kind hand out permissions",
    note = "better, where they are known: an `rbac(…)` with the very permissions that are handed out"
)]
pub trait HandsOut<K>: Declare {}

/// The controller declared why it needs a client beyond its grants.
#[diagnostic::on_unimplemented(
    message = "controller `{Self}` may not use a client beyond its grants: add `ungranted_client = \"what the grants cannot cover\"`",
    label = "not opened by `{Self}`"
)]
pub trait Ungranted: Declare {}

#[diagnostic::do_not_recommend]
impl<C: Owns<K>, K> Writes<K> for C {}

#[diagnostic::do_not_recommend]
impl<C: Owns<K>, K> Reads<K> for C {}

#[diagnostic::do_not_recommend]
impl<C: Reads<K>, K> ReadsMetadata<K> for C {}

/// What is granted on a kind, as a type: asking for it of a type that is no kind is an error about [`Object`] and leaves
/// the type unknown, so that rustc sees one mistake and not two.
pub trait Grantable {
    /// [`Grant`] of the kind.
    type Grant;
}

#[diagnostic::do_not_recommend]
impl<K: Object> Grantable for K {
    type Grant = <K::Scope as Beside>::Of<Grant<K>>;
}

/// Stands for what is granted on `K`. Where a bound on the kind leads to one on another type, rustc words the error as
/// that one says; were it the kind itself, as the first one does.
#[derive(Debug)]
pub struct Grant<K>(PhantomData<K>);

/// Names a type beside another one, which must be known for it.
pub trait Beside {
    /// The type.
    type Of<K>;
}

impl<S> Beside for S {
    type Of<K> = K;
}

/// Bounds of the context's methods. They are on the kind, so that a missing grant is told where the kind is named; what
/// is told is which key to add, or that the type is no kind.
macro_rules! bound {
    ($($(#[$doc:meta])* $name:ident: $grant:ident $granted:ident $message:tt $label:tt)*) => {
        $(
            $(#[$doc])*
            #[diagnostic::on_unimplemented(
                message = "`{Self}` is not a Kubernetes kind",
                label = "expected a built-in kind, or one that `#[derive(CustomResource)]` makes"
            )]
            pub trait $name<C>: Object {}

            impl<C, K: Object> $name<C> for K where <K as Grantable>::Grant: $granted<C, K> {}

            /// The grant behind the bound of the same name.
            #[diagnostic::on_unimplemented(message = $message, label = $label)]
            pub trait $granted<C, K> {}

            #[diagnostic::do_not_recommend]
            impl<C: $grant<K>, K> $granted<C, K> for Grant<K> {}
        )*
    };
}

bound! {
    /// A kind that controller `C` may write.
    WrittenBy: Writes GrantedToWrite
        "controller `{C}` may not write `{K}`: add `owns = {K}` or `writes = {K}`"
        "`{K}` is not declared as written by `{C}`"
    /// A kind that controller `C` may read.
    ReadBy: Reads GrantedToRead
        "controller `{C}` may not read `{K}`: add `owns = {K}`, `watches({K}, map = …)` or `live = {K}`"
        "`{K}` is not declared as read by `{C}`"
    /// A kind that controller `C` may read live: also those of which it watches the metadata only.
    LiveReadBy: ReadsMetadata GrantedToReadLive
        "controller `{C}` may not read `{K}`: add `owns = {K}`, `watches({K}, map = …)` or `live = {K}`"
        "`{K}` is not declared as read by `{C}`"
    /// A kind that controller `C` owns.
    OwnedBy: Owns GrantedToOwn
        "controller `{C}` does not own `{K}`: add `owns = {K}`"
        "`{K}` is not declared as owned by `{C}`"
    /// A kind that controller `C` may replace.
    UpdatedBy: Updates GrantedToUpdate
        "controller `{C}` may not update `{K}`: add `updates = {K}`, or use `cx.apply`"
        "`{K}` is not declared as updated by `{C}`"
}

/// A call that the controller's declaration does not cover, found at run time (hand-written grants, dynamic kinds).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undeclared {
    /// Name of the controller.
    pub controller: String,
    /// What was tried: `write`, `read`, `own`, `update`.
    pub verb: &'static str,
    /// The kind, as a person writes it.
    pub kind: String,
    /// The key to add.
    pub remedy: String,
}

impl fmt::Display for Undeclared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "controller `{}` may not {} `{}`: {}",
            self.controller, self.verb, self.kind, self.remedy
        )
    }
}

impl std::error::Error for Undeclared {}
