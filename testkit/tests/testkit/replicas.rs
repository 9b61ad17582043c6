//! Replicas that are paused, killed, parted from the server, and whose clocks jump.

use std::time::Duration;

use futures::future::BoxFuture;
use jiff::SignedDuration;
use kubewright::k8s_openapi::api::coordination::v1::Lease;
use kubewright::kube::api::{Api, Patch, PatchParams};
use kubewright::manager::{RunContext, Runnable};
use kubewright::prelude::*;
use kubewright_testkit::{Crash, Operator, TestCluster};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::support::{copied, copier, put};

/// Writes a ConfigMap every second from a task that the framework knows nothing of.
struct Stray;

impl Runnable for Stray {
    fn name(&self) -> &'static str {
        "stray"
    }

    fn run(&self, context: RunContext) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let maps = Api::<ConfigMap>::namespaced(context.client.clone(), "default");
            tokio::spawn(async move {
                for tick in 0_u64.. {
                    let map = json!({
                        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "stray" },
                        "data": { "tick": tick.to_string() },
                    });
                    let apply = PatchParams::apply("stray").force();
                    let _ = maps.patch("stray", &apply, &Patch::Apply(map)).await;
                    sleep(Duration::from_secs(1)).await;
                }
            });
            context.stop.wait().await;
            Ok(())
        })
    }
}

async fn stray(cluster: &TestCluster) -> Operator {
    cluster
        .apply_yaml(
            "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: stray}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: stray, namespace: default}]
",
        )
        .await;
    let operator = cluster.run(Manager::new("stray").runnable(Stray)).await;
    cluster.wait_for::<ConfigMap>("stray", |_| true).await;
    operator
}

fn written(operator: &Operator) -> usize {
    operator.requests().of("configmaps").writes().count()
}

#[kubewright_testkit::test]
async fn a_task_that_the_operator_spawned_by_itself_writes_nothing_after_the_crash() {
    let cluster = TestCluster::start();
    let operator = stray(&cluster).await;
    sleep(Duration::from_secs(5)).await;
    let before = written(&operator);
    assert!(before >= 5, "it writes while the operator lives");
    operator.crash();
    sleep(Duration::from_secs(300)).await;
    assert_eq!(written(&operator), before);
    assert!(!operator.is_running());
}

#[kubewright_testkit::test]
async fn a_task_that_the_operator_spawned_by_itself_writes_nothing_in_a_pause_and_goes_on_after_it() {
    let cluster = TestCluster::start();
    let operator = stray(&cluster).await;
    operator.pause();
    sleep(Duration::from_millis(100)).await;
    let before = written(&operator);
    sleep(Duration::from_secs(300)).await;
    assert_eq!(written(&operator), before);
    operator.resume();
    sleep(Duration::from_secs(5)).await;
    assert!(written(&operator) > before + 3);
}

#[kubewright_testkit::test]
async fn a_paused_replica_sends_nothing_and_catches_up_once_it_goes_on() {
    let cluster = TestCluster::start();
    let operator = cluster.run(copier()).await;
    put(&cluster, "a", "one").await;
    copied(&cluster, "a", "one").await;
    operator.pause();
    put(&cluster, "a", "two").await;
    let before = operator.requests().count();
    sleep(Duration::from_secs(600)).await;
    assert_eq!(operator.requests().count(), before);
    assert!(operator.is_running());
    let resumed = Instant::now();
    operator.resume();
    copied(&cluster, "a", "two").await;
    assert!(resumed.elapsed() < Duration::from_secs(2), "{:?}", resumed.elapsed());
    operator.stop().await;
}

