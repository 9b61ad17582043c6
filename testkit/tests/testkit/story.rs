//! The story: what happened, in order, and who did it.

use std::time::Duration;

use kubewright::k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kubewright::kube;
use kubewright::prelude::*;
use kubewright_testkit::{Entry, TestCluster, What};
use serde_json::json;

/// Copies each ConfigMap of its own kind into a Secret.
#[controller(for = ConfigMap, labels = "copy=yes", owns = Secret)]
struct CopyController;

impl Reconciler for CopyController {
    async fn reconcile(&self, map: Arc<ConfigMap>, cx: &Context<Self>) -> Result<Action> {
        let mut secret = Secret::default();
        secret.metadata.name.clone_from(&map.metadata.name);
        secret.string_data.clone_from(&map.data);
        cx.apply(secret).await?;
        Ok(Action::await_change())
    }
}

fn manager() -> Manager {
    Manager::new("copier").controller(CopyController)
}

const MAP: &str = "{ apiVersion: v1, kind: ConfigMap, metadata: { name: a, labels: { copy: 'yes' } }, data: { k: v } }";

fn place(story: &[Entry], what: &str, matches: impl Fn(&Entry) -> bool) -> usize {
    let place = story.iter().position(matches);
    place.unwrap_or_else(|| panic!("the story lacks {what}"))
}

#[kubewright_testkit::test]
async fn the_story_goes_from_the_write_over_the_event_and_the_request_to_the_reconcile() {
    let cluster = TestCluster::start();
    let operator = cluster.run(manager()).await;
    cluster.settled(Duration::from_secs(1)).await;
    cluster.apply_yaml(MAP).await;
    cluster.wait_for::<Secret>("a", |_| true).await;
    cluster.settled(Duration::from_secs(1)).await;

    let story = cluster.story().entries();
    let by = |entry: &Entry, name: &str| &*entry.replica == name;
    let text = |entry: &Entry| entry.to_string();
    let written = place(&story, "the test's write", |e| {
        by(e, "test") && text(e).contains("patch  configmaps default/a → 201 @")
    });
    let seen = place(&story, "the event", |e| {
        by(e, "copier") && text(e).contains("event  configmaps ADDED default/a @")
    });
    let sent = place(&story, "the request", |e| {
        by(e, "copier") && text(e).contains("patch  secrets default/a → 201 @")
    });
    let ran = place(&story, "the run", |e| {
        by(e, "copier") && text(e).contains("[ConfigMap default/a created] | apply Secret a → ok")
    });
    assert!(written < seen && seen < sent && sent < ran, "{}", cluster.story());
    assert!(
        story.windows(2).all(|pair| pair[0].at <= pair[1].at),
        "time runs forward"
    );
    operator.stop().await;
    assert!(cluster.story().by("copier").to_string().contains("is told to stop"));
}

#[kubewright_testkit::test]
async fn two_replicas_under_one_account_are_told_apart() {
    let cluster = TestCluster::start();
    let first = cluster.operator(manager()).replica("a").leader_election().start().await;
    cluster
        .eventually("a leads", || async { !cluster.story().leadership().by("a").is_empty() })
        .await;
    let second = cluster.operator(manager()).replica("b").leader_election().start().await;
    cluster.apply_yaml(MAP).await;
    cluster.wait_for::<Secret>("a", |_| true).await;
    assert_eq!(first.user(), second.user());
    let writes = cluster.story().writes().of("secrets");
    assert_eq!(writes.count(), 1, "{writes}");
    assert_eq!(writes.by("a").count(), 1);

    first.crash();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let killed = cluster.now();
    cluster
        .eventually("b leads", || async {
            cluster.story().leadership().by("b").to_string().contains("leads")
        })
        .await;
    cluster.patch::<ConfigMap>("a", json!({ "data": { "k": "w" } })).await;
    cluster.settled(Duration::from_secs(2)).await;
    let later = cluster.story().since(killed).writes().of("secrets").effective();
    assert_eq!((later.count(), later.by("b").count()), (1, 1), "{}", cluster.story());
    second.stop().await;
}

#[kubewright_testkit::test]
async fn the_tests_own_looks_leave_no_line_but_its_writes_do() {
    let cluster = TestCluster::start();
    cluster.apply_yaml(MAP).await;
    cluster.wait_for::<ConfigMap>("a", |_| true).await;
    cluster.list::<ConfigMap>().await;
    cluster.patch::<ConfigMap>("a", json!({ "data": { "k": "v" } })).await;
    let story = cluster.story().all();
    assert_eq!(story.count(), 2, "{story}");
    let last = story.last().expect("two lines").to_string();
    assert!(
        last.ends_with("patch  configmaps default/a → 200, changed nothing"),
        "{last}"
    );
    assert!(cluster.requests().count() > 2, "all requests are counted all the same");
}

#[kubewright_testkit::test]
async fn a_create_is_told_by_the_name_that_the_object_got() {
    let cluster = TestCluster::start();
    let maps: kube::Api<ConfigMap> = kube::Api::namespaced(cluster.client_named("mine"), "default");
    let mut map = ConfigMap::default();
    map.metadata.generate_name = Some("x-".to_owned());
    let made = maps
        .create(&kube::api::PostParams::default(), &map)
        .await
        .expect("created");
    let writes = cluster.story().by("mine").writes();
    let request = writes.requests().next().expect("one write");
    assert_eq!(Some(&request.name), made.metadata.name.as_ref());
    let effect = &request.effects[0];
    assert!(effect.old.is_none() && effect.new.is_some());
    assert_eq!(made.metadata.resource_version, Some(effect.revision.to_string()));
}

#[kubewright_testkit::test]
async fn a_part_of_the_story_can_be_cut_out_by_time_object_and_kind() {
    let cluster = TestCluster::start();
    let operator = cluster.run(manager()).await;
    cluster.apply_yaml(MAP).await;
    cluster.wait_for::<Secret>("a", |_| true).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let then = cluster.now();
    cluster.apply_yaml(&MAP.replace("name: a", "name: b")).await;
    cluster.wait_for::<Secret>("b", |_| true).await;
    cluster.settled(Duration::from_secs(1)).await;

    let story = cluster.story();
    assert_eq!(
        story.reconciles("default/b").first().map(|run| run.key.to_string()),
        Some("default/b".to_owned())
    );
    assert!(
        story
            .between(then, cluster.now())
            .about("default/a")
            .writes()
            .is_empty()
    );
    assert!(!story.since(then).about("default/b").writes().is_empty());
    let of_secrets = story
        .of("secrets")
        .requests()
        .all(|request| request.resource == "secrets");
    assert!(of_secrets);
    assert!(story.events().iter().all(|entry| matches!(entry.what, What::Event(_))));
    operator.stop().await;
}
