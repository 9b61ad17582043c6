//! Each fault once against a client that is kube alone, and what becomes of it in an operator.

mod by_hand;
mod operators;
mod requests;
mod rules;
mod watches;

use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::kube;
use kubewright::kube::api::{Api, PostParams};
use kubewright_testkit::TestCluster;
use serde_json::json;

/// A cluster without workloads, and a client that faults hit.
fn cluster() -> (TestCluster, Api<ConfigMap>) {
    let cluster = TestCluster::start();
    let maps = Api::namespaced(cluster.client(), "default");
    (cluster, maps)
}

fn map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({ "metadata": { "name": name } })).expect("a ConfigMap")
}

async fn create(maps: &Api<ConfigMap>, name: &str) -> kube::Result<ConfigMap> {
    maps.create(&PostParams::default(), &map(name)).await
}

/// The code that a request was answered with.
fn code<T: std::fmt::Debug>(result: kube::Result<T>) -> u16 {
    match result {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(error) => panic!("no answer: {error}"),
    }
}

/// The kind of the connection's error.
fn broken<T: std::fmt::Debug>(result: kube::Result<T>) -> std::io::ErrorKind {
    let error = result.expect_err("the connection breaks");
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            return error.kind();
        }
        next = error.source();
    }
    panic!("not an error of the connection: {error}");
}
