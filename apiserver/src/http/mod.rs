//! The way in: TLS and the in-process service, routing, negotiation.
//!
//! A request is read (`incoming`), authenticated and authorized (`guard`), sent to what serves it (`dispatch`
//! and `resource`) and its outcome written in the form that the client accepts (`respond`).

pub mod body;
pub mod intercept;
pub mod log;
pub mod tls;
mod warnings;

pub(crate) mod accept;
pub(crate) mod dispatch;
pub(crate) mod events;
pub(crate) mod go_json;
pub(crate) mod guard;
pub(crate) mod health;
pub(crate) mod incoming;
pub(crate) mod json;
pub(crate) mod life;
pub(crate) mod listen;
pub(crate) mod protobuf;
pub(crate) mod query;
pub(crate) mod resource;
pub(crate) mod respond;
pub(crate) mod route;
pub(crate) mod yaml;
mod yaml_words;

use std::fmt;
use std::io;
use std::sync::Arc;

use ::http::{Request, Response};

use self::body::Body;
use self::incoming::Incoming;
use crate::error::ApiError;
use crate::server::Core;

/// Answers a request in a task of its own; a panic in it becomes a 500.
///
/// The task goes on when the caller stops waiting for the answer: what a client asked for happens even if it goes away.
/// It ends where it stands when the server is killed.
///
/// # Errors
/// The connection breaks: the server is killed, or an interceptor says so.
pub(crate) async fn answer<B>(core: Arc<Core>, request: Request<B>) -> io::Result<Response<Body>>
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: fmt::Display + Send,
{
    let life = core.lives.present();
    let handled = tokio::spawn(life.clone().within(async move {
        let incoming = Incoming::read(request).await;
        dispatch::handle(core, incoming).await
    }));
    match handled.await {
        Ok(Some(Ok(response))) => Ok(response.map(|body| body.within(life))),
        Ok(Some(Err(cut))) => Err(cut),
        Ok(None) => Err(body::reset()),
        Err(error) => {
            tracing::error!(%error, "the handler of a request failed");
            Ok(respond::error(
                &ApiError::internal("the handler of the request failed"),
                accept::Media::Json,
            ))
        }
    }
}
