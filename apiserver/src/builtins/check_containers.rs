//! What containers must be: ports, variables, mounts, probes, resources.

use std::collections::BTreeSet;

use serde_json::Value;

use super::checks::At;
use super::checks::Check::{self, AtLeast, Below, Named, OneOf, Port, Positive, Required, With};
use super::names;
use crate::error::Cause;
use crate::schema::quantity::Quantity;

const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];

pub(super) const TABLE: &[(&str, &[Check])] = &[
    ("Container", CONTAINER),
    ("EphemeralContainer", CONTAINER),
    ("EnvVar", &[With(env_name), With(env_source)]),
    ("EnvFromSource", &[With(env_prefix), With(env_origin)]),
    (
        "Probe",
        &[
            With(probe_handler),
            AtLeast("initialDelaySeconds", 0),
            AtLeast("timeoutSeconds", 0),
            AtLeast("periodSeconds", 0),
            AtLeast("successThreshold", 0),
            AtLeast("failureThreshold", 0),
            Positive("terminationGracePeriodSeconds"),
        ],
    ),
    ("Lifecycle", &[Below("postStart"), Below("preStop")]),
    ("LifecycleHandler", &[With(lifecycle_handler)]),
    (
        "HTTPGetAction",
        &[
            Required("path"),
            Port("port"),
            OneOf("scheme", &["HTTP", "HTTPS"]),
            Below("httpHeaders"),
        ],
    ),
    ("HTTPHeader", &[With(header_name)]),
    ("TCPSocketAction", &[Port("port")]),
    ("GRPCAction", &[Port("port")]),
    ("ExecAction", &[Required("command")]),
    ("ResourceRequirements", &[With(resources)]),
    (
        "SecurityContext",
        &[
            With(user_and_group),
            OneOf("procMount", &["Default", "Unmasked"]),
            Below("seccompProfile"),
            With(no_escalation),
        ],
    ),
    ("SeccompProfile", &[With(seccomp)]),
    ("ResourceFieldSelector", &[Required("resource"), With(resource_field)]),
    (
        "ConfigMapKeySelector",
        &[Required("name"), Required("key"), Named("key", names::config_key)],
    ),
    (
        "SecretKeySelector",
        &[Required("name"), Required("key"), Named("key", names::config_key)],
    ),
    ("ConfigMapEnvSource", &[Required("name")]),
    ("SecretEnvSource", &[Required("name")]),
];

const CONTAINER: &[Check] = &[
    With(ports),
    Below("env"),
    Below("envFrom"),
    With(mounts),
    With(devices),
    Below("lifecycle"),
    With(probes),
    OneOf("terminationMessagePolicy", &["File", "FallbackToLogsOnError"]),
    OneOf("imagePullPolicy", &["Always", "IfNotPresent", "Never"]),
    Below("resources"),
    Below("securityContext"),
];

fn ports(at: &At<'_>, causes: &mut Vec<Cause>) {
    let mut seen = BTreeSet::new();
    for (index, port) in at.list("ports").iter().enumerate() {
        let path = at.field(&format!("ports[{index}]"));
        let name = port["name"].as_str().unwrap_or_default();
        if !name.is_empty() {
            let faults = names::port_name(name);
            if faults.is_empty() && !seen.insert(name) {
                causes.push(Cause::duplicate(format!("{path}.name"), &name.into()));
            }
            causes.extend(
                faults
                    .iter()
                    .map(|why| Cause::invalid(format!("{path}.name"), &name.into(), why)),
            );
        }
        match port["containerPort"].as_i64() {
            None | Some(0) => causes.push(Cause::required(format!("{path}.containerPort"), "")),
            Some(_) => causes.extend(super::checks::port(
                &port["containerPort"],
                &format!("{path}.containerPort"),
            )),
        }
        if port["hostPort"].as_i64().is_some_and(|p| p != 0) {
            causes.extend(super::checks::port(&port["hostPort"], &format!("{path}.hostPort")));
        }
        let protocol = port["protocol"].as_str().unwrap_or_default();
        if protocol.is_empty() {
            causes.push(Cause::required(format!("{path}.protocol"), ""));
        } else if !PROTOCOLS.contains(&protocol) {
            causes.push(Cause::unsupported(
                format!("{path}.protocol"),
                &port["protocol"],
                PROTOCOLS,
            ));
        }
    }
}

