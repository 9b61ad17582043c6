//! Webhooks that the embedded server calls: what they refuse and change, and what becomes of writes when they fail.

use std::sync::atomic::{AtomicBool, Ordering};

use kubewright::manager::Manager;
use kubewright::prelude::*;
use kubewright::webhook::{Declaration, Mutate, Operation, Request, Validate, Verdict, Webhooks};
use kubewright_testkit::{TestCluster, WebhookFault};
use serde_json::{Value, json};

use crate::support::{App, config_map};

/// Judges Apps: `bad` is refused, `odd` warned of, `panic` panics; fills in what is empty.
#[webhooks(for = App, validate, mutate, operations = [create, update, delete])]
struct AppHooks;

impl Validate<App> for AppHooks {
    async fn create(&self, app: &App, _: &Request) -> Result<Verdict> {
        let mut verdict = Verdict::allowed();
        match &*app.spec.value {
            "bad" => verdict.invalid("spec.value", &app.spec.value, "must be good"),
            "odd" => verdict.warn("an odd value"),
            "panic" => panic!("a mistake in the webhook"),
            _ => {}
        }
        Ok(verdict)
    }

    async fn update(&self, app: &App, old: &App, request: &Request) -> Result<Verdict> {
        let mut verdict = self.create(app, request).await?;
        if old.spec.value == "fixed" && app.spec.value != "fixed" {
            verdict.forbidden("spec.value", "is fixed");
        }
        Ok(verdict)
    }

    async fn delete(&self, old: &App, request: &Request) -> Result<Verdict> {
        if old.spec.value == "kept" {
            return Ok(Verdict::denied(format!(
                "{} may not delete what is kept",
                request.user.username
            )));
        }
        Ok(Verdict::allowed())
    }
}

impl Mutate<App> for AppHooks {
    async fn mutate(&self, mut app: App, _: &Request) -> Result<App> {
        if app.spec.value.is_empty() {
            app.spec.value = "filled in".to_owned();
        }
        Ok(app)
    }
}

#[controller(for = App, owns = ConfigMap)]
struct AppController;

impl Reconciler for AppController {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        cx.apply(config_map(&app)).await?;
        Ok(Action::await_change())
    }
}

fn manager() -> Manager {
    Manager::new("hooked").controller(AppController).webhook(AppHooks)
}

fn app(name: &str, value: &str) -> Value {
    json!({
        "apiVersion": "it.kubewright.dev/v1", "kind": "App",
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "value": value },
    })
}

/// Why the cluster refuses an object.
async fn refusal(cluster: &TestCluster, object: &Value) -> String {
    let yaml = object.to_string();
    match cluster.try_apply_yaml(&yaml).await {
        Ok(stored) => panic!("it was taken: {stored:?}"),
        Err(error) => error.to_string(),
    }
}

#[kubewright_testkit::test]
async fn what_a_webhook_refuses_is_told_in_the_servers_own_words() {
    let cluster = TestCluster::start();
    let operator = cluster.run(manager()).await;
    let said = refusal(&cluster, &app("a", "bad")).await;
    assert!(
        said.ends_with(
            "admission webhook \"validate.apps.it.kubewright.dev\" denied the request: App.it.kubewright.dev \"a\" is \
             invalid: spec.value: Invalid value: \"bad\": must be good"
        ),
        "{said}"
    );
    cluster.apply(&app("a", "fixed")).await;
    let said = refusal(&cluster, &app("a", "other")).await;
    assert!(said.contains("spec.value: Forbidden: is fixed"), "{said}");
    cluster.apply(&app("b", "kept")).await;
    let client = cluster.client();
    let apps = kubewright::kube::Api::<App>::namespaced(client, "default");
    let refused = apps.delete("b", &Default::default()).await.expect_err("it is kept");
    assert!(refused.to_string().contains("may not delete what is kept"), "{refused}");
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn what_is_empty_is_filled_in_before_it_is_stored() {
    let cluster = TestCluster::start();
    let operator = cluster.run(manager()).await;
    let stored = cluster.apply(&app("a", "")).await;
    assert_eq!(stored["spec"]["value"], "filled in");
    cluster
        .wait_for::<ConfigMap>("a", |map| {
            map.data.as_ref().is_some_and(|data| data["value"] == "filled in")
        })
        .await;
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn a_webhook_that_is_down_says_whose_it_is_and_what_to_look_at_and_blocks_nothing_else() {
    let cluster = TestCluster::start();
    let operator = cluster.run(manager()).await;
    let broken = cluster.break_webhooks("hooked", WebhookFault::Down);
    let said = refusal(&cluster, &app("a", "fine")).await;
    assert!(
        said.contains("failed calling webhook \"mutate.apps.it.kubewright.dev\""),
        "{said}"
    );
    assert!(said.contains("hooked-webhook.default.svc"), "{said}");
    assert!(
        said.contains("when-this-fails/see-whether-pods-run-of/hooked"),
        "{said}"
    );
    let other = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "free", "namespace": "default" },
    });
    cluster.apply(&other).await;
    assert_eq!(broken.fired(), 1, "objects of other kinds are not asked about");
    broken.heal();
    cluster.apply(&app("a", "fine")).await;
    operator.stop().await;
    let said = refusal(&cluster, &app("b", "fine")).await;
    assert!(
        said.contains("no endpoints available for service \"hooked-webhook\""),
        "{said}"
    );
}

