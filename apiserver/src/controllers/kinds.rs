//! The built-in kinds that controllers read and write, by name.

use crate::resource::{Gvr, Resource, api_version};

/// A built-in kind in the version that controllers speak, which is the stored one.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    /// API group, empty for the core group.
    pub group: &'static str,
    /// Version.
    pub version: &'static str,
    /// Lower-case plural.
    pub plural: &'static str,
    /// Kind.
    pub kind: &'static str,
}

impl Kind {
    const fn new(group: &'static str, version: &'static str, plural: &'static str, kind: &'static str) -> Self {
        Self {
            group,
            version,
            plural,
            kind,
        }
    }

    /// The name that a URL has for it.
    #[must_use]
    pub fn gvr(&self) -> Gvr {
        Gvr::new(self.group, self.version, self.plural)
    }

    /// Whether `resource` is this kind, in any version.
    #[must_use]
    pub fn is(&self, resource: &Resource) -> bool {
        resource.plural == self.plural && resource.group == self.group
    }

    /// `apps/v1`, or `v1` in the core group.
    #[must_use]
    pub fn api_version(&self) -> String {
        api_version(self.group, self.version)
    }
}

macro_rules! kinds {
    ($($name:ident = $group:literal $version:literal $plural:literal $kind:literal;)*) => {
        $(#[doc = concat!("`", $plural, "`")] pub static $name: Kind = Kind::new($group, $version, $plural, $kind);)*
    };
}

kinds! {
    PODS = "" "v1" "pods" "Pod";
    NODES = "" "v1" "nodes" "Node";
    EVENTS = "" "v1" "events" "Event";
    SERVICES = "" "v1" "services" "Service";
    ENDPOINTS = "" "v1" "endpoints" "Endpoints";
    NAMESPACES = "" "v1" "namespaces" "Namespace";
    SERVICE_ACCOUNTS = "" "v1" "serviceaccounts" "ServiceAccount";
    CONFIG_MAPS = "" "v1" "configmaps" "ConfigMap";
    SECRETS = "" "v1" "secrets" "Secret";
    RESOURCE_QUOTAS = "" "v1" "resourcequotas" "ResourceQuota";
    VOLUME_CLAIMS = "" "v1" "persistentvolumeclaims" "PersistentVolumeClaim";
    DEPLOYMENTS = "apps" "v1" "deployments" "Deployment";
    REPLICA_SETS = "apps" "v1" "replicasets" "ReplicaSet";
    STATEFUL_SETS = "apps" "v1" "statefulsets" "StatefulSet";
    DAEMON_SETS = "apps" "v1" "daemonsets" "DaemonSet";
    CONTROLLER_REVISIONS = "apps" "v1" "controllerrevisions" "ControllerRevision";
    JOBS = "batch" "v1" "jobs" "Job";
    CRON_JOBS = "batch" "v1" "cronjobs" "CronJob";
    ENDPOINT_SLICES = "discovery.k8s.io" "v1" "endpointslices" "EndpointSlice";
    DISRUPTION_BUDGETS = "policy" "v1" "poddisruptionbudgets" "PodDisruptionBudget";
    AUTOSCALERS = "autoscaling" "v2" "horizontalpodautoscalers" "HorizontalPodAutoscaler";
    DEFINITIONS = "apiextensions.k8s.io" "v1" "customresourcedefinitions" "CustomResourceDefinition";
}
