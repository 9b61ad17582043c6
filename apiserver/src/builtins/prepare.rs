//! What the server does to an object of a built-in kind before it stores it: what the client may not set is cleared or
//! put back, what the server allocates is allocated.

use serde_json::{Map, Value, json};

use super::defaults::{self, TEMPLATE_GENERATION};
use super::rules::{find, set};
use crate::access::User;
use crate::clock::Clock;
use crate::resource::Resource;

/// Makes a new object ready for storage: the status is reset, addresses and selectors are made, who asks is noted.
pub fn prepare_create(resource: &Resource, object: &mut Value, clock: &Clock, user: &User) {
    if resets_status(resource) {
        if let Some(map) = object.as_object_mut() {
            map.remove("status");
        }
        // Fills in what an empty status is written as.
        let _ = resource.schema.decode_builtin(object);
    }
    match (&*resource.group, &*resource.kind) {
        ("", "Pod") => {
            object["status"] = json!({ "phase": "Pending", "qosClass": defaults::quality_of_service(object) });
        }
        ("", "Namespace") => prepare_namespace(object),
        ("", "Service") => allocate(object, None, clock),
        ("", "Node") => taint(object),
        ("", "PersistentVolumeClaim") => {
            if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
                defaults::data_source(spec);
            }
            object["status"] = json!({ "phase": "Pending" });
        }
        ("", "PersistentVolume") => {
            object["status"] = json!({ "phase": "Pending", "lastPhaseTransitionTime": clock.now_rfc3339() });
        }
        ("batch", "Job") => own_selector(object),
        ("apps", "DaemonSet") => template_generation(object, 1),
        ("certificates.k8s.io", "CertificateSigningRequest") => {
            object["status"] = json!({});
            note_requester(object, user);
        }
        _ => {}
    }
}

/// Makes an updated object ready for storage: what this write may not change is taken from `old`. `subresource` is
/// empty for the object itself.
pub fn prepare_update(resource: &Resource, subresource: &str, new: &mut Value, old: &Value, clock: &Clock) {
    match subresource {
        "" => prepare_main(resource, new, old, clock),
        "status" => prepare_status(resource, new, old),
        "finalize" => put_back(new, old, "status"),
        // The server makes the bound pod from the old one itself.
        "binding" => {}
        _ => keep_all_but(new, old, &subresource_fields(resource, subresource)),
    }
}

fn prepare_main(resource: &Resource, new: &mut Value, old: &Value, clock: &Clock) {
    if resource.subresource("status").is_some() {
        put_back(new, old, "status");
    }
    match (&*resource.group, &*resource.kind) {
        ("", "Namespace") => {
            // Its finalizers change through /finalize alone.
            put_back_below(new, old, "spec", "finalizers");
            prepare_namespace_label(new);
        }
        ("", "Service") => allocate(new, Some(old), clock),
        ("", "Pod") => {
            if let (Some(status), true) = (new.get_mut("status"), old["status"]["qosClass"].is_string()) {
                status["qosClass"] = old["status"]["qosClass"].clone();
            }
        }
        ("certificates.k8s.io", "CertificateSigningRequest") => put_back(new, old, "spec"),
        ("apps", "DaemonSet") => {
            let before = old["metadata"]["annotations"][TEMPLATE_GENERATION]
                .as_str()
                .and_then(|t| t.parse().ok());
            let changed = i64::from(new["spec"]["template"] != old["spec"]["template"]);
            template_generation(new, before.unwrap_or(1) + changed);
        }
        _ => {}
    }
}

/// The requester of a certificate is who sends the request, whatever it says.
fn note_requester(object: &mut Value, user: &User) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    for field in ["username", "uid", "groups", "extra"] {
        spec.remove(field);
    }
    if let Value::Object(info) = user.to_user_info() {
        spec.extend(info);
    }
}

/// Everything but the status is taken from the old object; of metadata, what the kind lets through.
fn prepare_status(resource: &Resource, new: &mut Value, old: &Value) {
    let status = new.get_mut("status").map(Value::take);
    let sent = new.get_mut("metadata").map(Value::take).unwrap_or_default();
    let mut result = old.clone();
    if let (Some(map), status) = (result.as_object_mut(), status) {
        match status {
            Some(status) => map.insert("status".to_owned(), status),
            None => map.remove("status"),
        };
    }
    if let Some(metadata) = result.get_mut("metadata").and_then(Value::as_object_mut) {
        // resourceVersion, uid and the like are checked as sent.
        let kept = kept_on_status(resource);
        let fields = [
            "managedFields",
            "resourceVersion",
            "uid",
            "name",
            "namespace",
            "deletionTimestamp",
            "labels",
            "annotations",
            "finalizers",
            "ownerReferences",
        ];
        for field in fields.iter().filter(|field| !kept.contains(field)) {
            match sent.get(*field) {
                Some(value) => metadata.insert((*field).to_owned(), value.clone()),
                None => metadata.remove(*field),
            };
        }
    }
    *new = result;
}