fn env_name(at: &At<'_>, causes: &mut Vec<Cause>) {
    let name = at.text("name");
    if name.is_empty() {
        causes.push(Cause::required(at.field("name"), ""));
    } else if !name.bytes().all(|b| (0x20..0x7f).contains(&b) && b != b'=') {
        let why = "a valid environment variable name must consist only of printable ASCII characters other than '='";
        causes.push(Cause::invalid(at.field("name"), &name.into(), why));
    }
}

const ENV_NAME: &str =
    "a valid environment variable name must consist only of printable ASCII characters other than '='";

fn env_prefix(at: &At<'_>, causes: &mut Vec<Cause>) {
    let prefix = at.text("prefix");
    if !prefix.bytes().all(|b| (0x20..0x7f).contains(&b) && b != b'=') {
        causes.push(Cause::invalid(at.field("prefix"), &prefix.into(), ENV_NAME));
    }
}

fn env_origin(at: &At<'_>, causes: &mut Vec<Cause>) {
    at.below("configMapRef", causes);
    at.below("secretRef", causes);
    let origins = ["configMapRef", "secretRef"];
    let why = match origins.iter().filter(|from| at.map.contains_key(**from)).count() {
        0 => "must specify one of: `configMapRef` or `secretRef`",
        1 => return,
        _ => "may not have more than one field specified at a time",
    };
    causes.push(Cause::invalid(at.path, &"".into(), why));
}

/// The fields of a pod that an environment variable may show.
const ENV_FIELDS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

fn env_source(at: &At<'_>, causes: &mut Vec<Cause>) {
    let Some(source) = at.get("valueFrom").as_object() else {
        return;
    };
    let path = at.field("valueFrom");
    let kinds = source.keys().count();
    if kinds == 0 {
        let why =
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
        causes.push(Cause::invalid(path, &"".into(), why));
        return;
    }
    let field = at.text("valueFrom.fieldRef.fieldPath");
    if source.contains_key("fieldRef") {
        let at_path = format!("{path}.fieldRef.fieldPath");
        let of_metadata = ["metadata.labels[", "metadata.annotations["]
            .iter()
            .any(|p| field.starts_with(p));
        if field.is_empty() {
            causes.push(Cause::required(at_path, ""));
        } else if !of_metadata && !ENV_FIELDS.contains(&field) {
            let known = ["spec.", "status.", "metadata."].iter().any(|p| field.starts_with(p)) && is_label(field);
            if known {
                causes.push(Cause::unsupported(at_path, &field.into(), ENV_FIELDS));
            } else {
                let why = format!("error converting fieldPath: field label not supported: {field}");
                causes.push(Cause::invalid(at_path, &field.into(), why));
            }
        }
    }
    at.below_in(
        "valueFrom",
        &["resourceFieldRef", "configMapKeyRef", "secretKeyRef"],
        causes,
    );
    if !at.text("value").is_empty() {
        causes.push(Cause::invalid(
            path,
            &"".into(),
            "may not be specified when `value` is not empty",
        ));
    } else if kinds > 1 {
        causes.push(Cause::invalid(
            path,
            &"".into(),
            "may not have more than one field specified at a time",
        ));
    }
}

/// Labels by which pods can be selected that are no source of a variable.
fn is_label(field: &str) -> bool {
    matches!(
        field,
        "spec.restartPolicy" | "spec.schedulerName" | "status.phase" | "status.nominatedNodeName"
    )
}

