//! Clients over the embedded server, without a socket.

use std::io;

use http::{HeaderValue, Request, Response, header};
use kubewright_apiserver::http::body::Body;
use kubewright_apiserver::server::ApiServer;
use tower::{Service, ServiceExt as _};

/// A client of the embedded server as the user whom `token` names. `namespace` is the client's default.
///
/// The request takes the same path as over TLS, from authentication on; only the socket is missing, so that it works
/// on paused time.
pub fn connect(server: &ApiServer, token: &str, namespace: &str) -> kube::Client {
    kube::Client::new(transport(server, token), namespace)
}

/// What [`connect`] sends requests through, for those who put layers of their own around it.
pub fn transport(
    server: &ApiServer,
    token: &str,
) -> impl Service<Request<kube::client::Body>, Response = Response<Body>, Error = io::Error, Future: Send + 'static>
+ Clone
+ Send
+ 'static {
    let mut bearer =
        HeaderValue::from_str(&format!("Bearer {token}")).expect("the server's tokens are printable ASCII");
    bearer.set_sensitive(true);
    server
        .service()
        .map_request(move |mut request: Request<kube::client::Body>| {
            request.headers_mut().insert(header::AUTHORIZATION, bearer.clone());
            request
        })
}

/// A token with exactly the rights of a ServiceAccount, as a pod that runs under it has them.
#[must_use]
pub fn service_account_token(server: &ApiServer, namespace: &str, account: &str) -> String {
    let user = format!("system:serviceaccount:{namespace}:{account}");
    let of_namespace = format!("system:serviceaccounts:{namespace}");
    server.user_token(&user, &["system:serviceaccounts", &of_namespace])
}
