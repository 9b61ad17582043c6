use kubewright::prelude::*;

#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kube(group = "demo.dev", kind = "App")]
struct AppSpec {
    image: String,
}

fn main() {}
