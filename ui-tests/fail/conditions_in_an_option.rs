use kubewright::prelude::*;

#[derive(StatusConditions, Serialize, Deserialize, Clone, Debug, Default)]
struct AppStatus {
    #[serde(default)]
    conditions: Option<Vec<Condition>>,
}

fn main() {}
