//! Connections: TLS, HTTP/1.1 and HTTP/2, limits, an orderly end.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{Either, select};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::tls::Tls;
use crate::server::Core;

/// How long a client may take for its TLS handshake, and for the head of a request.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long running requests may take to end once the server stops.
const GRACE: Duration = Duration::from_secs(1);

pub(crate) async fn serve(core: Arc<Core>, listener: TcpListener, tls: Tls, shutdown: impl Future<Output = ()> + Send) {
    let acceptor = TlsAcceptor::from(Arc::clone(&tls.config));
    let graceful = GracefulShutdown::new();
    let mut shutdown = pin!(shutdown);
    loop {
        let stream = match select(shutdown.as_mut(), pin!(listener.accept())).await {
            Either::Left(_) => break,
            Either::Right((Ok((stream, _)), _)) => stream,
            Either::Right((Err(error), _)) => {
                // Out of file descriptors, most likely: give others time to close theirs.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        // Small writes such as watch events must not wait for each other.
        let _ = stream.set_nodelay(true);
        let connection = connection(Arc::clone(&core), acceptor.clone(), stream, graceful.watcher());
        tokio::spawn(connection);
    }
    drop(listener);
    core.store.end_watches();
    // What still runs after the grace is dropped with its connection.
    let _ = tokio::time::timeout(GRACE, graceful.shutdown()).await;
}

/// Serves one connection until either side ends it.
pub(crate) async fn one<S>(core: Arc<Core>, stream: S, tls: &Tls)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let acceptor = TlsAcceptor::from(Arc::clone(&tls.config));
    connection(core, acceptor, stream, GracefulShutdown::new().watcher()).await;
}

async fn connection<S>(
    core: Arc<Core>,
    acceptor: TlsAcceptor,
    stream: S,
    watcher: hyper_util::server::graceful::Watcher,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Ok(Ok(stream)) = tokio::time::timeout(PATIENCE, acceptor.accept(stream)).await else {
        return;
    };
    let life = core.lives.present();
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    builder.http2().timer(TokioTimer::new());
    // The handshake told which protocol it is. To find out from what comes first would have no time limit.
    let builder = match stream.get_ref().1.alpn_protocol() {
        Some(b"h2") => builder.http2_only(),
        _ => builder.http1_only(),
    };
    let service = service_fn(move |request| {
        let core = Arc::clone(&core);
        async move { super::answer(core, request).await }
    });
    // With upgrades, which nothing here asks for, the builder would look for the protocol all the same.
    let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
    // A client that goes away or speaks nonsense is its own affair.
    let _ = life.within(watcher.watch(connection)).await;
}
