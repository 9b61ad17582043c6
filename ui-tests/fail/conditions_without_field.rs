use kubewright::prelude::*;

#[derive(StatusConditions, Serialize, Deserialize, Clone, Debug, Default)]
struct AppStatus {
    replicas: i32,
}

fn main() {}