#[kubewright_testkit::test]
#[should_panic(expected = "is paused and would never end")]
async fn stopping_a_paused_replica_says_what_to_do_instead_of_hanging() {
    let cluster = TestCluster::start();
    let operator = cluster.run(copier()).await;
    operator.pause();
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn a_replica_dies_before_or_after_its_nth_write_and_another_carries_on() {
    for (crash, copies) in [(Crash::BeforeWrite(2), 1), (Crash::AfterWrite(2), 2)] {
        let cluster = TestCluster::start();
        let operator = cluster.operator(copier()).crash(crash).start().await;
        put(&cluster, "a", "one").await;
        copied(&cluster, "a", "one").await;
        put(&cluster, "b", "one").await;
        operator.crashed().await;
        sleep(Duration::from_secs(60)).await;
        let there = usize::from(cluster.get::<ConfigMap>("a").await.is_some())
            + usize::from(cluster.get::<ConfigMap>("b").await.is_some());
        assert_eq!(there, copies, "{crash:?}");
        let next = cluster.run(copier()).await;
        copied(&cluster, "b", "one").await;
        next.stop().await;
    }
}

#[kubewright_testkit::test]
#[should_panic(expected = "AfterWrite(0) never comes: the first write is number 1")]
async fn there_is_no_write_number_nothing() {
    let cluster = TestCluster::start();
    let _ = cluster.operator(copier()).crash(Crash::AfterWrite(0));
}

#[kubewright_testkit::test]
async fn a_partition_closes_no_connection_and_what_waits_arrives_after_it() {
    let cluster = TestCluster::start();
    let operator = cluster.run(copier()).await;
    put(&cluster, "a", "one").await;
    copied(&cluster, "a", "one").await;
    operator.partition();
    put(&cluster, "a", "two").await;
    let watches = operator.requests().filter(|record| record.verb == "watch").count();
    sleep(Duration::from_secs(60)).await;
    assert!(operator.is_partitioned());
    operator.reconnect();
    copied(&cluster, "a", "two").await;
    let after = operator.requests().filter(|record| record.verb == "watch").count();
    assert_eq!(after, watches, "the watches lived on");
    operator.stop().await;
}

/// Notes the minute of its own clock in the ConfigMap of each App. Finer, each echo would bring the next write.
#[controller(for = crate::support::App, owns = ConfigMap, name = "timekeeper")]
struct Timekeeper;

impl Reconciler for Timekeeper {
    async fn reconcile(&self, app: Arc<crate::support::App>, cx: &Context<Self>) -> Result<Action> {
        cx.apply(ConfigMap {
            metadata: ObjectMeta {
                name: app.metadata.name.clone(),
                ..ObjectMeta::default()
            },
            data: Some([("now".to_owned(), cx.now().strftime("%Y-%m-%dT%H:%M:00Z").to_string())].into()),
            ..ConfigMap::default()
        })
        .await?;
        Ok(Action::requeue(Duration::from_secs(60)))
    }
}

#[kubewright_testkit::test]
async fn a_jump_of_the_clock_is_seen_by_one_replica_alone_and_moves_no_timer() {
    let cluster = TestCluster::start();
    let operator = cluster.run(Manager::new("timekeeper").controller(Timekeeper)).await;
    put(&cluster, "a", "").await;
    let noted = async || {
        let map = cluster.wait_for::<ConfigMap>("a", |map| map.data.is_some()).await;
        map.data.expect("checked")["now"]
            .parse::<jiff::Timestamp>()
            .expect("a time")
    };
    noted().await;
    for (hours, total) in [(1, 1), (-2, -1)] {
        operator.jump_clock(SignedDuration::from_hours(hours));
        let runs = cluster.story().reconciles("default/a").len();
        sleep(Duration::from_secs(61)).await;
        let ahead = noted().await.duration_since(cluster.env().now());
        let expected = SignedDuration::from_hours(total);
        assert!((ahead - expected).abs() < SignedDuration::from_secs(125), "{ahead:?}");
        let after = cluster.story().reconciles("default/a").len() - runs;
        assert!((1..=3).contains(&after), "one run a minute and its echo, not {after}");
    }
    operator.stop().await;
}

async fn holder(cluster: &TestCluster) -> String {
    let lease = cluster.get::<Lease>("default/copier").await;
    let holder = lease.and_then(|lease| lease.spec).and_then(|spec| spec.holder_identity);
    holder.unwrap_or_default()
}

async fn replica(cluster: &TestCluster, name: &str) -> Operator {
    cluster.operator(copier()).replica(name).leader_election().start().await
}

async fn leads(cluster: &TestCluster, name: &str) {
    cluster
        .eventually("the replica leads", || async { holder(cluster).await == name })
        .await;
}

#[kubewright_testkit::test]
async fn a_leader_that_is_paused_past_its_lease_writes_nothing_once_it_goes_on() {
    let cluster = TestCluster::start();
    let a = replica(&cluster, "a").await;
    leads(&cluster, "a").await;
    let b = replica(&cluster, "b").await;
    put(&cluster, "one", "1").await;
    copied(&cluster, "one", "1").await;
    a.pause();
    // Work arrives for the frozen leader, and is waiting for it when it goes on.
    put(&cluster, "two", "2").await;
    leads(&cluster, "b").await;
    copied(&cluster, "two", "2").await;
    put(&cluster, "one", "3").await;
    copied(&cluster, "one", "3").await;
    let before = a.writes_sent();
    a.resume();
    sleep(Duration::from_secs(30)).await;
    assert_eq!(a.writes_sent(), before, "a write outside the Lease");
    let error = a.ended().await.expect_err("it leads no longer");
    assert!(error.to_string().contains("`b` took it"), "{error}");
    assert_eq!(holder(&cluster).await, "b");
    b.stop().await;
}

#[kubewright_testkit::test]
async fn a_leader_whose_clock_jumps_by_an_hour_leads_on_and_its_follower_does_not_take_over() {
    for hours in [1, -1] {
        let cluster = TestCluster::start();
        let a = replica(&cluster, "a").await;
        leads(&cluster, "a").await;
        let b = replica(&cluster, "b").await;
        sleep(Duration::from_secs(10)).await;
        a.jump_clock(SignedDuration::from_hours(hours));
        sleep(Duration::from_secs(120)).await;
        b.jump_clock(SignedDuration::from_hours(-2 * hours));
        cluster
            .stays("a leads", Duration::from_secs(120), || async {
                holder(&cluster).await == "a"
            })
            .await;
        put(&cluster, "one", "1").await;
        copied(&cluster, "one", "1").await;
        assert_eq!(b.writes_sent(), 0);
        a.crash();
        leads(&cluster, "b").await;
        b.stop().await;
    }
}

#[kubewright_testkit::test]
async fn a_leader_that_is_parted_for_a_minute_steps_down_before_the_other_leads() {
    let cluster = TestCluster::start();
    let a = replica(&cluster, "a").await;
    leads(&cluster, "a").await;
    let b = replica(&cluster, "b").await;
    put(&cluster, "one", "1").await;
    copied(&cluster, "one", "1").await;
    let before = a.writes_sent();
    a.partition();
    put(&cluster, "two", "2").await;
    leads(&cluster, "b").await;
    copied(&cluster, "two", "2").await;
    sleep(Duration::from_secs(40)).await;
    a.reconnect();
    sleep(Duration::from_secs(30)).await;
    assert_eq!(a.writes_sent(), before, "a write outside the Lease");
    let error = a.ended().await.expect_err("it could not renew");
    assert!(error.to_string().contains("could not be renewed"), "{error}");
    assert_eq!(holder(&cluster).await, "b");
    b.stop().await;
}