/// Metadata that a write of the status does not change.
fn kept_on_status(resource: &Resource) -> &'static [&'static str] {
    match (&*resource.group, &*resource.kind) {
        ("apps", "Deployment") => &["labels", "finalizers", "ownerReferences"],
        ("apps", "StatefulSet") => &["finalizers", "ownerReferences"],
        ("", "Pod") => &["ownerReferences", "finalizers"],
        ("", "Node" | "Namespace") => &[],
        _ => &["labels", "annotations", "finalizers", "ownerReferences"],
    }
}

/// The top-level or `spec` fields that other subresources write.
fn subresource_fields(resource: &Resource, subresource: &str) -> Vec<&'static str> {
    match (&*resource.kind, subresource) {
        ("Pod", "ephemeralcontainers") => vec!["spec.ephemeralContainers"],
        ("Pod", "resize") => vec!["spec.containers", "spec.initContainers", "spec.resources"],
        ("CertificateSigningRequest", "approval") => vec!["status.conditions"],
        _ => Vec::new(),
    }
}

fn keep_all_but(new: &mut Value, old: &Value, fields: &[&str]) {
    let mut result = old.clone();
    for path in fields {
        let Some((head, tail)) = path.split_once('.') else {
            continue;
        };
        let sent = new.get_mut(head).and_then(|v| v.get_mut(tail)).map(Value::take);
        if let Some(map) = result
            .as_object_mut()
            .and_then(|r| r.entry(head).or_insert_with(|| json!({})).as_object_mut())
        {
            match sent {
                Some(value) => map.insert(tail.to_owned(), value),
                None => map.remove(tail),
            };
        }
    }
    for field in ["managedFields", "resourceVersion", "uid"] {
        let sent = new.get_mut("metadata").and_then(|m| m.get_mut(field)).map(Value::take);
        if let (Some(metadata), Some(sent)) = (result.get_mut("metadata").and_then(Value::as_object_mut), sent) {
            metadata.insert(field.to_owned(), sent);
        }
    }
    *new = result;
}

/// Kinds whose status is the server's to set on create. Nodes bring their own.
fn resets_status(resource: &Resource) -> bool {
    resource.subresource("status").is_some() && resource.kind != "Node"
}

fn prepare_namespace(namespace: &mut Value) {
    let finalizers = &mut namespace["spec"]["finalizers"];
    if !finalizers.is_array() {
        *finalizers = json!([]);
    }
    if let Some(list) = finalizers.as_array_mut()
        && !list.iter().any(|f| f == "kubernetes")
    {
        list.push("kubernetes".into());
    }
    namespace["status"] = json!({ "phase": "Active" });
    prepare_namespace_label(namespace);
}

fn prepare_namespace_label(namespace: &mut Value) {
    let name = namespace["metadata"]["name"].clone();
    if name.is_string() {
        namespace["metadata"]["labels"]["kubernetes.io/metadata.name"] = name;
    }
}

fn template_generation(set: &mut Value, generation: i64) {
    set["metadata"]["annotations"][TEMPLATE_GENERATION] = generation.to_string().into();
}

/// A new node takes no pods until somebody says that it is ready.
fn taint(node: &mut Value) {
    let taint = json!({ "key": "node.kubernetes.io/not-ready", "effect": "NoSchedule" });
    let Some(spec) = node.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    let taints = spec.entry("taints").or_insert_with(|| json!([]));
    let same = |other: &Value| other["key"] == taint["key"] && other["effect"] == taint["effect"];
    if let Some(taints) = taints.as_array_mut()
        && !taints.iter().any(same)
    {
        taints.push(taint);
    }
}

/// A job that does not bring a selector selects its own pods by its uid.
fn own_selector(job: &mut Value) {
    if job["spec"]["manualSelector"] == true {
        return;
    }
    let (uid, name) = (job["metadata"]["uid"].clone(), job["metadata"]["name"].clone());
    let labels = &mut job["spec"]["template"]["metadata"]["labels"];
    for (key, value) in [
        ("batch.kubernetes.io/controller-uid", &uid),
        ("controller-uid", &uid),
        ("batch.kubernetes.io/job-name", &name),
        ("job-name", &name),
    ] {
        labels[key] = value.clone();
    }
    let labels = labels.clone();
    job["spec"]["selector"]["matchLabels"]["batch.kubernetes.io/controller-uid"] = uid;
    if job["metadata"]["labels"].as_object().is_none_or(Map::is_empty) {
        job["metadata"]["labels"] = labels;
    }
}

