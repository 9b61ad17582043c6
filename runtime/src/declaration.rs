//! A controller's declaration as data, and the builder that makes it.

use std::marker::PhantomData;

/// Builds what a controller declares. Each method is a key of `#[controller(…)]`.
#[derive(Debug)]
pub struct Declaration<C> {
    controller: PhantomData<fn() -> C>,
}
