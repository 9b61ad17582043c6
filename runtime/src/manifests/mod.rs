//! What has to be in the cluster before the operator runs: its CustomResourceDefinitions, and exactly the rights
//! that its declarations ask for.
//!
//! Nothing here needs an instance of a controller or a cluster: everything follows from
//! [`Declared`]. The order of objects, rules and fields is stable, so that generated
//! files can be checked in and compared.

mod deployment;
mod rights;
mod roles;
mod yaml;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::declaration::Declared;
use crate::health::MetricsAccess;
use crate::kind::Kind;
use crate::webhook::{self, Configuration, Reach, Trust};

use deployment::Workload;
use roles::Names;

pub use yaml::{YamlError, documents};

/// The manifests of one operator. Build with [`Manifests::new`]; then [`objects`](Manifests::objects) or
/// [`to_yaml`](Manifests::to_yaml).
#[derive(Clone, Debug)]
pub struct Manifests {
    operator: String,
    namespace: String,
    watched: Vec<String>,
    declared: Vec<Declared>,
    access: MetricsAccess,
    workload: Option<(String, u32)>,
    webhooks: Vec<webhook::Declared>,
    migrated: Vec<Kind>,
    reach: Reach,
    trust: Trust,
}

impl Manifests {
    /// Manifests of the operator `operator`, whose pods and Lease live in `namespace`.
    ///
    /// `operator` names the ServiceAccount, the roles and the Lease; it must be a DNS label.
    pub fn new(
        operator: impl Into<String>,
        namespace: impl Into<String>,
        declared: impl IntoIterator<Item = Declared>,
    ) -> Self {
        Self {
            operator: operator.into(),
            namespace: namespace.into(),
            watched: Vec::new(),
            declared: declared.into_iter().collect(),
            access: MetricsAccess::Open,
            workload: None,
            webhooks: Vec::new(),
            migrated: Vec::new(),
            reach: Reach::Service,
            trust: Trust::Injected,
        }
    }

    /// Grants what the operator asks the API server before it shows its metrics, and adds a ClusterRole
    /// `<operator>-metrics-reader` for those who scrape. Default: everybody may read them.
    #[must_use]
    pub fn metrics_access(mut self, access: MetricsAccess) -> Self {
        self.access = access;
        self
    }

    /// Adds a Deployment that runs `image`. Default: none.
    #[must_use]
    pub fn deployment(mut self, image: impl Into<String>, replicas: u32) -> Self {
        self.workload = Some((image.into(), replicas));
        self
    }

    /// Adds the operator's webhooks. Default: none.
    #[must_use]
    pub fn webhooks(mut self, webhooks: impl IntoIterator<Item = webhook::Declared>) -> Self {
        self.webhooks = webhooks.into_iter().collect();
        self
    }

    /// Adds kinds whose stored objects the operator migrates. Default: none.
    #[must_use]
    pub fn migrates(mut self, kinds: impl IntoIterator<Item = Kind>) -> Self {
        self.migrated = kinds.into_iter().collect();
        self
    }

    /// Where the API server finds the webhooks. Default: behind the Service, in the operator's namespace.
    #[must_use]
    pub fn reach(mut self, reach: Reach) -> Self {
        self.reach = reach;
        self
    }

    /// How the API server comes to trust the webhooks' certificates. Default: the operator sees to it.
    #[must_use]
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }

    /// Restricts the rights on namespaced kinds to these namespaces: a Role in each instead of a ClusterRole.
    /// Cluster-scoped kinds keep their ClusterRole. Default: the whole cluster.
    #[must_use]
    pub fn namespaces(mut self, namespaces: impl IntoIterator<Item = String>) -> Self {
        self.watched = namespaces.into_iter().collect();
        self.watched.sort();
        self.watched.dedup();
        self
    }

    /// The CustomResourceDefinitions of the controllers' primary kinds, each once, by name. Built-in kinds have none.
    #[must_use]
    pub fn crds(&self) -> Vec<Value> {
        let mut crds = BTreeMap::new();
        for declared in &self.declared {
            let Some(definition) = declared.crd else { continue };
            let definition = definition();
            let name = definition.metadata.name.clone().unwrap_or_default();
            let mut value = serde_json::to_value(&definition).expect("a CustomResourceDefinition is plain JSON");
            // What only the server writes.
            if let Some(object) = value.as_object_mut() {
                object.remove("status");
            }
            crds.insert(name, value);
        }
        // Those with several versions take the place of those with one. What does not fit together is found by
        // `Manager::check`; here the one version stays.
        for (name, mut value) in self.configuration().definitions(&self.webhooks).unwrap_or_default() {
            if let Some(object) = value.as_object_mut() {
                object.remove("status");
            }
            crds.insert(name, value);
        }
        crds.into_values().collect()
    }

    /// ServiceAccount, roles and bindings: what the declarations need and nothing else, and the Lease for leader
    /// election in the operator's own namespace.
    #[must_use]
    pub fn rbac(&self) -> Vec<Value> {
        let mut objects = roles::objects(&self.operator, &self.namespace, &self.watched, &self.declared);
        if self.access == MetricsAccess::Reviewed {
            objects.extend(roles::of_metrics(&self.operator, &self.namespace));
        }
        if self.trust == Trust::Injected {
            objects.extend(roles::of_webhooks(&self.operator, &self.namespace, &self.webhooks));
        }
        objects.extend(roles::of_migrations(&self.operator, &self.namespace, &self.migrated));
        objects
    }

    /// The Deployment, where one was asked for.
    #[must_use]
    pub fn workload(&self) -> Option<Value> {
        let (image, replicas) = self.workload.clone()?;
        let names = Names {
            operator: &self.operator,
            namespace: &self.namespace,
        };
        let workload = Workload {
            image,
            replicas,
            reviewed: self.access == MetricsAccess::Reviewed,
            certificates: (!self.webhooks.is_empty() && matches!(self.trust, Trust::CertManager(_)))
                .then(|| webhook::certificates::secret_name(&self.operator)),
        };
        Some(deployment::object(&names, &self.watched, &workload))
    }

    /// The Service of the webhooks and their configurations; empty where there are no webhooks.
    #[must_use]
    pub fn webhook_configurations(&self) -> Vec<Value> {
        if self.webhooks.is_empty() {
            return Vec::new();
        }
        let configuration = self.configuration();
        let mut objects: Vec<Value> = configuration.service().into_iter().collect();
        objects.extend(configuration.issuers());
        objects.extend(configuration.objects(&self.webhooks));
        objects
    }

    /// Everything, in the order in which it can be applied: definitions, then the ServiceAccount, then its rights, then
    /// the Deployment, then the webhooks.
    #[must_use]
    pub fn objects(&self) -> Vec<Value> {
        let mut objects = self.crds();
        objects.extend(self.rbac());
        objects.extend(self.workload());
        objects.extend(self.webhook_configurations());
        objects
    }

    fn configuration(&self) -> Configuration<'_> {
        Configuration {
            operator: &self.operator,
            namespace: &self.namespace,
            reach: &self.reach,
            trust: &self.trust,
        }
    }

    /// [`Manifests::objects`] as a YAML stream for `kubectl apply -f -`.
    ///
    /// # Errors
    ///
    /// When a definition holds what YAML cannot say, such as a float that is not a number.
    pub fn to_yaml(&self) -> Result<String, YamlError> {
        yaml::stream(&self.objects())
    }
}

#[cfg(test)]
mod tests;
