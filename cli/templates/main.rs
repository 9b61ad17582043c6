use kubewright::prelude::*;

#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kube(
    group = "{{group}}",
    version = "v1",
    kind = "{{Kind}}",
    namespaced,
    status = "{{Kind}}Status"
)]
struct {{Kind}}Spec {
    name: String,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
struct {{Kind}}Status {
    text: String,
}

#[controller(for = {{Kind}}, owns = ConfigMap)]
struct {{Kind}}Controller;

impl Reconciler for {{Kind}}Controller {
    async fn reconcile(&self, {{kind}}: Arc<{{Kind}}>, cx: &Context<Self>) -> Result<Action> {
        let text = format!("Hello, {}!", {{kind}}.spec.name);
        let mut map = ConfigMap::default();
        map.metadata.name.clone_from(&{{kind}}.metadata.name);
        map.data = Some([("text".to_owned(), text.clone())].into());
        cx.apply(map).await?; // created or updated, and owned: it goes when the {{Kind}} goes
        cx.apply_status({{Kind}}Status { text }).await?;
        Ok(Action::await_change()) // runs again when the {{Kind}} or its ConfigMap changes
    }
}

fn manager() -> Manager {
    Manager::new("{{name}}").controller({{Kind}}Controller)
}

#[tokio::main]
async fn main() -> Result<()> {
    manager().run_cli().await
}

#[cfg(test)]
mod tests;