/// Resources of a container that a variable or file may show.
const RESOURCE_FIELDS: &[&str] = &[
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

fn resource_field(at: &At<'_>, causes: &mut Vec<Cause>) {
    let given = at.text("resource");
    let huge = ["limits.hugepages-", "requests.hugepages-"];
    if !given.is_empty() && !RESOURCE_FIELDS.contains(&given) && !huge.iter().any(|p| given.starts_with(p)) {
        causes.push(Cause::unsupported(
            at.field("resource"),
            at.get("resource"),
            RESOURCE_FIELDS,
        ));
    }
}

fn mounts(at: &At<'_>, causes: &mut Vec<Cause>) {
    // Pods have their spec at the root, templates somewhere below: the volumes are those next to the containers.
    let spec_path = at.path.rsplit_once('.').map_or("", |(spec, _)| spec);
    let spec = value_at(at.root, spec_path);
    let volumes: Vec<&str> = spec["volumes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|v| v["name"].as_str())
        .collect();
    // A StatefulSet's claims are volumes, too.
    let claims = at.root["spec"]["volumeClaimTemplates"].as_array().into_iter().flatten();
    let claims: Vec<&str> = claims.filter_map(|c| c["metadata"]["name"].as_str()).collect();
    let mut seen = BTreeSet::new();
    for (index, mount) in at.list("volumeMounts").iter().enumerate() {
        let path = at.field(&format!("volumeMounts[{index}]"));
        let name = mount["name"].as_str().unwrap_or_default();
        if name.is_empty() {
            causes.push(Cause::required(format!("{path}.name"), ""));
        } else if !volumes.contains(&name) && !claims.contains(&name) {
            causes.push(Cause {
                reason: "FieldValueNotFound",
                message: format!("Not found: {name:?}"),
                field: format!("{path}.name"),
            });
        }
        let mount_path = mount["mountPath"].as_str().unwrap_or_default();
        if mount_path.is_empty() {
            causes.push(Cause::required(format!("{path}.mountPath"), ""));
        }
        if !seen.insert(mount_path) {
            causes.push(Cause::invalid(
                format!("{path}.mountPath"),
                &mount_path.into(),
                "must be unique",
            ));
        }
        sub_paths(mount, &path, causes);
        propagation(at, mount, &path, causes);
    }
}

fn value_at<'v>(root: &'v Value, path: &str) -> &'v Value {
    path.split('.')
        .filter(|step| !step.is_empty())
        .fold(root, |value, step| &value[step])
}

fn sub_paths(mount: &Value, path: &str, causes: &mut Vec<Cause>) {
    let given = |field: &str| mount[field].as_str().filter(|p| !p.is_empty());
    if let Some(sub_path) = given("subPath") {
        causes.extend(descending(sub_path, &format!("{path}.subPath")));
    }
    if let Some(expression) = given("subPathExpr") {
        let field = format!("{path}.subPathExpr");
        if given("subPath").is_some() {
            let why = "subPathExpr and subPath are mutually exclusive";
            causes.push(Cause::invalid(field.as_str(), &expression.into(), why));
        }
        causes.extend(descending(expression, &field));
    }
}

fn propagation(at: &At<'_>, mount: &Value, path: &str, causes: &mut Vec<Cause>) {
    let field = format!("{path}.mountPropagation");
    match mount["mountPropagation"].as_str() {
        None | Some("None" | "HostToContainer") => {}
        Some("Bidirectional") => {
            if at.get("securityContext.privileged") != &Value::Bool(true) {
                let why = "Bidirectional mount propagation is available only to privileged containers";
                causes.push(Cause::forbidden(field, why));
            }
        }
        Some(_) => {
            let allowed = ["Bidirectional", "HostToContainer", "None"];
            causes.push(Cause::unsupported(field, &mount["mountPropagation"], &allowed));
        }
    }
}

