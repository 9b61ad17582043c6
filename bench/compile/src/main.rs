//! The work of examples/app-operator in its plainest form on kube-runtime: one kind, four kinds of children.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{ConfigMap, Container, PodSpec, PodTemplateSpec, Service, ServicePort, ServiceSpec};
use k8s_openapi::api::networking::v1::{Ingress, IngressRule, IngressSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use kube::api::{Patch, PatchParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::watcher;
use kube::{Api, Client, CustomResource, Resource, ResourceExt as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kube(group = "demo.dev", version = "v1", kind = "App", namespaced, status = "AppStatus")]
#[serde(rename_all = "camelCase")]
struct AppSpec {
    image: String,
    #[serde(default)]
    replicas: i32,
    #[serde(default)]
    port: i32,
    #[serde(default)]
    config: BTreeMap<String, String>,
    ingress: Option<AppIngress>,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
struct AppIngress {
    host: String,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
struct AppStatus {
    ready_replicas: i32,
}

struct State {
    client: Client,
}

async fn apply<K>(state: &State, namespace: &str, name: &str, object: &K) -> Result<K, kube::Error>
where
    K: Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>
        + Serialize
        + DeserializeOwned
        + Clone
        + std::fmt::Debug,
{
    let api = Api::<K>::namespaced(state.client.clone(), namespace);
    api.patch(name, &PatchParams::apply("app").force(), &Patch::Apply(object)).await
}

async fn reconcile(app: Arc<App>, state: Arc<State>) -> Result<Action, kube::Error> {
    let namespace = app.namespace().unwrap_or_default();
    let name = app.name_any();
    let labels = BTreeMap::from([("app".to_owned(), name.clone())]);
    let metadata = ObjectMeta {
        name: Some(name.clone()),
        owner_references: app.controller_owner_ref(&()).map(|owner| vec![owner]),
        ..ObjectMeta::default()
    };
    let config = ConfigMap {
        metadata: metadata.clone(),
        data: Some(app.spec.config.clone()),
        ..ConfigMap::default()
    };
    let container = Container {
        name: "app".to_owned(),
        image: Some(app.spec.image.clone()),
        ..Container::default()
    };
    let deployment = Deployment {
        metadata: metadata.clone(),
        spec: Some(DeploymentSpec {
            replicas: Some(app.spec.replicas),
            selector: LabelSelector {
                match_labels: Some(labels.clone()),
                ..LabelSelector::default()
            },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(labels.clone()),
                    ..ObjectMeta::default()
                }),
                spec: Some(PodSpec {
                    containers: vec![container],
                    ..PodSpec::default()
                }),
            },
            ..DeploymentSpec::default()
        }),
        ..Deployment::default()
    };
    let service = Service {
        metadata: metadata.clone(),
        spec: Some(ServiceSpec {
            selector: Some(labels),
            ports: Some(vec![ServicePort {
                port: app.spec.port,
                ..ServicePort::default()
            }]),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    };
    apply(&state, &namespace, &name, &config).await?;
    let deployment = apply(&state, &namespace, &name, &deployment).await?;
    apply(&state, &namespace, &name, &service).await?;
    if let Some(ingress) = &app.spec.ingress {
        let ingress = Ingress {
            metadata,
            spec: Some(IngressSpec {
                rules: Some(vec![IngressRule {
                    host: Some(ingress.host.clone()),
                    ..IngressRule::default()
                }]),
                ..IngressSpec::default()
            }),
            ..Ingress::default()
        };
        apply(&state, &namespace, &name, &ingress).await?;
    }
    let ready_replicas = deployment.status.and_then(|s| s.ready_replicas).unwrap_or(0);
    let api = Api::<App>::namespaced(state.client.clone(), &namespace);
    let status = serde_json::json!({ "status": { "readyReplicas": ready_replicas } });
    api.patch_status(&name, &PatchParams::default(), &Patch::Merge(status)).await?;
    Ok(Action::await_change())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt().json().init();
    let client = Client::try_default().await?;
    let all = watcher::Config::default;
    Controller::new(Api::<App>::all(client.clone()), all())
        .owns(Api::<ConfigMap>::all(client.clone()), all())
        .owns(Api::<Deployment>::all(client.clone()), all())
        .owns(Api::<Service>::all(client.clone()), all())
        .owns(Api::<Ingress>::all(client.clone()), all())
        .shutdown_on_signal()
        .run(
            reconcile,
            |_, _, _| Action::requeue(Duration::from_secs(5)),
            Arc::new(State { client }),
        )
        .for_each(|result| async move {
            if let Err(error) = result {
                tracing::warn!(%error, "reconcile failed");
            }
        })
        .await;
    Ok(())
}
