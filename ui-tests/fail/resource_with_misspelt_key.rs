use kubewright::prelude::*;

#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kube(group = "demo.dev", version = "v1", kind = "App", namespace)]
struct AppSpec {
    image: String,
}

fn image(app: &App) -> &str {
    &app.spec.image
}

fn main() {}
