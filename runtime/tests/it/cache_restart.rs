//! What a restarted operator need not do again.

use std::time::Duration;

use kubewright::prelude::*;
use kubewright_testkit::TestCluster;

use crate::support::{App, AppStatus, config_map, put};

#[controller(for = App, owns = ConfigMap)]
struct Mirror;

impl Reconciler for Mirror {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        cx.apply(config_map(&app)).await?;
        let seen = app.spec.value.clone();
        cx.apply_status(AppStatus { seen }).await?;
        Ok(Action::await_change())
    }
}

#[kubewright_testkit::test]
async fn a_restart_applies_nothing_that_is_applied_already() {
    let cluster = TestCluster::start();
    let first = cluster.run(Manager::new("mirror").controller(Mirror)).await;
    for number in 0..5 {
        put(&cluster, &format!("app-{number}"), "x").await;
    }
    cluster.settled(Duration::from_secs(30)).await;
    assert_eq!(first.requests().writes().of("configmaps").count(), 5);
    first.stop().await;
    let before = cluster.requests().count();
    let second = cluster.run(Manager::new("mirror").controller(Mirror)).await;
    cluster.settled(Duration::from_secs(30)).await;
    let user = second.user().to_owned();
    let again = cluster.requests().since(before).by(&user);
    assert_eq!(again.clone().of("configmaps").writes().count(), 0, "{again}");
    assert_eq!(again.clone().of("apps").writes().count(), 0, "{again}");
}
