//! Listening.

use std::io::ErrorKind;
use std::net::SocketAddr;

use axum::Router;
use tokio::net::TcpListener;

/// An address that is listened on, and what will be served there.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    router: Router,
    what: &'static str,
}

/// An address cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("cannot serve {what} on {addr}: {error}; {remedy}")]
pub struct ListenError {
    /// `metrics` or `health probes`.
    pub what: &'static str,
    /// The address.
    pub addr: SocketAddr,
    /// What the system said.
    pub error: std::io::Error,
    /// What to do.
    pub remedy: String,
}

/// Listens on `addr`, so that a clash shows before anything else starts. `what` and `flag` are for the message.
///
/// # Errors
///
/// [`ListenError`] with the remedy.
pub async fn bind(
    addr: SocketAddr,
    router: Router,
    what: &'static str,
    flag: &'static str,
) -> Result<Server, ListenError> {
    match TcpListener::bind(addr).await {
        Ok(listener) => Ok(Server { listener, router, what }),
        Err(error) => Err(ListenError::new(what, flag, addr, error)),
    }
}

impl ListenError {
    /// What keeps `what` from listening on `addr`, which `flag` gives.
    pub(crate) fn new(what: &'static str, flag: &str, addr: SocketAddr, error: std::io::Error) -> Self {
        Self {
            what,
            addr,
            remedy: remedy(error.kind(), flag),
            error,
        }
    }
}

impl Server {
    /// The address, with the port that the system chose where 0 was asked for.
    #[must_use]
    pub fn addr(&self) -> Option<SocketAddr> {
        self.listener.local_addr().ok()
    }

    /// Serves until `stop` is ready, and answers the requests that came before.
    pub async fn run(self, stop: impl Future<Output = ()> + Send + 'static) {
        if let Some(addr) = self.addr() {
            tracing::info!(%addr, "serving {}", self.what);
        }
        let served = axum::serve(self.listener, self.router)
            .with_graceful_shutdown(stop)
            .await;
        if let Err(error) = served {
            tracing::error!(%error, "{} are no longer served", self.what);
        }
    }
}

fn remedy(kind: ErrorKind, flag: &str) -> String {
    match kind {
        ErrorKind::AddrInUse => {
            format!("another process listens there: stop it, or choose another address with `{flag} ADDRESS`")
        }
        ErrorKind::PermissionDenied => {
            format!("ports below 1024 need privileges: choose a higher one with `{flag} ADDRESS`")
        }
        ErrorKind::AddrNotAvailable => {
            format!("this machine does not have that address: use `{flag} 0.0.0.0:PORT` or one that it has")
        }
        _ => format!("choose another address with `{flag} ADDRESS`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::{Health, router};

    #[tokio::test]
    async fn a_port_in_use_is_one_line_with_the_remedy() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let first = bind(any, Router::new(), "metrics", "--metrics")
            .await
            .expect("a free port");
        let addr = first.addr().expect("it listens");
        let error = bind(addr, Router::new(), "metrics", "--metrics")
            .await
            .expect_err("taken");
        let line = error.to_string();
        assert!(line.starts_with(&format!("cannot serve metrics on {addr}: ")), "{line}");
        assert!(
            line.contains("choose another address with `--metrics ADDRESS`"),
            "{line}"
        );
        assert!(!line.contains('\n'));
    }

    #[tokio::test]
    async fn readiness_names_what_it_waits_for_and_stays() {
        use tower::ServiceExt;
        let health = Health::new();
        health.hold("certificates");
        let ask = |path: &'static str| {
            let router = router(Some(health.clone()), None);
            async move {
                let request = axum::http::Request::get(path).body(axum::body::Body::empty());
                let request = request.expect("a request");
                let response = router.oneshot(request).await.expect("an answer");
                let status = response.status().as_u16();
                let body = axum::body::to_bytes(response.into_body(), 1 << 16)
                    .await
                    .expect("a body");
                (status, String::from_utf8_lossy(&body).into_owned())
            }
        };
        assert_eq!(ask("/readyz").await, (503, "not ready: waits for certificates".into()));
        assert_eq!(ask("/healthz").await.0, 200);
        health.release("certificates");
        assert_eq!(ask("/readyz").await, (200, "ok".into()));
        health.section("leader", || "held by me".into());
        assert_eq!(ask("/statusz").await.1, "{\n  \"leader\": \"held by me\"\n}");
    }
}
