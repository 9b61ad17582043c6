//! Which type is whose status, and whether a kind has one.

use std::fmt;

use kube::core::object::HasStatus;
use serde::de::{DeserializeOwned, Deserializer, Visitor};

/// A type that is the status of kind `P`.
///
/// Custom kinds name their status in `#[kube(status = "…")]`; for the built-in ones there is a table. `M` tells the
/// two apart; leave it to inference.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the status of `{P}`",
    label = "not the type that `{P}` has as its status",
    note = "a custom kind names its status type in `#[kube(status = \"…\")]`; kinds without a status have none to apply"
)]
pub trait StatusOf<P, M> {}

/// Marks the status of a custom kind.
#[derive(Debug)]
pub struct OfCustom;

/// Marks the status of a built-in kind.
#[derive(Debug)]
pub struct OfBuiltIn;

#[diagnostic::do_not_recommend]
impl<P, S> StatusOf<P, OfCustom> for S
where
    P: HasStatus,
    S: Same<P::Status>,
{
}

#[diagnostic::do_not_recommend]
impl<P, S: BuiltInStatusOf<P>> StatusOf<P, OfBuiltIn> for S {}

/// Two names of one type. As a bound, unlike an associated type that must be equal, it leaves the message to us.
pub trait Same<T> {}

impl<T> Same<T> for T {}

/// The table of built-in kinds.
pub trait BuiltInStatusOf<P> {}

macro_rules! built_in {
    ($($group:ident::$version:ident: $($kind:ident $status:ident),*;)*) => {
        $($(
            impl BuiltInStatusOf<k8s_openapi::api::$group::$version::$kind>
                for k8s_openapi::api::$group::$version::$status
            {
            }
        )*)*
    };
}

built_in! {
    admissionregistration::v1: ValidatingAdmissionPolicy ValidatingAdmissionPolicyStatus;
    apps::v1:
        DaemonSet DaemonSetStatus,
        Deployment DeploymentStatus,
        ReplicaSet ReplicaSetStatus,
        StatefulSet StatefulSetStatus;
    autoscaling::v1: HorizontalPodAutoscaler HorizontalPodAutoscalerStatus;
    autoscaling::v2: HorizontalPodAutoscaler HorizontalPodAutoscalerStatus;
    batch::v1: CronJob CronJobStatus, Job JobStatus;
    certificates::v1: CertificateSigningRequest CertificateSigningRequestStatus;
    core::v1:
        Namespace NamespaceStatus,
        Node NodeStatus,
        PersistentVolume PersistentVolumeStatus,
        PersistentVolumeClaim PersistentVolumeClaimStatus,
        Pod PodStatus,
        ReplicationController ReplicationControllerStatus,
        ResourceQuota ResourceQuotaStatus,
        Service ServiceStatus;
    flowcontrol::v1: FlowSchema FlowSchemaStatus, PriorityLevelConfiguration PriorityLevelConfigurationStatus;
    networking::v1: Ingress IngressStatus, ServiceCIDR ServiceCIDRStatus;
    policy::v1: PodDisruptionBudget PodDisruptionBudgetStatus;
}

impl BuiltInStatusOf<k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition>
    for k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinitionStatus
{
}

impl BuiltInStatusOf<k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService>
    for k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIServiceStatus
{
}

/// Whether objects of `K` have a status, told from the fields that its `Deserialize` asks for.
///
/// A type that does not deserialize as a struct (such as one with flattened fields) does not tell: then yes, since a
/// permission too many is better than a refused write.
#[must_use]
pub fn has_status<K: DeserializeOwned>() -> bool {
    match K::deserialize(FieldProbe) {
        Err(Probed(Some(fields))) => fields.contains(&"status"),
        _ => true,
    }
}

/// Answers `deserialize_struct` with the names of the fields asked for, as an error.
struct FieldProbe;

#[derive(Debug)]
struct Probed(Option<&'static [&'static str]>);

impl fmt::Display for Probed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("only the names of the fields were asked for")
    }
}

impl std::error::Error for Probed {}

impl serde::de::Error for Probed {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self(None)
    }
}

impl<'de> Deserializer<'de> for FieldProbe {
    type Error = Probed;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Probed> {
        Err(Probed(None))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Probed> {
        Err(Probed(Some(fields)))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::Deployment;
    use k8s_openapi::api::core::v1::ConfigMap;

    #[test]
    fn a_kind_is_known_to_have_a_status_or_not() {
        assert!(super::has_status::<Deployment>());
        assert!(!super::has_status::<ConfigMap>());
    }
}