#[kubewright_testkit::test]
async fn slow_answers_nonsense_and_answers_to_other_reviews_fail_the_write() {
    let cluster = TestCluster::start();
    let operator = cluster.run(manager()).await;
    for (fault, says) in [
        (
            WebhookFault::Slow(std::time::Duration::from_secs(11)),
            "context deadline exceeded",
        ),
        (WebhookFault::Nonsense, "failed calling webhook"),
        (WebhookFault::WrongUid, "expected response.uid="),
        (
            WebhookFault::Status(503),
            "the server is currently unable to handle the request",
        ),
        (WebhookFault::Cut, "EOF"),
    ] {
        let broken = cluster.break_webhooks("hooked", fault.clone());
        let said = refusal(&cluster, &app("a", "fine")).await;
        assert!(said.contains(says), "{fault}: {said}");
        assert!(broken.fired() > 0);
        broken.heal();
    }
    cluster.apply(&app("a", "fine")).await;
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn a_webhook_that_panics_fails_one_write_and_harms_nothing_else() {
    let cluster = TestCluster::start();
    let operator = cluster.run(manager()).await;
    let said = refusal(&cluster, &app("a", "panic")).await;
    assert!(
        said.contains("hooked panicked in its webhook for apps.it.kubewright.dev: a mistake"),
        "{said}"
    );
    cluster.apply(&app("b", "fine")).await;
    cluster.wait_for::<ConfigMap>("b", |_| true).await;
    operator.stop().await;
}

/// An operator whose webhook judges what its own work consists of.
struct Guards(Arc<AtomicBool>);

impl Webhooks for Guards {
    type Kind = ConfigMap;

    fn declare(d: Declaration<Self>) -> Declaration<Self> {
        d.for_::<ConfigMap>()
            .validate()
            .operations([Operation::Create, Operation::Update])
    }
}

impl Validate<ConfigMap> for Guards {
    async fn create(&self, _: &ConfigMap, _: &Request) -> Result<Verdict> {
        self.0.store(true, Ordering::SeqCst);
        Ok(Verdict::allowed())
    }
}

#[kubewright_testkit::test]
async fn an_operator_that_judges_its_own_children_can_always_start_and_work() {
    let cluster = TestCluster::start();
    let asked = Arc::new(AtomicBool::new(false));
    let manager = || {
        Manager::new("guard")
            .controller(AppController)
            .webhook(Guards(Arc::clone(&asked)))
    };
    let operator = cluster.run(manager()).await;
    operator.crash();
    // Nobody answers now. Where the operator lives, that blocks nothing, so that its pods can come back.
    cluster.apply(&app("a", "x")).await;
    let map =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "free", "namespace": "default" } });
    cluster.apply(&map).await;
    assert!(!asked.load(Ordering::SeqCst));
    cluster
        .apply_yaml("apiVersion: v1\nkind: Namespace\nmetadata: { name: far }")
        .await;
    let far = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "far" } });
    let said = refusal(&cluster, &far).await;
    assert!(said.contains("no endpoints available"), "{said}");
    let operator = cluster.operator(manager()).replica("guard-2").start().await;
    cluster.wait_for::<ConfigMap>("a", |_| true).await;
    cluster.apply(&far).await;
    assert!(asked.load(Ordering::SeqCst));
    operator.stop().await;
}

#[kubewright_testkit::test]
async fn webhooks_answer_on_every_replica_and_without_the_lease() {
    let cluster = TestCluster::start();
    let first = cluster
        .operator(manager())
        .replica("one")
        .leader_election()
        .start()
        .await;
    let second = cluster
        .operator(manager())
        .replica("two")
        .leader_election()
        .start()
        .await;
    first.crash();
    // The other one does not lead yet, and answers.
    cluster.apply(&app("a", "")).await;
    assert_eq!(cluster.get::<App>("a").await.expect("stored").spec.value, "filled in");
    second.stop().await;
}
