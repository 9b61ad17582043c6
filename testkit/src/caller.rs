//! Whose request it is, told to the server beside the request.

use std::io;

use http::{Request, Response};
use kubewright::dev::apiserver::http::body::Body;
use kubewright::dev::apiserver::http::log::Caller;
use kubewright::dev::apiserver::server::ApiServer;
use kubewright::dev::transport;
use kubewright::kube;
use tower::{Service, ServiceExt as _};

use crate::latency::{Delayed, Network};

/// The name of the test's own client in the story.
pub(crate) const TEST: &str = "test";

/// A transport as [`transport`], over the cluster's network, whose requests say who makes them.
pub(crate) fn named(
    network: &Network,
    server: &ApiServer,
    token: &str,
    name: &str,
) -> impl Service<Request<kube::client::Body>, Response = Response<Delayed<Body>>, Error = io::Error, Future: Send + 'static>
+ Clone
+ Send
+ 'static {
    let caller = Caller::new(name);
    let named = transport(server, token).map_request(move |mut request: Request<kube::client::Body>| {
        request.extensions_mut().insert(caller.clone());
        request
    });
    network.around(named)
}

/// A client whose requests say who makes them.
pub(crate) fn client(network: &Network, server: &ApiServer, token: &str, name: &str) -> kube::Client {
    kube::Client::new(named(network, server, token, name), "default")
}