/// A path below a volume's root.
pub(super) fn descending(path: &str, field: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    if path.starts_with('/') {
        causes.push(Cause::invalid(field, &path.into(), "must be a relative path"));
    }
    causes.extend(no_backsteps(path, field));
    causes
}

/// A path that does not go up.
pub(super) fn no_backsteps(path: &str, field: &str) -> Option<Cause> {
    let up = path.split('/').any(|step| step == "..");
    up.then(|| Cause::invalid(field, &path.into(), "must not contain '..'"))
}

fn devices(at: &At<'_>, causes: &mut Vec<Cause>) {
    let mut seen = BTreeSet::new();
    for (index, device) in at.list("volumeDevices").iter().enumerate() {
        let path = at.field(&format!("volumeDevices[{index}]"));
        if device["name"].as_str().unwrap_or_default().is_empty() {
            causes.push(Cause::required(format!("{path}.name"), ""));
        }
        let device_path = device["devicePath"].as_str().unwrap_or_default();
        let field = format!("{path}.devicePath");
        if device_path.is_empty() {
            causes.push(Cause::required(field.as_str(), ""));
        } else if !seen.insert(device_path) {
            causes.push(Cause::invalid(field.as_str(), &device_path.into(), "must be unique"));
        }
        causes.extend(no_backsteps(device_path, &field));
    }
}

fn probes(at: &At<'_>, causes: &mut Vec<Cause>) {
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        at.below(probe, causes);
        let success = at.get(&format!("{probe}.successThreshold"));
        if probe != "readinessProbe" && success.as_i64().is_some_and(|n| n != 1) {
            causes.push(Cause::invalid(
                at.field(&format!("{probe}.successThreshold")),
                success,
                "must be 1",
            ));
        }
        let grace = at.get(&format!("{probe}.terminationGracePeriodSeconds"));
        if probe == "readinessProbe" && !grace.is_null() {
            let path = at.field(&format!("{probe}.terminationGracePeriodSeconds"));
            causes.push(Cause::invalid(path, grace, "must not be set for readinessProbes"));
        }
    }
}

fn probe_handler(at: &At<'_>, causes: &mut Vec<Cause>) {
    handler(at, &["exec", "httpGet", "tcpSocket", "grpc"], causes);
}

fn lifecycle_handler(at: &At<'_>, causes: &mut Vec<Cause>) {
    handler(at, &["exec", "httpGet", "tcpSocket", "sleep"], causes);
}

/// Exactly one way to act.
fn handler(at: &At<'_>, handlers: &[&str], causes: &mut Vec<Cause>) {
    let mut given = handlers.iter().filter(|handler| at.map.contains_key(**handler));
    match given.next() {
        None => causes.push(Cause::required(at.path, "must specify a handler type")),
        Some(handler) => at.below(handler, causes),
    }
    for extra in given {
        causes.push(Cause::forbidden(
            at.field(extra),
            "may not specify more than 1 handler type",
        ));
    }
}

fn header_name(at: &At<'_>, causes: &mut Vec<Cause>) {
    let name = at.text("name");
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
        let why = "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')";
        causes.push(Cause::invalid(at.field("name"), &name.into(), why));
    }
}

/// Numbers of users and groups.
pub(super) fn user_and_group(at: &At<'_>, causes: &mut Vec<Cause>) {
    for field in ["fsGroup", "runAsUser", "runAsGroup"] {
        causes.extend(id(at.get(field), at.field(field)));
    }
}

/// A number of a user or group.
pub(super) fn id(value: &Value, field: String) -> Option<Cause> {
    let bad = value
        .as_i64()
        .is_some_and(|id| !(0..=i64::from(i32::MAX)).contains(&id));
    bad.then(|| Cause::invalid(field, value, "must be between 0 and 2147483647, inclusive"))
}

