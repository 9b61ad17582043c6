use kubewright::prelude::*;

#[derive(StatusConditions, Serialize, Deserialize, Clone, Debug)]
enum AppStatus {
    Ready,
}

fn main() {}
