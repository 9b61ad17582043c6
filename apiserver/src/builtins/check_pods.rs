//! What pods and their templates must be.

use std::collections::BTreeSet;

use serde_json::Value;

use super::checks::At;
use super::checks::Check::{self, AtLeast, Below, Named, NotNegative, OneOf, Port, Required, With};
use super::names;
use crate::error::Cause;
use crate::schema::quantity::Quantity;

const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];

pub(super) const TABLE: &[(&str, &[Check])] = &[
    ("Pod", &[Below("spec")]),
    ("PodTemplateSpec", &[With(template_metadata), Below("spec")]),
    (
        "PodSpec",
        &[
            With(volumes),
            With(containers),
            With(init_containers),
            OneOf("restartPolicy", &["Always", "OnFailure", "Never"]),
            OneOf(
                "dnsPolicy",
                &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"],
            ),
            AtLeast("activeDeadlineSeconds", 1),
            Named("serviceAccountName", names::subdomain),
            Named("hostname", names::label),
            Named("subdomain", names::label),
            Named("priorityClassName", names::subdomain),
            Below("tolerations"),
            With(topology),
        ],
    ),
    ("Container", CONTAINER),
    ("EphemeralContainer", CONTAINER),
    ("ContainerPort", &[]),
    ("EnvVar", &[With(env_name), With(env_source)]),
    (
        "Probe",
        &[
            With(probe_handler),
            AtLeast("initialDelaySeconds", 0),
            AtLeast("timeoutSeconds", 0),
            AtLeast("periodSeconds", 0),
            AtLeast("successThreshold", 0),
            AtLeast("failureThreshold", 0),
        ],
    ),
    (
        "HTTPGetAction",
        &[Required("path"), Port("port"), OneOf("scheme", &["HTTP", "HTTPS"])],
    ),
    ("TCPSocketAction", &[Port("port")]),
    ("GRPCAction", &[Port("port")]),
    ("ExecAction", &[Required("command")]),
    ("ResourceRequirements", &[With(resources)]),
    (
        "Toleration",
        &[
            With(toleration),
            OneOf("effect", &["NoSchedule", "PreferNoSchedule", "NoExecute"]),
        ],
    ),
    ("Overhead", &[NotNegative("overhead")]),
];

const CONTAINER: &[Check] = &[
    With(ports),
    Below("env"),
    With(mounts),
    With(probes),
    OneOf("terminationMessagePolicy", &["File", "FallbackToLogsOnError"]),
    OneOf("imagePullPolicy", &["Always", "IfNotPresent", "Never"]),
    Below("resources"),
];

fn template_metadata(at: &At<'_>, causes: &mut Vec<Cause>) {
    causes.extend(super::metadata::labels(
        &at.field("metadata.labels"),
        at.get("metadata.labels"),
    ));
    causes.extend(super::metadata::annotations(
        &at.field("metadata.annotations"),
        at.get("metadata.annotations"),
    ));
}

fn volumes(at: &At<'_>, causes: &mut Vec<Cause>) {
    let mut seen = BTreeSet::new();
    for (index, volume) in at.list("volumes").iter().enumerate() {
        let path = at.field(&format!("volumes[{index}]"));
        let mut sources = volume
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(key, _)| *key != "name");
        sources.next();
        for (key, _) in sources {
            causes.push(Cause::forbidden(
                format!("{path}.{key}"),
                "may not specify more than 1 volume type",
            ));
        }
        let projected = volume["projected"]["sources"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate();
        for (source, _) in projected.filter(|(_, s)| s.get("serviceAccountToken").is_some()) {
            if at.text("serviceAccountName").is_empty() && at.root["kind"] == "Pod" {
                let why = "must not be specified when serviceAccountName is not set";
                causes.push(Cause::forbidden(
                    format!("{path}.projected.sources[{source}].serviceAccountToken"),
                    why,
                ));
            }
        }
        let name = volume["name"].as_str().unwrap_or_default();
        if name.is_empty() {
            causes.push(Cause::required(format!("{path}.name"), ""));
            continue;
        }
        let faults = names::label(name);
        causes.extend(
            faults
                .iter()
                .map(|why| Cause::invalid(format!("{path}.name"), &name.into(), why)),
        );
        if !seen.insert(name) {
            causes.push(Cause::duplicate(format!("{path}.name"), &name.into()));
        }
    }
}

