//! The one place where somebody else may have a say in a request: before it is carried out, and before it is answered.
//!
//! What tests need for faults: an error instead of the write, an error although the write took effect, a slow answer.

use std::future::Future;
use std::pin::Pin;

use super::log::RequestRecord;
use crate::error::ApiError;

/// What becomes of a request.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Verdict {
    /// It goes on.
    #[default]
    Pass,
    /// It is answered so instead.
    Answer(Box<ApiError>),
}

/// The answer of an [`Interceptor`]; awaiting something before it is given delays the request.
pub type Verdicts<'a> = Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>;

/// Has a say in every request. Its methods run in the request's own task, so a slow one delays that request only.
pub trait Interceptor: Send + Sync {
    /// Called once the request may be carried out, before it has any effect. The record's code is 0.
    fn before<'a>(&'a self, request: &'a RequestRecord) -> Verdicts<'a> {
        let _ = request;
        Box::pin(std::future::ready(Verdict::Pass))
    }

    /// Called once the request has had its effect, with the code that it is about to be answered with.
    fn after<'a>(&'a self, request: &'a RequestRecord) -> Verdicts<'a> {
        let _ = request;
        Box::pin(std::future::ready(Verdict::Pass))
    }
}
