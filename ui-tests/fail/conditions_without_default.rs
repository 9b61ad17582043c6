use kubewright::prelude::*;

#[derive(StatusConditions, Serialize, Deserialize, Clone, Debug, Default)]
struct AppStatus {
    conditions: Vec<Condition>,
}

fn main() {
    assert!(!AppStatus::default().is_true("Ready"));
}