fn containers(at: &At<'_>, causes: &mut Vec<Cause>) {
    if at.list("containers").is_empty() {
        causes.push(Cause::required(at.field("containers"), ""));
        return;
    }
    names_and_images(at, "containers", &BTreeSet::new(), causes);
    at.below("containers", causes);
    host_ports(at, causes);
    for (index, container) in at.list("containers").iter().enumerate() {
        let image = container["image"].as_str().unwrap_or_default();
        if image.trim() != image {
            let path = at.field(&format!("containers[{index}].image"));
            causes.push(Cause::invalid(
                path,
                &image.into(),
                "must not have leading or trailing whitespace",
            ));
        }
    }
}

fn init_containers(at: &At<'_>, causes: &mut Vec<Cause>) {
    let taken: BTreeSet<&str> = at
        .list("containers")
        .iter()
        .filter_map(|c| c["name"].as_str())
        .collect();
    names_and_images(at, "initContainers", &taken, causes);
    at.below("initContainers", causes);
}

fn names_and_images(at: &At<'_>, list: &str, taken: &BTreeSet<&str>, causes: &mut Vec<Cause>) {
    let mut seen = BTreeSet::new();
    for (index, container) in at.list(list).iter().enumerate() {
        let path = at.field(&format!("{list}[{index}]"));
        let name = container["name"].as_str().unwrap_or_default();
        if name.is_empty() {
            causes.push(Cause::required(format!("{path}.name"), ""));
        } else {
            let faults = names::label(name);
            causes.extend(
                faults
                    .iter()
                    .map(|why| Cause::invalid(format!("{path}.name"), &name.into(), why)),
            );
            if !seen.insert(name) || taken.contains(name) {
                causes.push(Cause::duplicate(format!("{path}.name"), &name.into()));
            }
        }
        if container["image"].as_str().unwrap_or_default().is_empty() {
            causes.push(Cause::required(format!("{path}.image"), ""));
        }
    }
}

/// No two containers of a pod use one port of the host.
fn host_ports(at: &At<'_>, causes: &mut Vec<Cause>) {
    let mut seen = BTreeSet::new();
    for (index, container) in at.list("containers").iter().enumerate() {
        for (number, port) in container["ports"].as_array().into_iter().flatten().enumerate() {
            let Some(host) = port["hostPort"].as_i64().filter(|p| *p != 0) else {
                continue;
            };
            let address = port["hostIP"].as_str().unwrap_or_default();
            let used = format!("{}/{address}/{host}", port["protocol"].as_str().unwrap_or_default());
            if !seen.insert(used.clone()) {
                let path = at.field(&format!("containers[{index}].ports[{number}].hostPort"));
                causes.push(Cause::duplicate(path, &used.into()));
            }
        }
    }
}

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
            let known = ["spec.", "status.", "metadata."].iter().any(|p| field.starts_with(p))
                && super::check_pods::is_label(field);
            if known {
                causes.push(Cause::unsupported(at_path, &field.into(), ENV_FIELDS));
            } else {
                let why = format!("error converting fieldPath: field label not supported: {field}");
                causes.push(Cause::invalid(at_path, &field.into(), why));
            }
        }
    }
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
pub(super) fn is_label(field: &str) -> bool {
    matches!(
        field,
        "spec.restartPolicy" | "spec.schedulerName" | "status.phase" | "status.nominatedNodeName"
    )
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
    }
}

fn value_at<'v>(root: &'v Value, path: &str) -> &'v Value {
    path.split('.')
        .filter(|step| !step.is_empty())
        .fold(root, |value, step| &value[step])
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
    }
}

