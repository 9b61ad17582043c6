//! What a reconcile may do: read, write, own, report.

use std::marker::PhantomData;

/// Handed to each reconcile: the way to read and write, bound to one primary object and one run.
#[derive(Debug)]
pub struct Context<C> {
    controller: PhantomData<fn() -> C>,
}
