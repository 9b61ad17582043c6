//! Every key at once; what it declares is what a person reads in it.

use kubewright::declaration::Adopt;
use kubewright::predicates;
use kubewright::prelude::*;
use kubewright_ui_tests::*;

const FINALIZER: &str = "demo.dev/files";

#[controller(
    for = App,
    owns = [Deployment, Service],
    owns(Pod, adopt = labels("app=web")),
    owns(Job, adopt = always),
    owns(Secret, predicate = generation_changed | !labels_changed, labels = "app,tier in (web, api)", metadata_only),
    watches(ConfigMap, map = apps_of, predicate = object(has_data) & resource_version_changed()),
    watches(Secret, map = users_of, fields = "type=Opaque"),
    live = Node,
    tracks(NetworkPolicy, strip = ["metadata.annotations['example.com/large']"]),
    writes = Namespace,
    updates = [Deployment],
    rbac(group = "apps", resources = ["deployments/scale"], verbs = ["get", "update"]),
    rbac(urls = ["/metrics"], verbs = ["get"]),
    ungranted_client = "asks for versions",
    event_filter = own_filter(3),
    labels = "demo.dev/managed=true",
    fields = "metadata.name!=skipped",
    workers = 4,
    backoff(min = "10ms", max = "5m"),
    rate_limit(per_second = 10, burst = 20),
    resync = "10h",
    timeout = "1m30s",
    finalizer = FINALIZER,
    name = "everything",
    field_manager = "demo-everything",
    previous_managers = ["demo-old", "kubectl-client-side-apply"],
    strip = ["status"],
    needs_leader = false,
    own_events = skip,
    retired_finalizers = ["demo.dev/old"],
)]
struct Everything;

impl Reconciler for Everything {
    async fn reconcile(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
        Ok(Action::await_change())
    }
}

impl Cleanup for Everything {
    async fn cleanup(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
        Ok(Action::await_change())
    }
}

fn apps_of(map: &ConfigMap) -> Option<String> {
    map.metadata.name.clone()
}

fn has_data(map: &ConfigMap) -> bool {
    map.data.is_some()
}

fn own_filter(_: u8) -> Predicate {
    predicates::annotations_changed()
}

#[test]
fn every_key_reaches_the_declaration() {
    let declaration = Declaration::<Everything>::of();
    declaration.check().expect("the declaration makes sense");
    let declared = declaration.declared();
    let kinds: Vec<&str> = declared.watches.iter().map(|w| w.kind.kind()).collect();
    assert_eq!(
        kinds,
        [
            "App",
            "Deployment",
            "Service",
            "Pod",
            "Job",
            "Secret",
            "ConfigMap",
            "Secret",
            "NetworkPolicy"
        ]
    );
    assert_eq!(declared.watches[3].adopt, Adopt::Labels("app=web".to_owned()));
    assert_eq!(declared.watches[4].adopt, Adopt::Always);
    let secret = &declared.watches[5];
    assert!(secret.metadata_only && secret.predicate.is_some() && secret.role.is_owned());
    assert_eq!(secret.labels.as_deref(), Some("app,tier in (web, api)"));
    assert_eq!(declared.watches[7].fields.as_deref(), Some("type=Opaque"));
    assert_eq!(declared.watches[0].labels.as_deref(), Some("demo.dev/managed=true"));
    assert_eq!(declared.watches[0].fields.as_deref(), Some("metadata.name!=skipped"));
    let stripped = |at: usize| {
        declared.watches[at]
            .strip
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert!(declared.watches[8].role.is_tracked());
    assert_eq!(stripped(8), ["metadata.annotations['example.com/large']"]);
    assert_eq!(stripped(0), ["status"]);
    assert_eq!(declared.previous_managers, ["demo-old", "kubectl-client-side-apply"]);
    assert_eq!((declared.workers, declared.needs_leader), (4, false));
    assert_eq!(declared.own_events, kubewright::declaration::OwnEvents::Skip);
    assert_eq!(declared.retired_finalizers, ["demo.dev/old"]);
    assert_eq!(declared.backoff.min, Duration::from_millis(10));
    assert_eq!(declared.backoff.max, Duration::from_secs(300));
    assert_eq!(declared.rate_limit.map(|l| (l.per_second, l.burst)), Some((10, 20)));
    assert_eq!(declared.timeout, Some(Duration::from_secs(90)));
    assert_eq!(declared.resync, Some(Duration::from_secs(36_000)));
    assert_eq!(declared.finalizer.as_deref(), Some("demo.dev/files"));
    assert_eq!(declared.ungranted_client.as_deref(), Some("asks for versions"));
    assert_eq!(declared.name, "everything");
    assert_eq!(declared.field_manager.as_deref(), Some("demo-everything"));
    assert!(declared.event_filter.is_some() && declared.primary_has_status && declared.crd.is_some());
    assert_eq!(declared.rules.len(), 2);
    assert!(declaration.cleanup().is_some());
}

#[test]
fn permissions_follow_from_the_declaration() {
    let rules = kubewright::rbac::rules(Declaration::<Everything>::of().declared());
    let lines: Vec<String> = rules
        .iter()
        .map(|r| {
            format!(
                "{}/{}: {}",
                r.api_groups.join(","),
                r.resources.join(","),
                r.verbs.join(" ")
            )
        })
        .collect();
    assert_eq!(
        lines,
        [
            "/configmaps: get list watch",
            "/namespaces: create delete get patch",
            "/nodes: get list",
            "/pods: create delete get list patch watch",
            "/secrets: create delete get list patch watch",
            "/services: create delete get list patch watch",
            "apps/deployments: create delete get list patch update watch",
            "batch/jobs: create delete get list patch watch",
            "demo.dev/apps: get list patch watch",
            "demo.dev/apps/finalizers: update",
            "demo.dev/apps/status: patch",
            "events.k8s.io/events: create patch",
            "networking.k8s.io/networkpolicies: create delete get list patch watch",
            "apps/deployments/scale: get update",
            "/: get",
        ]
    );
}
