//! The embedded server's way to the operator's webhooks, within the process.

use bytes::Bytes;
use kubewright_apiserver::admission::webhook::{Answering, Handler};

use crate::webhook::Endpoint;

impl Handler for Endpoint {
    fn call<'a>(&'a self, path: &'a str, review: Bytes) -> Answering<'a> {
        Box::pin(Endpoint::call(self, path, review))
    }
}
