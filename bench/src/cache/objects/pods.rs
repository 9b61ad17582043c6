//! Pods of three shapes: of a ReplicaSet, of a StatefulSet, of a Job. As kube-controller-manager and a kubelet leave
//! them, managedFields included, 4.67 KB on average.

use std::fmt::Write;

use super::{Chance, SIBLINGS};

const TEAMS: [&str; 12] = [
    "checkout", "catalog", "payments", "search", "identity", "shipping", "pricing", "media", "reviews", "gateway",
    "ledger", "insights",
];
const PARTS: [&str; 10] = [
    "api",
    "worker",
    "web",
    "sync",
    "indexer",
    "consumer",
    "scheduler",
    "cache",
    "proxy",
    "exporter",
];
const REGISTRIES: [&str; 4] = [
    "registry.example.com",
    "ghcr.io/example",
    "europe-docker.pkg.dev/example",
    "quay.io/example",
];
const VARIABLES: [&str; 14] = [
    "DATABASE_URL",
    "LOG_LEVEL",
    "CACHE_ADDR",
    "FEATURE_FLAGS",
    "REGION",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "QUEUE_NAME",
    "MAX_CONNECTIONS",
    "TENANT",
    "BUCKET",
    "KAFKA_BROKERS",
    "SENTRY_DSN",
    "GOMAXPROCS",
    "HTTP_PORT",
];

/// What the Pods of one owner share.
struct Owner {
    shape: usize,
    namespace: String,
    app: String,
    part: &'static str,
    hash: String,
    uid: String,
    port: usize,
}

impl Owner {
    fn of(seed: u64, index: usize) -> Self {
        let group = index / SIBLINGS;
        let mut chance = Chance::of(seed, "owner", group);
        let team = chance.one(&TEAMS);
        let part = chance.one(&PARTS);
        Self {
            shape: group % 3,
            namespace: format!("{team}-{}", chance.below(20)),
            app: format!("{part}-{}", chance.suffix(5)),
            part,
            hash: chance.suffix(10),
            uid: chance.uid(),
            port: 8000 + chance.below(1000),
        }
    }

    fn kind(&self) -> (&'static str, &'static str) {
        [
            ("apps/v1", "ReplicaSet"),
            ("apps/v1", "StatefulSet"),
            ("batch/v1", "Job"),
        ][self.shape]
    }

    fn name(&self) -> String {
        match self.shape {
            0 => format!("{}-{}", self.app, self.hash),
            _ => self.app.clone(),
        }
    }
}

/// Pod number `index`, as items of lists and objects of events are written.
pub(crate) fn pod(seed: u64, index: usize) -> String {
    pod_at(seed, index, 1000 + index as u64, 0)
}

/// The same Pod at a later version: a kubelet has updated its status for the `times`-th time.
pub(crate) fn pod_at(seed: u64, index: usize, version: u64, times: usize) -> String {
    let owner = Owner::of(seed, index);
    let mut chance = Chance::of(seed, "pod", index);
    let name = match owner.shape {
        1 => format!("{}-{}", owner.app, index % SIBLINGS),
        _ => format!("{}-{}", owner.name(), chance.suffix(5)),
    };
    let created = chance.time();
    let mut text = String::with_capacity(6 << 10);
    let _ = write!(
        text,
        "{{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{{\"name\":\"{name}\""
    );
    if owner.shape != 1 {
        let _ = write!(text, ",\"generateName\":\"{}-\"", owner.name());
    }
    let _ = write!(
        text,
        ",\"namespace\":\"{}\",\"uid\":\"{}\",\"resourceVersion\":\"{version}\",\"generation\":1,\"creationTimestamp\":\"{created}\",\"labels\":{}",
        owner.namespace,
        chance.uid(),
        labels(&owner, &name, index)
    );
    let annotated = chance.below(8) == 0;
    if annotated {
        let _ = write!(
            text,
            ",\"annotations\":{{\"checksum/config\":\"{}\",\"prometheus.io/port\":\"{}\",\"prometheus.io/scrape\":\"true\"}}",
            chance.hex(64),
            owner.port
        );
    }
    let (api_version, kind) = owner.kind();
    let _ = write!(
        text,
        ",\"ownerReferences\":[{{\"apiVersion\":\"{api_version}\",\"kind\":\"{kind}\",\"name\":\"{}\",\"uid\":\"{}\",\"controller\":true,\"blockOwnerDeletion\":true}}]",
        owner.name(),
        owner.uid
    );
    let variables = variables(&mut chance, &owner);
    managed_fields(&mut text, &owner, &variables, annotated, &created, &chance.time());
    text.push_str("},\"spec\":");
    let image = format!(
        "{}/{}:{}.{}.{}-{}",
        chance.one(&REGISTRIES),
        owner.app,
        chance.below(9),
        chance.below(40),
        chance.below(20),
        chance.hex(7)
    );
    let node = format!("node-{}-{}", chance.one(&["a", "b", "c"]), chance.below(500));
    spec(&mut text, &mut chance, &owner, &variables, &name, &image, &node);
    text.push_str(",\"status\":");
    status(&mut text, &mut chance, &owner, &image, &created, times);
    text.push('}');
    text
}