fn no_escalation(at: &At<'_>, causes: &mut Vec<Cause>) {
    if at.get("allowPrivilegeEscalation") != &Value::Bool(false) {
        return;
    }
    let own = Value::Object(at.map.clone());
    if at.get("privileged") == &Value::Bool(true) {
        let why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
        causes.push(Cause::invalid(at.path, &own, why));
    }
    if at.list("capabilities.add").iter().any(|added| added == "CAP_SYS_ADMIN") {
        let why = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
        causes.push(Cause::invalid(at.path, &own, why));
    }
}

fn seccomp(at: &At<'_>, causes: &mut Vec<Cause>) {
    let profile = at.get("localhostProfile");
    let field = at.field("localhostProfile");
    match at.text("type") {
        "" => causes.push(Cause::required(
            at.field("type"),
            "type is required when seccompProfile is set",
        )),
        "Localhost" => match profile.as_str() {
            None => causes.push(Cause::required(field, "must be set when seccomp type is Localhost")),
            Some(path) => causes.extend(descending(path, &field)),
        },
        "RuntimeDefault" | "Unconfined" => {
            if !profile.is_null() {
                let why = "can only be set when seccomp type is Localhost";
                causes.push(Cause::invalid(field, profile, why));
            }
        }
        _ => {
            let allowed = ["Localhost", "RuntimeDefault", "Unconfined"];
            causes.push(Cause::unsupported(at.field("type"), at.get("type"), &allowed));
        }
    }
}

/// A resource of a device: whole numbers, and no more than is set apart.
fn extended(at: &At<'_>, kind: &str, name: &str, amount: &Value, causes: &mut Vec<Cause>) {
    if amount.as_str().and_then(Quantity::parse).is_some_and(|q| !q.is_whole()) {
        let path = at.field(&format!("{kind}[{name}]"));
        causes.push(Cause::invalid(path, amount, "must be an integer"));
    }
    if kind != "requests" {
        return;
    }
    let limit = &at.get("limits")[name];
    match limit.as_str() {
        None => causes.push(Cause::required(
            at.field("limits"),
            "Limit must be set for non overcommitable resources",
        )),
        Some(most) if limit != amount => {
            let why = format!("must be equal to {name} limit of {most}");
            causes.push(Cause::invalid(at.field("requests"), amount, why));
        }
        Some(_) => {}
    }
}

/// Resources that containers may ask for without a domain.
const STANDARD: &[&str] = &["cpu", "memory", "ephemeral-storage"];

fn resources(at: &At<'_>, causes: &mut Vec<Cause>) {
    for kind in ["limits", "requests"] {
        for (name, amount) in at.get(kind).as_object().into_iter().flatten() {
            let path = at.field(&format!("{kind}[{name}]"));
            causes.extend(container_resource(name, &path));
            causes.extend(super::checks::not_negative(amount, &path));
            if name.contains('/') && !name.contains("kubernetes.io/") {
                extended(at, kind, name, amount, causes);
            } else if kind == "requests" {
                let parse = |v: &Value| v.as_str().and_then(Quantity::parse);
                let limit = &at.get("limits")[name.as_str()];
                if let (Some(request), Some(most)) = (parse(amount), parse(limit))
                    && request.compare(most).is_gt()
                {
                    let shown = limit.as_str().unwrap_or_default();
                    let why = format!("must be less than or equal to {name} limit of {shown}");
                    causes.push(Cause::invalid(at.field("requests"), amount, why));
                }
            }
        }
    }
}

fn container_resource(name: &str, path: &str) -> Vec<Cause> {
    let faults = names::qualified(name);
    if !faults.is_empty() {
        return faults
            .iter()
            .map(|why| Cause::invalid(path, &name.into(), why))
            .collect();
    }
    if name.contains('/') || STANDARD.contains(&name) || name.starts_with("hugepages-") {
        return Vec::new();
    }
    [
        "must be a standard resource type or fully qualified",
        "must be a standard resource for containers",
    ]
    .map(|why| Cause::invalid(path, &name.into(), why))
    .to_vec()
}