fn probe_handler(at: &At<'_>, causes: &mut Vec<Cause>) {
    let handlers = ["exec", "httpGet", "tcpSocket", "grpc"];
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

/// Resources that containers may ask for without a domain.
const STANDARD: &[&str] = &["cpu", "memory", "ephemeral-storage"];

fn resources(at: &At<'_>, causes: &mut Vec<Cause>) {
    for kind in ["limits", "requests"] {
        for (name, amount) in at.get(kind).as_object().into_iter().flatten() {
            let path = at.field(&format!("{kind}[{name}]"));
            causes.extend(container_resource(name, &path));
            causes.extend(super::checks::not_negative(amount, &path));
            if kind == "requests" {
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

fn toleration(at: &At<'_>, causes: &mut Vec<Cause>) {
    let (key, operator) = (at.text("key"), at.text("operator"));
    if !key.is_empty() {
        let faults = names::qualified(key);
        causes.extend(
            faults
                .iter()
                .map(|why| Cause::invalid(at.field("key"), &key.into(), why)),
        );
    } else if operator != "Exists" {
        let why = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        causes.push(Cause::invalid(at.field("operator"), &operator.into(), why));
    }
    if at.get("tolerationSeconds").is_number() && at.text("effect") != "NoExecute" {
        let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        causes.push(Cause::invalid(at.field("effect"), &at.text("effect").into(), why));
    }
    match operator {
        "" | "Equal" => {
            let value = at.text("value");
            let faults = names::label_value(value);
            causes.extend(
                faults
                    .iter()
                    .map(|why| Cause::invalid(at.field("operator"), &value.into(), why)),
            );
        }
        "Exists" => {
            if !at.text("value").is_empty() {
                let why = "value must be empty when `operator` is 'Exists'";
                causes.push(Cause::invalid(at.field("operator"), at.get("value"), why));
            }
        }
        _ => causes.push(Cause::unsupported(
            at.field("operator"),
            at.get("operator"),
            &["Equal", "Exists"],
        )),
    }
}

fn topology(at: &At<'_>, causes: &mut Vec<Cause>) {
    for (index, constraint) in at.list("topologySpreadConstraints").iter().enumerate() {
        let path = at.field(&format!("topologySpreadConstraints[{index}]"));
        if constraint["maxSkew"].as_i64().unwrap_or(0) <= 0 {
            causes.push(Cause::invalid(
                format!("{path}.maxSkew"),
                &constraint["maxSkew"],
                "must be greater than zero",
            ));
        }
        if constraint["topologyKey"].as_str().unwrap_or_default().is_empty() {
            causes.push(Cause::required(format!("{path}.topologyKey"), "can not be empty"));
        }
        let allowed = ["DoNotSchedule", "ScheduleAnyway"];
        let given = constraint["whenUnsatisfiable"].as_str().unwrap_or_default();
        if !allowed.contains(&given) {
            causes.push(Cause::unsupported(
                format!("{path}.whenUnsatisfiable"),
                &given.into(),
                &allowed,
            ));
        }
    }
}

/// What the server warns of in a pod or template at `path` (`spec` or `spec.template.spec`).
pub(super) fn warnings(spec: &Value, path: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    for (key, instead) in [
        ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
        ("beta.kubernetes.io/os", "kubernetes.io/os"),
    ] {
        if spec["nodeSelector"].get(key).is_some() {
            warnings.push(format!(
                "{path}.nodeSelector[{key}]: deprecated since v1.14; use {instead:?} instead"
            ));
        }
    }
    for list in ["initContainers", "containers"] {
        for (index, container) in spec[list].as_array().into_iter().flatten().enumerate() {
            let at = format!("{path}.{list}[{index}]");
            let mut seen: Vec<&Value> = Vec::new();
            for (number, env) in container["env"].as_array().into_iter().flatten().enumerate() {
                if seen.contains(&&env["name"]) {
                    let name = &env["name"];
                    warnings.push(format!(
                        "{at}.env[{number}]: hides previous definition of {name}, which may be dropped when using apply"
                    ));
                }
                seen.push(&env["name"]);
            }
            let ports = container["ports"].as_array().map_or(&[][..], Vec::as_slice);
            for (number, port) in ports.iter().enumerate() {
                let same = |other: &&Value| {
                    ["containerPort", "protocol", "hostPort", "hostIP"]
                        .iter()
                        .all(|f| other[*f] == port[*f])
                };
                if let Some(first) = ports[..number].iter().position(|other| same(&other)) {
                    warnings.push(format!(
                        "{at}.ports[{number}]: duplicate port definition with {at}.ports[{first}]"
                    ));
                }
            }
        }
    }
    warnings
}
