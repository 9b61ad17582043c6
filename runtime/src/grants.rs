//! What a controller may do, as types: the traits that the attribute implements, and the bounds that turn a missing
//! declaration into a message with the key to add.

use std::fmt;

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
    message = "controller `{Self}` may not update `{K}`: add `updates = {K}`",
    label = "`{K}` is not declared as updated by `{Self}`"
)]
pub trait Updates<K>: Declare {}

/// The controller declared a finalizer.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has a clean-up but no finalizer: add `finalizer = \"example.com/cleanup\"` to its `#[controller(…)]`",
    label = "without a finalizer, nothing would wait for this clean-up"
)]
pub trait Finalized: Declare {}

#[diagnostic::do_not_recommend]
impl<C: Owns<K>, K> Writes<K> for C {}

#[diagnostic::do_not_recommend]
impl<C: Owns<K>, K> Reads<K> for C {}

#[diagnostic::do_not_recommend]
impl<C: Reads<K>, K> ReadsMetadata<K> for C {}

/// A kind that controller `C` may write.
#[diagnostic::on_unimplemented(
    message = "controller `{C}` may not write `{Self}`: add `owns = {Self}` or `writes = {Self}`",
    label = "`{Self}` is not declared as written by `{C}`"
)]
pub trait WrittenBy<C>: Object {}

#[diagnostic::do_not_recommend]
impl<C: Writes<K>, K: Object> WrittenBy<C> for K {}

/// A kind that controller `C` may read.
#[diagnostic::on_unimplemented(
    message = "controller `{C}` may not read `{Self}`: add `owns = {Self}`, `watches({Self}, map = …)` or `live = {Self}`",
    label = "`{Self}` is not declared as read by `{C}`"
)]
pub trait ReadBy<C>: Object {}

#[diagnostic::do_not_recommend]
impl<C: Reads<K>, K: Object> ReadBy<C> for K {}

/// A kind that controller `C` may read live: also those of which it watches the metadata only.
#[diagnostic::on_unimplemented(
    message = "controller `{C}` may not read `{Self}`: add `owns = {Self}`, `watches({Self}, map = …)` or `live = {Self}`",
    label = "`{Self}` is not declared as read by `{C}`"
)]
pub trait LiveReadBy<C>: Object {}

#[diagnostic::do_not_recommend]
impl<C: ReadsMetadata<K>, K: Object> LiveReadBy<C> for K {}

/// A kind that controller `C` owns.
#[diagnostic::on_unimplemented(
    message = "controller `{C}` does not own `{Self}`: add `owns = {Self}`",
    label = "`{Self}` is not declared as owned by `{C}`"
)]
pub trait OwnedBy<C>: Object {}

#[diagnostic::do_not_recommend]
impl<C: Owns<K>, K: Object> OwnedBy<C> for K {}

/// A kind that controller `C` may replace.
#[diagnostic::on_unimplemented(
    message = "controller `{C}` may not update `{Self}`: add `updates = {Self}`, or use `cx.apply`",
    label = "`{Self}` is not declared as updated by `{C}`"
)]
pub trait UpdatedBy<C>: Object {}

#[diagnostic::do_not_recommend]
impl<C: Updates<K>, K: Object> UpdatedBy<C> for K {}

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
