//! What `#[derive(StatusConditions)]` takes.

use kubewright::prelude::*;

#[derive(StatusConditions, Serialize, Deserialize, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HouseStatus {
    ready_rooms: i32,
    /// What is said of the house.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    conditions: Vec<Condition>,
}

#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kube(
    group = "demo.dev",
    version = "v1",
    kind = "House",
    namespaced,
    status = "HouseStatus"
)]
pub(crate) struct HouseSpec {
    rooms: i32,
}

/// With rules.
#[derive(StatusConditions, Serialize, Deserialize, Clone, Debug, Default)]
#[x_kube(validation = "self.size >= 0")]
pub(crate) struct TentStatus {
    size: i32,
    #[serde(default)]
    conditions: std::vec::Vec<Condition>,
}

#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kube(group = "demo.dev", version = "v1", kind = "Tent", namespaced, status = "TentStatus")]
pub(crate) struct TentSpec {
    size: i32,
}

#[controller(for = House)]
struct Houses;

impl Reconciler for Houses {
    async fn reconcile(&self, house: Arc<House>, cx: &Context<Self>) -> Result<Action> {
        let seen = cx.observed(&*house);
        let mut status = HouseStatus {
            ready_rooms: house.spec.rooms,
            ..HouseStatus::default()
        };
        status.set_condition(&seen, "Ready", true, "Built", "it stands");
        cx.apply_status(status).await?;
        Ok(Action::await_change())
    }
}

#[test]
fn conditions_are_looked_up_by_type() {
    Manager::new("houses")
        .controller(Houses)
        .check()
        .expect("a valid declaration");
    let mut tent = Tent::new("a", TentSpec { size: 1 });
    tent.status = Some(TentStatus::default());
    assert!(!tent.status.is_some_and(|status| status.is_true("Ready")));
    let house = House::new("a", HouseSpec { rooms: 1 });
    assert_eq!(house.spec.rooms, 1);
}
