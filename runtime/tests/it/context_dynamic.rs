//! Kinds that are known at run time only.

use kubewright::Kind;
use kubewright::context::{Patch, Query};
use kubewright::kube::core::DynamicObject;
use kubewright::prelude::*;
use kubewright_testkit::TestCluster;
use serde_json::json;

use crate::support::{App, put};

fn config_maps() -> Kind {
    Kind::new("", "v1", "ConfigMap", "configmaps", true)
}

fn secrets() -> Kind {
    Kind::new("", "v1", "Secret", "secrets", true)
}

/// Copies the names of the Secrets of its namespace into a ConfigMap, without a Rust type of either.
struct Copies;

impl Declare for Copies {
    type Primary = App;

    fn declare(d: Declaration<Self>) -> Declaration<Self> {
        d.for_::<App>()
            .owns_dynamic(config_maps(), |w| {
                w.index("name", |map: &DynamicObject| map.metadata.name.clone())
            })
            .watches_dynamic(secrets(), |_: &DynamicObject| ["copy"], |w| w)
    }
}

fn named(app: &App, suffix: &str) -> DynamicObject {
    let name = format!("{}{suffix}", app.metadata.name.as_deref().unwrap_or_default());
    serde_json::from_value(json!({ "metadata": { "name": name }, "data": {} })).expect("an object")
}

impl Reconciler for Copies {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        let found = cx.dynamic(&secrets()).list(Query::namespace("default")).await?;
        let names: Vec<&str> = found.iter().filter_map(|s| s.metadata.name.as_deref()).collect();
        let mut map = named(&app, "");
        map.data["data"]["names"] = names.join(",").into();
        let written = cx.dynamic(&config_maps()).apply(&map).await?;
        let read = cx.dynamic(&config_maps()).get("copy").await?;
        if read.map(|r| r.data.clone()) != Some(written.data.clone()) {
            return Err("a read went behind the write before it".into());
        }
        let set = cx
            .dynamic(&config_maps())
            .apply_set([&map, &named(&app, "-more")])
            .await?;
        let children = cx.dynamic(&config_maps()).children()?;
        let live = cx
            .dynamic(&config_maps())
            .list_live(Query::namespace("default"))
            .await?;
        let found = cx.dynamic(&config_maps()).by_index("name", "copy-more")?;
        if [set.len(), children.len(), found.len()] != [2, 2, 1] || live.len() < 2 {
            return Err(format!("{} {} {} {}", set.len(), children.len(), found.len(), live.len()).into());
        }
        let patch = Patch::merge(json!({ "data": { "patched": "yes" } }))?;
        let patched = cx.dynamic(&config_maps()).patch("copy-more", patch).await?;
        if patched.data["data"]["patched"] != "yes" {
            return Err("the patch is not in its answer".into());
        }
        cx.dynamic(&config_maps()).apply_set([&map]).await?;
        if cx.dynamic(&config_maps()).get("copy-more").await?.is_some() {
            return Err("what the set no longer holds is there still".into());
        }
        // What is not declared is refused, with the remedy.
        let refused = cx.dynamic(&secrets()).apply(&map).await;
        match refused {
            Err(error) if error.to_string().contains("owns = Secret") => Ok(Action::await_change()),
            other => Err(format!("an undeclared write was answered by {other:?}").into()),
        }
    }
}

#[kubewright_testkit::test]
async fn kinds_known_at_run_time_only_are_watched_read_owned_and_written() {
    let cluster = TestCluster::start();
    cluster.install::<App>().await;
    cluster.run(Manager::new("copies").controller(Copies)).await;
    put(&cluster, "copy", "").await;
    cluster.wait_for::<ConfigMap>("copy", |map| map.data.is_some()).await;
    cluster
        .apply(&json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s", "namespace": "default" } }))
        .await;
    let names = |map: &ConfigMap| map.data.as_ref().and_then(|data| data.get("names").cloned());
    let map = cluster
        .wait_for::<ConfigMap>("copy", |map| names(map).is_some_and(|n| n.contains('s')))
        .await;
    let owner = &map.metadata.owner_references.unwrap_or_default()[0];
    assert_eq!(
        (owner.kind.as_str(), owner.name.as_str(), owner.controller),
        ("App", "copy", Some(true))
    );
}
