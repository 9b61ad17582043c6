//! `use kubewright::prelude::*;` brings what nearly every operator names.
//!
//! The framework's traits, types and macros; `Arc` and `Duration`; the built-in kinds that operators own most, with
//! the types of their specs; the derives of serde and schemars. Names that clash with a crate's own are shadowed by
//! it, as with every glob import.

pub use std::sync::Arc;
pub use std::time::Duration;

pub use k8s_openapi::api::apps::v1::{
    DaemonSet, DaemonSetSpec, Deployment, DeploymentSpec, DeploymentStatus, ReplicaSet, StatefulSet, StatefulSetSpec,
};
pub use k8s_openapi::api::autoscaling::v2::{HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec};
pub use k8s_openapi::api::batch::v1::{CronJob, CronJobSpec, Job, JobSpec, JobTemplateSpec};
pub use k8s_openapi::api::core::v1::{
    ConfigMap, ConfigMapVolumeSource, Container, ContainerPort, EnvFromSource, EnvVar, EnvVarSource, HTTPGetAction,
    Namespace, Node, PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimSpec, Pod, PodSpec, PodTemplateSpec,
    Probe, ResourceRequirements, Secret, SecretVolumeSource, Service, ServiceAccount, ServicePort, ServiceSpec, Volume,
    VolumeMount,
};
pub use k8s_openapi::api::networking::v1::{
    HTTPIngressPath, HTTPIngressRuleValue, Ingress, IngressBackend, IngressRule, IngressServiceBackend, IngressSpec,
    NetworkPolicy, NetworkPolicySpec, ServiceBackendPort,
};
pub use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
pub use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
pub use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector, ObjectMeta, OwnerReference, Time};
pub use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
pub use kube::core::PartialObjectMeta;
pub use kube::{Resource, ResourceExt};
pub use schemars::JsonSchema;
pub use serde::{Deserialize, Serialize};

pub use kubewright_macros::{CustomResource, KubeSchema, StatusConditions, controller, webhooks};

pub use crate::conditions::{ConditionStatus, Conditions, StatusConditions};
pub use crate::context::{Context, Patch, Query};
pub use crate::declaration::Declaration;
pub use crate::error::{Error, Result};
pub use crate::events::EventType;
pub use crate::grants::{Declare, Finalized, Owns, Reads, Updates, Writes};
pub use crate::key::ObjectKey;
pub use crate::manager::Manager;
pub use crate::object::Object;
pub use crate::predicate::Predicate;
pub use crate::reconciler::{Action, Cleanup, Reconciler};
