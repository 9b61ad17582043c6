//! What an App asks for, as objects. Pure functions of the App: no cluster, no clock.

use std::collections::BTreeMap;

use kubewright::k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use kubewright::k8s_openapi::api::core::v1::{
    ConfigMap, ConfigMapEnvSource, Container, ContainerPort, EnvFromSource, PodSpec, PodTemplateSpec, Service,
    ServicePort, ServiceSpec,
};
use kubewright::k8s_openapi::api::networking::v1::{
    HTTPIngressPath, HTTPIngressRuleValue, Ingress, IngressBackend, IngressRule, IngressServiceBackend, IngressSpec,
    ServiceBackendPort,
};
use kubewright::k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use kubewright::k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kubewright::kube::ResourceExt as _;

use crate::api::App;

/// The label that carries the App's name.
const NAME: &str = "app.kubernetes.io/name";

/// The App's environment.
#[must_use]
pub fn config_map(app: &App) -> ConfigMap {
    ConfigMap {
        metadata: metadata(app),
        data: Some(app.spec.config.clone()),
        ..ConfigMap::default()
    }
}

/// The App's pods. They are replaced when the configuration changes, since a running process does not see that.
#[must_use]
pub fn deployment(app: &App) -> Deployment {
    let container = Container {
        name: "app".to_owned(),
        image: Some(app.spec.image.clone()),
        ports: Some(vec![ContainerPort {
            container_port: app.spec.port,
            ..ContainerPort::default()
        }]),
        env_from: Some(vec![EnvFromSource {
            config_map_ref: Some(ConfigMapEnvSource {
                name: app.name_any(),
                ..ConfigMapEnvSource::default()
            }),
            ..EnvFromSource::default()
        }]),
        ..Container::default()
    };
    let template = PodTemplateSpec {
        metadata: Some(ObjectMeta {
            labels: Some(labels(app)),
            annotations: Some(BTreeMap::from([(
                "demo.dev/config".to_owned(),
                fingerprint(&app.spec.config),
            )])),
            ..ObjectMeta::default()
        }),
        spec: Some(PodSpec {
            containers: vec![container],
            ..PodSpec::default()
        }),
    };
    Deployment {
        metadata: metadata(app),
        spec: Some(DeploymentSpec {
            replicas: Some(app.spec.replicas),
            selector: LabelSelector {
                match_labels: Some(labels(app)),
                ..LabelSelector::default()
            },
            template,
            ..DeploymentSpec::default()
        }),
        ..Deployment::default()
    }
}

/// The App's address inside the cluster.
#[must_use]
pub fn service(app: &App) -> Service {
    Service {
        metadata: metadata(app),
        spec: Some(ServiceSpec {
            selector: Some(labels(app)),
            ports: Some(vec![ServicePort {
                name: Some("http".to_owned()),
                port: 80,
                target_port: Some(IntOrString::Int(app.spec.port)),
                ..ServicePort::default()
            }]),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}

/// The way in from outside, where the App asks for one.
#[must_use]
pub fn ingress(app: &App) -> Option<Ingress> {
    let host = app.spec.ingress.as_ref()?.host.clone();
    let backend = IngressBackend {
        service: Some(IngressServiceBackend {
            name: app.name_any(),
            port: Some(ServiceBackendPort {
                name: Some("http".to_owned()),
                ..ServiceBackendPort::default()
            }),
        }),
        ..IngressBackend::default()
    };
    Some(Ingress {
        metadata: metadata(app),
        spec: Some(IngressSpec {
            rules: Some(vec![IngressRule {
                host: Some(host),
                http: Some(HTTPIngressRuleValue {
                    paths: vec![HTTPIngressPath {
                        path: Some("/".to_owned()),
                        path_type: "Prefix".to_owned(),
                        backend,
                    }],
                }),
            }]),
            ..IngressSpec::default()
        }),
        ..Ingress::default()
    })
}

/// The selector of the App's pods, as text.
#[must_use]
pub fn selector(app: &App) -> String {
    format!("{NAME}={}", app.name_any())
}

/// Where the App is reachable from outside.
#[must_use]
pub fn url(app: &App) -> Option<String> {
    Some(format!("http://{}/", app.spec.ingress.as_ref()?.host))
}

/// Children bear the App's name: it tells whose they are, and makes a repeated apply harmless.
fn metadata(app: &App) -> ObjectMeta {
    ObjectMeta {
        name: Some(app.name_any()),
        namespace: app.namespace(),
        labels: Some(labels(app)),
        ..ObjectMeta::default()
    }
}

fn labels(app: &App) -> BTreeMap<String, String> {
    BTreeMap::from([(NAME.to_owned(), app.name_any())])
}

/// FNV-1a: the same on every machine and in every release, which the standard library's hashers do not promise.
fn fingerprint(config: &BTreeMap<String, String>) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let parts = config
        .iter()
        .flat_map(|(key, value)| [key.as_bytes(), &[0], value.as_bytes(), &[0]]);
    for byte in parts.flatten() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::AppSpec;

    #[test]
    fn a_change_of_the_configuration_changes_the_pods() {
        let mut app = App::new("a", AppSpec::default());
        let before = deployment(&app);
        app.spec.config.insert("GREETING".to_owned(), "hello".to_owned());
        assert_ne!(before, deployment(&app));
    }
}
