//! Two releases of an operator that take turns on one cluster: an added field, another name of the finalizer, a renamed
//! struct, another field manager. Each time it comes to rest as that release has it.

use std::time::Duration;

use kubewright::prelude::*;
use kubewright_testkit::{TestCluster, oracles};
use serde_json::json;

/// The release that runs.
mod first {
    use super::*;

    #[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
    #[kube(
        group = "it.kubewright.dev",
        version = "v1",
        kind = "Shop",
        namespaced,
        status = "ShopStatus"
    )]
    pub(super) struct ShopSpec {
        name: String,
    }

    #[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
    pub(super) struct ShopStatus {
        #[serde(default)]
        pub(super) text: String,
    }

    #[controller(for = Shop, owns = ConfigMap, finalizer = "it.kubewright.dev/shop")]
    pub(super) struct ShopController;

    impl Reconciler for ShopController {
        async fn reconcile(&self, shop: Arc<Shop>, cx: &Context<Self>) -> Result<Action> {
            let text = format!("{} (1)", shop.spec.name);
            cx.apply(page(&shop.name_any(), &text)).await?;
            cx.apply_status(ShopStatus { text }).await?;
            Ok(Action::await_change())
        }
    }

    impl Cleanup for ShopController {
        async fn cleanup(&self, _: Arc<Shop>, _: &Context<Self>) -> Result<Action> {
            Ok(Action::await_change())
        }
    }
}

/// The release after it.
mod second {
    use super::*;

    #[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
    #[kube(
        group = "it.kubewright.dev",
        version = "v1",
        kind = "Shop",
        namespaced,
        status = "ShopStatus"
    )]
    pub(super) struct ShopSpec {
        name: String,
        /// New, and optional, as a field that comes later must be.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        motto: Option<String>,
    }

    #[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
    pub(super) struct ShopStatus {
        #[serde(default)]
        pub(super) text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(super) release: Option<i32>,
    }

    #[controller(
        for = Shop,
        owns = ConfigMap,
        name = "shop",
        field_manager = "shops-of-the-second-release",
        finalizer = "it.kubewright.dev/shop-v2",
        retired_finalizers = ["it.kubewright.dev/shop"]
    )]
    pub(super) struct Storefront;

    impl Reconciler for Storefront {
        async fn reconcile(&self, shop: Arc<Shop>, cx: &Context<Self>) -> Result<Action> {
            let motto = shop.spec.motto.as_deref().unwrap_or("none");
            let text = format!("{} (2, {motto})", shop.spec.name);
            cx.apply(page(&shop.name_any(), &text)).await?;
            cx.apply_status(ShopStatus { text, release: Some(2) }).await?;
            Ok(Action::await_change())
        }
    }

    impl Cleanup for Storefront {
        async fn cleanup(&self, _: Arc<Shop>, _: &Context<Self>) -> Result<Action> {
            Ok(Action::await_change())
        }
    }
}

fn page(name: &str, text: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map.data = Some([("text".to_owned(), text.to_owned())].into());
    map
}

async fn put(cluster: &TestCluster, name: &str) {
    cluster
        .apply(&json!({
            "apiVersion": "it.kubewright.dev/v1", "kind": "Shop",
            "metadata": { "name": "s", "namespace": "default" }, "spec": { "name": name },
        }))
        .await;
}

/// The page and the status say `text`, there is one page, and all is quiet.
async fn rests_at(cluster: &TestCluster, text: &str) {
    let says = |map: &ConfigMap| map.data.as_ref().is_some_and(|data| data["text"] == text);
    cluster.wait_for::<ConfigMap>("default/s", says).await;
    let told = |shop: &second::Shop| shop.status.as_ref().is_some_and(|status| status.text == text);
    cluster.wait_for::<second::Shop>("default/s", told).await;
    oracles::converged(cluster, Duration::from_secs(60))
        .await
        .unwrap_or_else(|violation| panic!("{text}: {violation}"));
    oracles::no_duplicates(cluster).expect("one page");
    oracles::nothing_foreign_written(cluster).expect("nobody else's");
}

#[kubewright_testkit::test]
async fn two_releases_that_take_turns_each_come_to_rest_and_the_object_can_go_in_the_end() {
    let cluster = TestCluster::start();
    for round in 1..=3 {
        let old = cluster
            .run(Manager::new("shops").controller(first::ShopController))
            .await;
        put(&cluster, &format!("old {round}")).await;
        rests_at(&cluster, &format!("old {round} (1)")).await;
        old.stop().await;
        let new = cluster.run(Manager::new("shops").controller(second::Storefront)).await;
        rests_at(&cluster, &format!("old {round} (2, none)")).await;
        put(&cluster, &format!("new {round}")).await;
        rests_at(&cluster, &format!("new {round} (2, none)")).await;
        let finalizers = cluster
            .get::<second::Shop>("default/s")
            .await
            .map(|shop| shop.finalizers().to_vec());
        assert_eq!(finalizers, Some(vec!["it.kubewright.dev/shop-v2".to_owned()]));
        new.stop().await;
    }
    let new = cluster.run(Manager::new("shops").controller(second::Storefront)).await;
    cluster.delete::<second::Shop>("default/s").await;
    cluster.wait_gone::<second::Shop>("default/s").await;
    cluster.wait_gone::<ConfigMap>("default/s").await;
    new.stop().await;
}
