//! Conditions: the definition that the derive makes, and how they are kept.

use kubewright::kube::CustomResourceExt;
use kubewright::prelude::*;
use kubewright_testkit::TestCluster;
use serde_json::json;

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
    group = "it.kubewright.dev",
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
#[kube(
    group = "it.kubewright.dev",
    version = "v1",
    kind = "Tent",
    namespaced,
    status = "TentStatus"
)]
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
        status.set_condition(&seen, "Ready", house.spec.rooms > 0, "Counted", "");
        cx.apply_status(status).await?;
        Ok(Action::await_change())
    }
}

fn schema_of_status<K: CustomResourceExt>() -> serde_json::Value {
    let definition = serde_json::to_value(K::crd()).expect("plain JSON");
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"].clone()
}

#[test]
fn conditions_are_a_map_by_type_in_the_definition() {
    for status in [schema_of_status::<House>(), schema_of_status::<Tent>()] {
        let conditions = &status["properties"]["conditions"];
        assert_eq!(conditions["type"], "array", "{status:#}");
        assert_eq!(conditions["x-kubernetes-list-type"], "map");
        assert_eq!(conditions["x-kubernetes-list-map-keys"], serde_json::json!(["type"]));
        assert_eq!(
            conditions["items"]["properties"]["lastTransitionTime"]["format"],
            "date-time"
        );
    }
    assert_eq!(
        schema_of_status::<House>()["properties"]["readyRooms"]["type"],
        "integer"
    );
    let rules = &schema_of_status::<Tent>()["x-kubernetes-validations"];
    assert_eq!(rules[0]["rule"], "self.size >= 0");
}

#[kubewright_testkit::test]
async fn conditions_keep_their_time_while_their_status_stays_and_leave_those_of_others_alone() {
    let cluster = TestCluster::start();
    let operator = cluster.run(Manager::new("houses").controller(Houses)).await;
    let apply = async |rooms: i32| {
        cluster
            .apply(&json!({
                "apiVersion": "it.kubewright.dev/v1", "kind": "House",
                "metadata": { "name": "a", "namespace": "default" }, "spec": { "rooms": rooms },
            }))
            .await;
    };
    let ready = |generation: i64| {
        move |house: &House| {
            let status = house.status.as_ref();
            status.and_then(|status| status.condition("Ready")?.observed_generation) == Some(generation)
        }
    };
    apply(1).await;
    let first = cluster.wait_for::<House>("default/a", ready(1)).await;
    let theirs = json!({ "status": { "conditions": [
        { "type": "Painted", "status": "False", "reason": "NoPaint", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z" },
    ] } });
    let theirs = kubewright::kube::api::Patch::Apply(json!({
        "apiVersion": "it.kubewright.dev/v1", "kind": "House", "metadata": { "name": "a" },
        "status": theirs["status"],
    }));
    let params = kubewright::kube::api::PatchParams::apply("painter");
    let houses = kubewright::kube::Api::<House>::namespaced(cluster.client(), "default");
    houses
        .patch_status("a", &params, &theirs)
        .await
        .expect("another writer's condition");
    tokio::time::sleep(Duration::from_secs(60)).await;
    apply(2).await;
    let second = cluster.wait_for::<House>("default/a", ready(2)).await;
    let time = |house: &House| {
        let status = house.status.as_ref().expect("a status");
        status
            .condition("Ready")
            .expect("it is set")
            .last_transition_time
            .clone()
    };
    assert_eq!(time(&first), time(&second));
    apply(0).await;
    let third = cluster.wait_for::<House>("default/a", ready(3)).await;
    assert!(time(&third).0 > time(&second).0);
    let status = third.status.expect("a status");
    assert_eq!(status.condition("Painted").map(|c| &*c.reason), Some("NoPaint"));
    assert!(!status.is_true("Ready"));
    operator.stop().await;
}
