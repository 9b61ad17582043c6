//! The way in: TLS and the in-process service, routing, negotiation.

pub mod body;
pub mod log;
pub mod tls;

pub(crate) mod listen;
pub(crate) mod token;

use std::fmt;
use std::sync::Arc;

use ::http::{Request, Response};

use self::body::Body;
use crate::error::ApiError;
use crate::server::Core;

/// Answers a request in a task of its own; a panic in it becomes a 500.
pub(crate) async fn answer<B>(core: Arc<Core>, request: Request<B>) -> Response<Body>
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: fmt::Display + Send,
{
    let handled = tokio::spawn(async move {
        let _ = (core, request);
        body::status(&ApiError::new(503, "ServiceUnavailable", "the server is starting"))
    });
    handled
        .await
        .unwrap_or_else(|_| body::status(&ApiError::internal("the request's handler failed")))
}
