//! The scenarios: an operator, its objects, and nothing more to do in the end.

use std::time::Duration;

use kubewright::prelude::*;
use kubewright_testkit::{Operator, TestCluster};
use serde_json::json;

use crate::Failure;

/// How long the operators have sent nothing when a scenario has converged.
const QUIET: Duration = Duration::from_secs(2);

/// One scenario, in a process of its own.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// What everything random follows from
    #[arg(long)]
    pub(crate) seed: u64,
}

/// Describes whom to greet.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kube(
    group = "bench.kubewright.dev",
    version = "v1",
    kind = "Greeting",
    namespaced,
    status = "GreetingStatus"
)]
pub(super) struct GreetingSpec {
    name: String,
}

/// Status of a Greeting.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
pub(super) struct GreetingStatus {
    text: String,
}

/// Greets in a ConfigMap.
#[controller(for = Greeting, owns = ConfigMap)]
struct Greeter;

impl Reconciler for Greeter {
    async fn reconcile(&self, greeting: Arc<Greeting>, cx: &Context<Self>) -> Result<Action> {
        let text = format!("Hello, {}!", greeting.spec.name);
        let mut map = ConfigMap::default();
        map.metadata.name.clone_from(&greeting.metadata.name);
        map.data = Some([("text".to_owned(), text.clone())].into());
        cx.apply(map).await?;
        cx.apply_status(GreetingStatus { text }).await?;
        Ok(Action::await_change())
    }
}

/// Three Greetings, each with its ConfigMap and its status.
pub(super) async fn greetings(seed: u64) -> Result<(), Failure> {
    let cluster = TestCluster::builder().seed(seed).start();
    let operator = greeter(&cluster).await;
    for name in ["a", "b", "c"] {
        cluster
            .apply(&json!({
                "apiVersion": "bench.kubewright.dev/v1", "kind": "Greeting",
                "metadata": { "name": name, "namespace": "default" }, "spec": { "name": name },
            }))
            .await;
    }
    cluster.settled(QUIET).await;
    for name in ["a", "b", "c"] {
        let greeting = cluster.get::<Greeting>(name).await;
        let text = greeting.and_then(|greeting| greeting.status).map(|status| status.text);
        if text != Some(format!("Hello, {name}!")) || cluster.get::<ConfigMap>(name).await.is_none() {
            return Err(format!("{name} was not greeted").into());
        }
    }
    operator.stop().await;
    Ok(())
}

/// A cluster and an operator that have nothing to do.
pub(super) async fn start() -> Result<(), Failure> {
    let cluster = TestCluster::start();
    let operator = greeter(&cluster).await;
    cluster.settled(QUIET).await;
    operator.stop().await;
    Ok(())
}

async fn greeter(cluster: &TestCluster) -> Operator {
    cluster.run(Manager::new("greeter").controller(Greeter)).await
}

/// Three Apps of the example operator, ready.
pub(super) async fn apps() -> Result<(), Failure> {
    let cluster = TestCluster::start();
    let operator = cluster.run(app_operator::manager()).await;
    super::hour::put(&cluster, 3).await;
    cluster.settled(QUIET).await;
    super::hour::all_ready(&cluster).await?;
    operator.stop().await;
    Ok(())
}
