//! Which kinds hand out permissions.
//!
//! The attribute asks about kinds of these names; what is answered depends on the type, so that a custom kind which is
//! called `Role` as well is none of them.

use std::marker::PhantomData;

use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};

use crate::grants::HandsOut;

/// Asks whether objects of `K` hand out permissions.
///
/// The inherent methods are preferred where they exist; for other kinds the trait's asks for nothing.
pub struct Handout<K>(PhantomData<K>);

impl<K> Handout<K> {
    /// Asks about `K`.
    #[must_use]
    pub fn of() -> Self {
        Self(PhantomData)
    }
}

impl Handout<Role> {
    /// The controller must have declared rules.
    pub fn by<C: HandsOut<Role>>(self) {}
}

impl Handout<ClusterRole> {
    /// The controller must have declared rules.
    pub fn by<C: HandsOut<ClusterRole>>(self) {}
}

impl Handout<RoleBinding> {
    /// The controller must have declared rules.
    pub fn by<C: HandsOut<RoleBinding>>(self) {}
}

impl Handout<ClusterRoleBinding> {
    /// The controller must have declared rules.
    pub fn by<C: HandsOut<ClusterRoleBinding>>(self) {}
}

/// What all other kinds ask for: nothing.
pub trait HandsOutNothing: Sized {
    /// Nothing is asked for.
    fn by<C>(self) {}
}

impl<K> HandsOutNothing for Handout<K> {}
