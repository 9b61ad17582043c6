//! How built-in kinds differ in what the generic verbs do: data, from each kind's strategy upstream.

use crate::resource::Resource;

/// What the generic verbs need to know of a kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traits {
    /// Whether an update without a resourceVersion is taken.
    pub(crate) unconditional_update: bool,
    /// Whether an update of a missing object creates it.
    pub(crate) create_on_update: bool,
    /// Whether a deletion answers the object instead of a Status.
    pub(crate) delete_answers_object: bool,
    /// Parts of the metadata whose change counts as a new generation.
    pub(crate) generation_metadata: &'static [&'static str],
}

/// Kinds that refuse an update without a resourceVersion.
const CONDITIONAL: &[&str] = &[
    "apiservices.apiregistration.k8s.io",
    "csidrivers.storage.k8s.io",
    "csinodes.storage.k8s.io",
    "csistoragecapacities.storage.k8s.io",
    "customresourcedefinitions.apiextensions.k8s.io",
    "flowschemas.flowcontrol.apiserver.k8s.io",
    "leases.coordination.k8s.io",
    "mutatingadmissionpolicies.admissionregistration.k8s.io",
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
    "mutatingwebhookconfigurations.admissionregistration.k8s.io",
    "poddisruptionbudgets.policy",
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
    "runtimeclasses.node.k8s.io",
    "validatingadmissionpolicies.admissionregistration.k8s.io",
    "validatingadmissionpolicybindings.admissionregistration.k8s.io",
    "validatingwebhookconfigurations.admissionregistration.k8s.io",
    "volumeattachments.storage.k8s.io",
];

/// Kinds that an update creates.
const CREATE_ON_UPDATE: &[&str] = &[
    "clusterrolebindings.rbac.authorization.k8s.io",
    "clusterroles.rbac.authorization.k8s.io",
    "endpoints",
    "events",
    "leases.coordination.k8s.io",
    "limitranges",
    "rolebindings.rbac.authorization.k8s.io",
    "roles.rbac.authorization.k8s.io",
    "services",
];

/// Kinds whose deletion answers the object.
const DELETE_ANSWERS_OBJECT: &[&str] = &[
    "namespaces",
    "persistentvolumeclaims",
    "persistentvolumes",
    "pods",
    "podtemplates",
    "resourcequotas",
    "serviceaccounts",
    "services",
];

/// Kinds whose generation follows parts of the metadata.
const GENERATION_METADATA: &[(&str, &[&str])] = &[
    ("deployments.apps", &["annotations"]),
    ("endpointslices.discovery.k8s.io", &["labels", "annotations"]),
];

impl Traits {
    /// The traits of a kind; custom resources have the strictest.
    pub(crate) fn of(resource: &Resource) -> Self {
        let name = &*resource.stored_under;
        let builtin = resource.custom.is_none();
        Self {
            unconditional_update: builtin && CONDITIONAL.binary_search(&name).is_err(),
            create_on_update: builtin && CREATE_ON_UPDATE.binary_search(&name).is_ok(),
            delete_answers_object: builtin && DELETE_ANSWERS_OBJECT.binary_search(&name).is_ok(),
            generation_metadata: GENERATION_METADATA
                .iter()
                .find(|(kind, _)| builtin && *kind == name)
                .map_or(&[], |(_, parts)| parts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_sorted() {
        assert!(
            [CONDITIONAL, CREATE_ON_UPDATE, DELETE_ANSWERS_OBJECT]
                .iter()
                .all(|table| table.is_sorted())
        );
    }
}