/// Gives a service its addresses and node ports, keeps those that it had, and takes back what its type does not have.
fn allocate(service: &mut Value, old: Option<&Value>, clock: &Clock) {
    let Some(spec) = service.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    let before = old.and_then(|o| o["spec"].as_object());
    let kind = find(spec, "type")
        .and_then(Value::as_str)
        .unwrap_or("ClusterIP")
        .to_owned();
    if kind == "ExternalName" {
        for field in [
            "clusterIP",
            "clusterIPs",
            "ipFamilies",
            "ipFamilyPolicy",
            "healthCheckNodePort",
        ] {
            if before.is_some_and(|b| b.get(field) == spec.get(field)) {
                spec.remove(field);
            }
        }
        return;
    }
    let was_external = before.is_some_and(|b| b.get("type").is_some_and(|t| t == "ExternalName"));
    if let Some(before) = before.filter(|_| !was_external) {
        for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            if let (None, Some(value)) = (find(spec, field), before.get(field)) {
                spec.insert(field.to_owned(), value.clone());
            }
        }
    }
    if find(spec, "clusterIP").is_none() {
        let random = clock.next_u64();
        let address = format!("10.96.{}.{}", (random >> 8) & 0xff, 1 + random % 254);
        spec.insert("clusterIP".to_owned(), address.into());
    }
    let address = spec["clusterIP"].clone();
    let headless = address == "None";
    let bare = headless
        && spec
            .get("selector")
            .and_then(Value::as_object)
            .is_none_or(Map::is_empty);
    set(spec, "clusterIPs", json!([address]));
    if bare {
        set(spec, "ipFamilies", json!(["IPv4", "IPv6"]));
        set(spec, "ipFamilyPolicy", "RequireDualStack".into());
    }
    let family = if spec["clusterIP"].as_str().is_some_and(|a| a.contains(':')) {
        "IPv6"
    } else {
        "IPv4"
    };
    set(spec, "ipFamilies", json!([family]));
    set(spec, "ipFamilyPolicy", "SingleStack".into());
    node_ports(spec, before, &kind, clock);
}

fn node_ports(spec: &mut Map<String, Value>, before: Option<&Map<String, Value>>, kind: &str, clock: &Clock) {
    let needs = kind == "NodePort"
        || (kind == "LoadBalancer" && spec.get("allocateLoadBalancerNodePorts") != Some(&Value::Bool(false)));
    let had = before
        .and_then(|b| b.get("ports")?.as_array())
        .map_or(&[][..], Vec::as_slice);
    let changed_type = before.is_some_and(|b| b.get("type").is_some_and(|t| t != kind));
    let mut used: Vec<i64> = Vec::new();
    for port in spec
        .get_mut("ports")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        let same = had
            .iter()
            .find(|p| p["port"] == port["port"] && p["protocol"] == port["protocol"]);
        let inherited = same.and_then(|p| p.get("nodePort"));
        let Some(port) = port.as_object_mut() else { continue };
        if !needs {
            // What the client did not choose itself goes with the type that had it.
            if changed_type && inherited == port.get("nodePort") {
                port.remove("nodePort");
            }
            continue;
        }
        if let Some(inherited) = inherited {
            port.entry("nodePort").or_insert_with(|| inherited.clone());
        }
        let number = port.entry("nodePort").or_insert_with(|| {
            let free = std::iter::repeat_with(|| 30_000 + i64::try_from(clock.next_u64() % 2_768).unwrap_or(0));
            free.take(64).find(|n| !used.contains(n)).unwrap_or(30_000).into()
        });
        used.extend(number.as_i64());
    }
    if kind == "ClusterIP" && changed_type {
        for field in [
            "externalTrafficPolicy",
            "allocateLoadBalancerNodePorts",
            "healthCheckNodePort",
        ] {
            if before.is_some_and(|b| b.get(field) == spec.get(field)) {
                spec.remove(field);
            }
        }
    }
    if kind == "NodePort" && changed_type {
        spec.remove("allocateLoadBalancerNodePorts");
    }
    let local = spec.get("externalTrafficPolicy").is_some_and(|p| p == "Local");
    if kind == "LoadBalancer" && local && find(spec, "healthCheckNodePort").is_none() {
        let inherited = before.and_then(|b| b.get("healthCheckNodePort")).cloned();
        let number = inherited.unwrap_or_else(|| (30_000 + clock.next_u64() % 2_768).into());
        spec.insert("healthCheckNodePort".to_owned(), number);
    }
}

fn put_back(new: &mut Value, old: &Value, field: &str) {
    let Some(map) = new.as_object_mut() else { return };
    match old.get(field) {
        Some(value) => map.insert(field.to_owned(), value.clone()),
        None => map.remove(field),
    };
}

fn put_back_below(new: &mut Value, old: &Value, field: &str, below: &str) {
    let before = old.get(field).and_then(|v| v.get(below)).cloned();
    let Some(map) = new.as_object_mut() else { return };
    let Some(map) = map.entry(field).or_insert_with(|| json!({})).as_object_mut() else {
        return;
    };
    match before {
        Some(value) => map.insert(below.to_owned(), value),
        None => map.remove(below),
    };
}
