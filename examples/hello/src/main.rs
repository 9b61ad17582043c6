use kubewright::prelude::*;

#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kube(
    group = "demo.dev",
    version = "v1",
    kind = "Greeting",
    namespaced,
    status = "GreetingStatus"
)]
struct GreetingSpec {
    name: String,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
struct GreetingStatus {
    text: String,
}

#[controller(for = Greeting, owns = ConfigMap)]
struct GreetingController;

impl Reconciler for GreetingController {
    async fn reconcile(&self, greeting: Arc<Greeting>, cx: &Context<Self>) -> Result<Action> {
        let text = format!("Hello, {}!", greeting.spec.name);
        let mut map = ConfigMap::default();
        map.metadata.name.clone_from(&greeting.metadata.name);
        map.data = Some([("text".to_owned(), text.clone())].into());
        cx.apply(map).await?; // created or updated, and owned: it goes when the Greeting goes
        cx.apply_status(GreetingStatus { text }).await?;
        Ok(Action::await_change()) // runs again when the Greeting or its ConfigMap changes
    }
}

fn manager() -> Manager {
    Manager::new("hello").controller(GreetingController)
}

#[tokio::main]
async fn main() -> Result<()> {
    manager().run_cli().await
}

#[cfg(test)]
mod tests;
