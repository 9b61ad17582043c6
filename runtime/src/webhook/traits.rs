//! What an operator's author writes: [`Validate`], [`Mutate`], [`Convert`].

use super::declaration::Declaration;
use super::request::Request;
use super::verdict::Verdict;
use crate::error::Result;
use crate::object::Object;

/// Declares webhooks for one kind. `#[webhooks(…)]` writes this; by hand, write the same builder calls.
#[diagnostic::on_unimplemented(
    message = "`{Self}` declares no webhooks: put `#[webhooks(for = …)]` on it",
    label = "no `#[webhooks(for = …)]` on this type"
)]
pub trait Webhooks: Sized {
    /// The kind whose objects are judged.
    // No bound of kube's here: it would hide our own message.
    type Kind: 'static;

    /// Adds what the webhooks do.
    fn declare(d: Declaration<Self>) -> Declaration<Self>;
}

/// Says whether objects of `K` may be as users write them.
///
/// Called on every replica, several times at once, and for a dry run too: it must have no effect outside. What can be
/// said in the definition (a schema, a CEL rule) is better said there, since it needs no webhook.
#[diagnostic::on_unimplemented(
    message = "`{Self}` declares `validate` but has no `impl Validate<{K}>`",
    label = "write `impl Validate<{K}> for {Self} {{ async fn create(…) -> Result<Verdict> {{ … }} }}`, or remove `validate`"
)]
pub trait Validate<K: Object>: Send + Sync {
    /// A new object.
    ///
    /// # Errors
    ///
    /// [`Denied`](super::Denied) refuses the request; any other error fails the call, and the failure policy decides.
    ///
    /// # Cancel safety
    ///
    /// The future is dropped when the request's time is up.
    fn create(&self, object: &K, request: &Request) -> impl Future<Output = Result<Verdict>> + Send;

    /// A changed object. By default it is judged as a new one.
    ///
    /// Not called for an object that is being deleted and whose change is in its metadata alone: whoever removes a
    /// finalizer must not be held up by rules that are newer than the object.
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create).
    ///
    /// # Cancel safety
    ///
    /// As [`create`](Self::create).
    fn update(&self, object: &K, old: &K, request: &Request) -> impl Future<Output = Result<Verdict>> + Send {
        let _ = old;
        self.create(object, request)
    }

    /// An object that is to be deleted; only where `operations` names `delete`. By default it may be.
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create).
    ///
    /// # Cancel safety
    ///
    /// As [`create`](Self::create).
    fn delete(&self, old: &K, request: &Request) -> impl Future<Output = Result<Verdict>> + Send {
        let _ = (old, request);
        std::future::ready(Ok(Verdict::allowed()))
    }
}

/// Fills in or changes objects of `K` before they are stored.
///
/// Answer the object as it should be. The framework finds out what changed and sends only that, so that what the type
/// does not know stays as it was. The server may call it again after other webhooks: a second call must change
/// nothing.
#[diagnostic::on_unimplemented(
    message = "`{Self}` declares `mutate` but has no `impl Mutate<{K}>`",
    label = "write `impl Mutate<{K}> for {Self} {{ async fn mutate(…) -> Result<{K}> {{ … }} }}`, or remove `mutate`"
)]
pub trait Mutate<K: Object>: Send + Sync {
    /// The object as it should be. For an update, [`Request::old`] has the object before it.
    ///
    /// # Errors
    ///
    /// [`Denied`](super::Denied) refuses the request; any other error fails the call, and the failure policy decides.
    ///
    /// # Cancel safety
    ///
    /// The future is dropped when the request's time is up.
    fn mutate(&self, object: K, request: &Request) -> impl Future<Output = Result<K>> + Send;
}
