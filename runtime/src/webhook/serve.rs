//! The webhooks' server: TLS, HTTP/1.1 and HTTP/2.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::handler::{Handler, with_type};
use super::identity::Identity;
use crate::env::Env;
use crate::shutdown::Shutdown;

/// How long a connection may take to be made, and a request's head to come.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// How long a body may take to come: as long as the API server waits for an answer at most.
const BODY_WITHIN: Duration = Duration::from_secs(10);
/// The largest admission review: two objects as large as etcd takes them, and what is around them.
const LARGEST_ADMISSION: usize = 7 * 1024 * 1024;
/// The largest conversion review, which may hold a page of objects.
const LARGEST_CONVERSION: usize = 64 * 1024 * 1024;
/// Connections at once; API servers keep a few open each.
const MOST_CONNECTIONS: usize = 512;
/// Requests at once over one HTTP/2 connection.
const MOST_STREAMS: u32 = 256;
/// How long answers that are on their way may take once no new request is taken.
const LAST_ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// Serves webhooks over connections. Clones share everything.
#[derive(Clone)]
pub struct Server {
    tls: TlsAcceptor,
    handler: Handler,
    env: Env,
}

impl Server {
    /// A server that shows `identity`.
    ///
    /// # Errors
    ///
    /// When the TLS library refuses its own defaults.
    pub fn new(handler: Handler, identity: Identity, env: Env) -> Result<Self, rustls::Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(identity));
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self {
            tls: TlsAcceptor::from(Arc::new(config)),
            handler,
            env,
        })
    }

    /// Serves one connection until its client closes it, or until `stop` and the answers that are on their way.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the connection.
    pub async fn connection<I>(&self, io: I, stop: Shutdown)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Ok(Ok(stream)) = timeout(HEAD_WITHIN, self.tls.accept(io)).await else {
            tracing::debug!("a connection came to no TLS handshake");
            return;
        };
        let handler = self.handler.clone();
        let service = service_fn(move |request| {
            let handler = handler.clone();
            async move { Ok::<_, Infallible>(respond(&handler, request).await.map(Full::new)) }
        });
        let mut builder = auto::Builder::new(Tasks(self.env.clone()));
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_WITHIN);
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(MOST_STREAMS);
        let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
        let graceful = GracefulShutdown::new();
        let served = graceful.watch(connection);
        let stopping = async {
            stop.wait().await;
            if timeout(LAST_ANSWERS_WITHIN, graceful.shutdown()).await.is_err() {
                tracing::warn!("a webhook's last answers took too long, and their connection is closed");
            }
        };
        tokio::select! {
            biased;
            ended = served => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection ended early");
                }
            }
            () = stopping => {}
        }
    }

    /// Accepts connections until `stop`, then waits for their last answers.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the listener; connections go on until `stop`.
    pub async fn run(&self, listener: TcpListener, stop: Shutdown) {
        let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        loop {
            let accepted = tokio::select! {
                biased;
                () = stop.wait() => break,
                accepted = accept(&listener, &room) => accepted,
            };
            let Some((stream, permit)) = accepted else { continue };
            let (server, stop) = (self.clone(), stop.clone());
            self.env.spawn("webhook connection", async move {
                server.connection(stream, stop).await;
                drop(permit);
            });
        }
        drop(listener);
        let all = u32::try_from(MOST_CONNECTIONS).unwrap_or(u32::MAX);
        let _ = timeout(LAST_ANSWERS_WITHIN, room.acquire_many(all)).await;
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("handler", &self.handler)
            .finish_non_exhaustive()
    }
}

/// The next connection, once there is room for it.
async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> Option<(tokio::net::TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let permit = Arc::clone(room).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => {
            // Answers are small, and nobody should wait for more of them.
            let _ = stream.set_nodelay(true);
            Some((stream, permit))
        }
        Err(error) => {
            tracing::warn!(%error, "a connection to the webhooks could not be accepted");
            // The cause is most often a lack of file descriptors, which does not end at once.
            tokio::time::sleep(Duration::from_millis(100)).await;
            None
        }
    }
}

/// Reads the body, within limits, and answers.
async fn respond(handler: &Handler, request: Request<Incoming>) -> Response<Bytes> {
    let (parts, body) = request.into_parts();
    let largest = if handler.converts(parts.uri.path()) {
        LARGEST_CONVERSION
    } else {
        LARGEST_ADMISSION
    };
    let refuse = |code: StatusCode, why: String| with_type(code, "text/plain; charset=utf-8", why.into());
    match timeout(BODY_WITHIN, Limited::new(body, largest).collect()).await {
        Ok(Ok(body)) => handler.call(Request::from_parts(parts, body.to_bytes())).await,
        Ok(Err(error)) if error.is::<LengthLimitError>() => refuse(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the review is larger than {largest} bytes"),
        ),
        Ok(Err(error)) => refuse(StatusCode::BAD_REQUEST, format!("the review broke off: {error}")),
        Err(_) => refuse(
            StatusCode::REQUEST_TIMEOUT,
            format!("the review did not come within {} s", BODY_WITHIN.as_secs()),
        ),
    }
}

/// Starts the tasks of HTTP/2 streams as the replica's own.
#[derive(Clone)]
struct Tasks(Env);

impl<F> Executor<F> for Tasks
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, future: F) {
        self.0.spawn("webhook stream", future);
    }
}

/// Listens for the webhooks.
///
/// # Errors
///
/// What the operating system said.
pub(crate) async fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(address).await
}

#[cfg(test)]
#[path = "serve_tests.rs"]
mod tests;
