use kubewright::prelude::*;

#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
struct AppSpec {
    image: String,
}

fn main() {}
