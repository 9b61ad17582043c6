use kubewright::prelude::*;

#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kube(group = "demo.dev", version = "v1", kind = "App", status = AppStatus)]
struct AppSpec {
    image: String,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
struct AppStatus {}

fn image(app: &App) -> &str {
    &app.spec.image
}

fn main() {}
