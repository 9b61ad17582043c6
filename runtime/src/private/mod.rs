//! What expansions name. No promise is made about anything here.

use std::marker::PhantomData;

use kube::CustomResourceExt;

use crate::declaration::Declaration;
use crate::grants::Declare;

pub use kube::{CustomResource, KubeSchema};
pub use kubewright_macros::discard;
pub use {schemars, serde, serde_json};

mod handout;
mod keys;

pub use handout::{Handout, HandsOutNothing};
pub use keys::{BackoffKeys, ControllerKeys, OwnsKeys, RateLimitKeys, RbacKeys, WatchesKeys, WebhookKeys};

/// Adds the definition of `K` to a declaration if `K` is a custom kind.
///
/// The inherent method is preferred where its bound holds; elsewhere the trait's does nothing.
pub struct Definition<K>(PhantomData<K>);

impl<K> Definition<K> {
    /// Asks about `K`.
    #[must_use]
    pub fn of() -> Self {
        Self(PhantomData)
    }
}

impl<K: CustomResourceExt> Definition<K> {
    /// Adds the definition.
    #[must_use]
    pub fn declare<C: Declare<Primary = K>>(self, declaration: Declaration<C>) -> Declaration<C> {
        declaration.crd::<K>()
    }
}

/// What a built-in kind adds: nothing.
pub trait NoDefinition: Sized {
    /// The declaration as it was.
    #[must_use]
    fn declare<C: Declare>(self, declaration: Declaration<C>) -> Declaration<C> {
        declaration
    }
}

impl<K> NoDefinition for Definition<K> {}
