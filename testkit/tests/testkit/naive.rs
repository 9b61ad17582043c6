//! Operators as they should not be written, each with one mistake.

use kubewright::k8s_openapi::api::apps::v1::Deployment;
use kubewright::kube;
use kubewright::kube::api::{Api, Patch, PatchParams, PostParams};
use kubewright::prelude::*;
use kubewright_testkit::TestCluster;
use serde_json::{Value, json};

use crate::support::App;

/// What an operator does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// Its children name no owner.
    CreatesWithoutOwner,
    /// Its children have random names, so that it cannot tell that it made one already.
    GeneratesNames,
    /// Writes an object of somebody else.
    EditsStrangers,
    /// Writes what only the user writes.
    EditsThePrimary,
    /// Sets the replicas of a Deployment that an autoscaler scales.
    OwnsReplicas,
    /// Writes the time into what it makes, by tens of seconds.
    NeverRests,
    /// Fails for ever.
    Fails,
}

/// An operator with a mistake. It writes by a client of its own, since the framework would not let it.
#[controller(for = App, owns = ConfigMap, owns = Deployment)]
pub(crate) struct Naive {
    client: kube::Client,
    mistake: Mistake,
}

/// Runs under the name `copier`, as the good one does.
pub(crate) fn naive(cluster: &TestCluster, mistake: Mistake) -> Manager {
    let client = cluster.client_named("copier");
    Manager::new("copier").controller(Naive { client, mistake })
}

impl Reconciler for Naive {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), "default");
        let apply = PatchParams::apply("copier").force();
        let name = app.name_any();
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name },
            "data": { "value": app.spec.value },
        });
        match self.mistake {
            Mistake::CreatesWithoutOwner => {
                maps.patch(&name, &apply, &Patch::Apply(map)).await?;
            }
            // Two will do to be found.
            Mistake::GeneratesNames if cx.children::<ConfigMap>()?.len() > 1 => {}
            Mistake::GeneratesNames => {
                let mut map = map;
                map["metadata"] = json!({ "generateName": "copy-", "ownerReferences": [owner(&app)] });
                maps.create(&PostParams::default(), &serde_json::from_value(map)?)
                    .await?;
            }
            Mistake::EditsStrangers => {
                let patch = json!({ "data": { "value": app.spec.value } });
                maps.patch("theirs", &PatchParams::default(), &Patch::Merge(patch))
                    .await?;
            }
            Mistake::EditsThePrimary => {
                let apps: Api<App> = Api::namespaced(self.client.clone(), "default");
                let patch = json!({ "spec": { "value": "what the operator likes" } });
                apps.patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await?;
            }
            Mistake::OwnsReplicas => {
                let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), "default");
                let deployment = json!({
                    "apiVersion": "apps/v1", "kind": "Deployment",
                    "metadata": { "name": name, "ownerReferences": [owner(&app)] },
                    "spec": {
                        "replicas": 1,
                        "selector": { "matchLabels": { "app": name } },
                        "template": {
                            "metadata": { "labels": { "app": name } },
                            "spec": { "containers": [{ "name": "app", "image": app.spec.value }] },
                        },
                    },
                });
                deployments.patch(&name, &apply, &Patch::Apply(deployment)).await?;
            }
            Mistake::NeverRests => {
                let mut map = config_map(&name);
                let now = cx.now().as_second() / 10;
                map.data = Some([("now".to_owned(), now.to_string())].into());
                cx.apply(map).await?;
                return Ok(Action::requeue(Duration::from_secs(10)));
            }
            Mistake::Fails => return Err("no, not today".into()),
        }
        Ok(Action::await_change())
    }
}

fn config_map(name: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map
}

fn owner(app: &App) -> Value {
    json!({
        "apiVersion": "testkit.kubewright.dev/v1", "kind": "App", "controller": true,
        "name": app.name_any(), "uid": app.uid().unwrap_or_default(),
    })
}