fn labels(owner: &Owner, name: &str, index: usize) -> String {
    let (app, part) = (&owner.app, owner.part);
    let common = format!("\"app.kubernetes.io/instance\":\"{app}\",\"app.kubernetes.io/name\":\"{part}\"");
    match owner.shape {
        0 => format!("{{{common},\"pod-template-hash\":\"{}\"}}", owner.hash),
        1 => format!(
            "{{{common},\"apps.kubernetes.io/pod-index\":\"{}\",\"controller-revision-hash\":\"{app}-{}\",\"statefulset.kubernetes.io/pod-name\":\"{name}\"}}",
            index % SIBLINGS,
            owner.hash
        ),
        _ => format!(
            "{{{common},\"batch.kubernetes.io/controller-uid\":\"{0}\",\"batch.kubernetes.io/job-name\":\"{app}\"}}",
            owner.uid
        ),
    }
}

/// The names of a container's variables.
fn variables(chance: &mut Chance, owner: &Owner) -> Vec<&'static str> {
    let first = chance.below(VARIABLES.len());
    let count = 1 + if owner.shape == 0 { chance.below(2) } else { 0 };
    (first..first + count)
        .map(|at| VARIABLES[at % VARIABLES.len()])
        .collect()
}

/// The entries of the controller that made the Pod and of the kubelet that runs it: each field of the template that the
/// controller set, lists that are maps by their keys.
fn managed_fields(
    text: &mut String,
    owner: &Owner,
    variables: &[&str],
    annotated: bool,
    created: &str,
    reported: &str,
) {
    let annotations = if annotated {
        r#""f:annotations":{".":{},"f:checksum/config":{},"f:prometheus.io/port":{},"f:prometheus.io/scrape":{}},"#
    } else {
        ""
    };
    let (generated, own_labels) = match owner.shape {
        0 => (r#""f:generateName":{},"#, r#""f:pod-template-hash":{}"#),
        1 => (
            "",
            r#""f:apps.kubernetes.io/pod-index":{},"f:controller-revision-hash":{},"f:statefulset.kubernetes.io/pod-name":{}"#,
        ),
        _ => (
            r#""f:generateName":{},"#,
            r#""f:batch.kubernetes.io/controller-uid":{},"f:batch.kubernetes.io/job-name":{}"#,
        ),
    };
    let _ = write!(
        text,
        r#","managedFields":[{{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"{created}","fieldsType":"FieldsV1","fieldsV1":{{"f:metadata":{{{annotations}{generated}"f:labels":{{".":{{}},"f:app.kubernetes.io/instance":{{}},"f:app.kubernetes.io/name":{{}},{own_labels}}},"f:ownerReferences":{{".":{{}},"k:{{\"uid\":\"{}\"}}":{{}}}}}},"f:spec":{{"f:automountServiceAccountToken":{{}},"f:containers":{{"k:{{\"name\":\"{}\"}}":{{".":{{}},"f:env":{{".":{{}}"#,
        owner.uid, owner.part
    );
    for variable in variables {
        let _ = write!(
            text,
            r#","k:{{\"name\":\"{variable}\"}}":{{".":{{}},"f:name":{{}},"f:value":{{}}}}"#
        );
    }
    let probe = if owner.shape == 0 {
        r#""f:readinessProbe":{".":{},"f:failureThreshold":{},"f:httpGet":{".":{},"f:path":{},"f:port":{},"f:scheme":{}},"f:periodSeconds":{},"f:successThreshold":{},"f:timeoutSeconds":{}},"#
    } else {
        ""
    };
    let (host, subdomain) = match owner.shape {
        1 => (r#""f:hostname":{},"#, r#""f:subdomain":{},"#),
        _ => ("", ""),
    };
    let _ = write!(
        text,
        r#"}},"f:image":{{}},"f:imagePullPolicy":{{}},"f:name":{{}},"f:ports":{{".":{{}},"k:{{\"containerPort\":{},\"protocol\":\"TCP\"}}":{{".":{{}},"f:containerPort":{{}},"f:name":{{}},"f:protocol":{{}}}}}},{probe}"f:resources":{{".":{{}},"f:limits":{{".":{{}},"f:memory":{{}}}},"f:requests":{{".":{{}},"f:cpu":{{}},"f:memory":{{}}}}}},"f:terminationMessagePath":{{}},"f:terminationMessagePolicy":{{}}}}}},"f:dnsPolicy":{{}},"f:enableServiceLinks":{{}},{host}"f:restartPolicy":{{}},"f:schedulerName":{{}},"f:securityContext":{{}},"f:serviceAccount":{{}},"f:serviceAccountName":{{}},{subdomain}"f:terminationGracePeriodSeconds":{{}}}}}}}},{{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"{reported}","fieldsType":"FieldsV1","fieldsV1":{{"f:status":{{"f:conditions":{{"#,
        owner.port
    );
    for (index, condition) in ["ContainersReady", "Initialized", "Ready"].iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let _ = write!(
            text,
            r#"{comma}"k:{{\"type\":\"{condition}\"}}":{{".":{{}},"f:lastProbeTime":{{}},"f:lastTransitionTime":{{}},"f:status":{{}},"f:type":{{}}}}"#
        );
    }
    let _ = write!(
        text,
        r#"}},"f:containerStatuses":{{}},"f:hostIP":{{}},"f:phase":{{}},"f:podIP":{{}},"f:podIPs":{{".":{{}},"k:{{\"ip\":\"10.1.{}.{}\"}}":{{".":{{}},"f:ip":{{}}}}}},"f:startTime":{{}}}}}},"subresource":"status"}}]"#,
        owner.port % 256,
        owner.port % 254
    );
}

#[allow(clippy::too_many_arguments, reason = "each is a part of the text")]
fn spec(
    text: &mut String,
    chance: &mut Chance,
    owner: &Owner,
    variables: &[&str],
    name: &str,
    image: &str,
    node: &str,
) {
    let _ = write!(
        text,
        "{{\"containers\":[{{\"name\":\"{}\",\"image\":\"{image}\",\"ports\":[{{\"name\":\"http\",\"containerPort\":{},\"protocol\":\"TCP\"}}],\"env\":[",
        owner.part, owner.port
    );
    for (step, variable) in variables.iter().enumerate() {
        let comma = if step == 0 { "" } else { "," };
        let _ = write!(
            text,
            "{comma}{{\"name\":\"{variable}\",\"value\":\"{}\"}}",
            value(variable, chance, owner)
        );
    }
    let _ = write!(
        text,
        "],\"resources\":{{\"limits\":{{\"memory\":\"{}Mi\"}},\"requests\":{{\"cpu\":\"{}m\",\"memory\":\"{}Mi\"}}}}",
        256 * (1 + chance.below(8)),
        50 * (1 + chance.below(20)),
        128 * (1 + chance.below(8))
    );
    if owner.shape == 0 {
        let _ = write!(
            text,
            ",\"readinessProbe\":{{\"httpGet\":{{\"path\":\"/healthz\",\"port\":{},\"scheme\":\"HTTP\"}},\"timeoutSeconds\":1,\"periodSeconds\":10,\"successThreshold\":1,\"failureThreshold\":3}}",
            owner.port
        );
    }
    let restart = if owner.shape == 2 { "OnFailure" } else { "Always" };
    let _ = write!(
        text,
        ",\"terminationMessagePath\":\"/dev/termination-log\",\"terminationMessagePolicy\":\"File\",\"imagePullPolicy\":\"IfNotPresent\"}}],\"restartPolicy\":\"{restart}\",\"terminationGracePeriodSeconds\":30,\"dnsPolicy\":\"ClusterFirst\",\"serviceAccountName\":\"{app}\",\"serviceAccount\":\"{app}\",\"automountServiceAccountToken\":false,\"nodeName\":\"{node}\",\"securityContext\":{{}}",
        app = owner.app
    );
    if owner.shape == 1 {
        let _ = write!(text, ",\"hostname\":\"{name}\",\"subdomain\":\"{}\"", owner.app);
    }
    text.push_str(",\"schedulerName\":\"default-scheduler\",\"tolerations\":[{\"key\":\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\",\"effect\":\"NoExecute\",\"tolerationSeconds\":300},{\"key\":\"node.kubernetes.io/unreachable\",\"operator\":\"Exists\",\"effect\":\"NoExecute\",\"tolerationSeconds\":300}],\"priority\":0,\"enableServiceLinks\":true,\"preemptionPolicy\":\"PreemptLowerPriority\"}");
}

fn value(variable: &str, chance: &mut Chance, owner: &Owner) -> String {
    match variable {
        "DATABASE_URL" => format!(
            "postgres://{}:{}@pg-{}.{}.svc:5432/{}",
            owner.app,
            chance.hex(12),
            chance.below(30),
            owner.namespace,
            owner.part
        ),
        "LOG_LEVEL" => chance.one(&["debug", "info", "warn"]).to_owned(),
        "REGION" => format!(
            "eu-{}-{}",
            chance.one(&["west", "north", "central"]),
            1 + chance.below(4)
        ),
        "SENTRY_DSN" => format!(
            "https://{}@o{}.ingest.example.com/{}",
            chance.hex(32),
            chance.below(99_999),
            chance.below(9_999)
        ),
        "GOMAXPROCS" | "MAX_CONNECTIONS" | "HTTP_PORT" => (1 + chance.below(9000)).to_string(),
        "TENANT" => chance.hex(16),
        _ => format!(
            "{}-{}.{}.svc:{}",
            owner.app,
            chance.suffix(4),
            owner.namespace,
            1024 + chance.below(60_000)
        ),
    }
}

fn status(text: &mut String, chance: &mut Chance, owner: &Owner, image: &str, created: &str, times: usize) {
    let ready = chance.time();
    text.push_str("{\"phase\":\"Running\",\"conditions\":[");
    for condition in ["Initialized", "Ready", "ContainersReady", "PodScheduled"] {
        let at = if condition == "PodScheduled" || condition == "Initialized" {
            created
        } else {
            &ready
        };
        let comma = if condition == "Initialized" { "" } else { "," };
        let _ = write!(
            text,
            "{comma}{{\"type\":\"{condition}\",\"status\":\"True\",\"lastProbeTime\":null,\"lastTransitionTime\":\"{at}\"}}"
        );
    }
    let (host, address) = (chance.address(), chance.address());
    let _ = write!(
        text,
        "],\"hostIP\":\"{host}\",\"podIP\":\"{address}\",\"podIPs\":[{{\"ip\":\"{address}\"}}],\"startTime\":\"{created}\",\"containerStatuses\":[{{\"name\":\"{}\",\"state\":{{\"running\":{{\"startedAt\":\"{ready}\"}}}},\"lastState\":{{}},\"ready\":true,\"restartCount\":{},\"image\":\"{image}\",\"imageID\":\"{}@sha256:{}\",\"containerID\":\"containerd://{}\",\"started\":true}}],\"qosClass\":\"Burstable\"}}",
        owner.part,
        times,
        image.split(':').next().unwrap_or_default(),
        chance.hex(64),
        chance.hex(64)
    );
}
