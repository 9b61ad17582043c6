//! The Pod Security Standards: what pods of a level may not do, with the version of the standard that said so first.
//!
//! See <https://kubernetes.io/docs/concepts/security/pod-security-standards/>. Each check answers its reason and detail.

use std::collections::BTreeSet;

use serde_json::Value;

use super::policy::Level;
use crate::error::quoted;

/// What a check has against a pod: the reason, and the detail in parentheses.
pub(super) type Refusal = Option<(String, String)>;

struct Check {
    level: Level,
    since: u32,
    /// The checks of the baseline that this one stands for.
    overrides: &'static str,
    name: &'static str,
    run: fn(&Pod<'_>) -> Refusal,
}

/// The checks, the baseline's first, each part by name: the order in which they are told.
const CHECKS: &[Check] = &[
    baseline("appArmorProfile", 0, app_armor),
    baseline("capabilities_baseline", 0, default_capabilities),
    baseline("hostNamespaces", 0, host_namespaces),
    baseline("hostPathVolumes", 0, host_paths),
    baseline("hostPorts", 0, host_ports),
    baseline("hostProbesAndHostLifecycle", 34, probe_hosts),
    baseline("privileged", 0, privileged),
    baseline("procMount", 0, proc_mount_baseline),
    baseline("seLinuxOptions", 0, se_linux),
    baseline("seccompProfile_baseline", 19, seccomp_baseline),
    baseline("sysctls", 0, sysctls),
    baseline("windowsHostProcess", 0, host_process),
    restricted("allowPrivilegeEscalation", 8, "", escalation),
    restricted("capabilities_restricted", 22, "capabilities_baseline", capabilities),
    restricted("procMount_restricted", 35, "procMount", proc_mount),
    restricted("restrictedVolumes", 0, "hostPathVolumes", volumes),
    restricted("runAsNonRoot", 0, "", non_root),
    restricted("runAsUser", 23, "", run_as_user),
    restricted("seccompProfile_restricted", 19, "seccompProfile_baseline", seccomp),
];

const fn baseline(name: &'static str, since: u32, run: fn(&Pod<'_>) -> Refusal) -> Check {
    Check {
        level: Level::Baseline,
        since,
        overrides: "",
        name,
        run,
    }
}

const fn restricted(name: &'static str, since: u32, overrides: &'static str, run: fn(&Pod<'_>) -> Refusal) -> Check {
    Check {
        level: Level::Restricted,
        since,
        overrides,
        name,
        run,
    }
}

/// What a level, in a minor version of the standard, has against a pod.
pub(super) fn refusals(level: Level, minor: u32, metadata: &Value, spec: &Value) -> Vec<(String, String)> {
    if level == Level::Privileged {
        return Vec::new();
    }
    let pod = Pod { metadata, spec, minor };
    let applies = |check: &&Check| check.level <= level && check.since <= minor;
    let overridden: Vec<&str> = CHECKS.iter().filter(applies).map(|check| check.overrides).collect();
    CHECKS
        .iter()
        .filter(applies)
        .filter(|check| !overridden.contains(&check.name))
        .filter_map(|check| (check.run)(&pod))
        .collect()
}

struct Pod<'a> {
    metadata: &'a Value,
    spec: &'a Value,
    minor: u32,
}

impl<'a> Pod<'a> {
    fn containers(&self) -> impl Iterator<Item = &'a Value> {
        ["initContainers", "containers", "ephemeralContainers"]
            .into_iter()
            .flat_map(|list| self.spec[list].as_array().into_iter().flatten())
    }

    /// The names of the containers for which the test holds.
    fn names(&self, test: impl Fn(&Value) -> bool) -> Vec<&'a str> {
        self.containers()
            .filter(|container| test(container))
            .map(|container| container["name"].as_str().unwrap_or_default())
            .collect()
    }

    fn is_windows(&self) -> bool {
        self.minor >= 25 && self.spec["os"]["name"] == "windows"
    }

    /// Whether the pod's users are not the host's.
    fn has_own_users(&self) -> bool {
        self.minor >= 35 && self.spec["hostUsers"] == false
    }
}

fn refusal(reason: &str, detail: String) -> Refusal {
    Some((reason.to_owned(), detail))
}

/// `container "a"` or `containers "a", "b"`.
fn shown(names: &[&str]) -> String {
    format!("{} {}", plural("container", names.len()), quoted_list(names))
}

fn quoted_list<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| format!("\"{}\"", item.as_ref())).collect();
    items.join(", ")
}

fn plural(word: &str, count: usize) -> String {
    if count == 1 {
        word.to_owned()
    } else {
        format!("{word}s")
    }
}

fn uses(count: usize) -> &'static str {
    if count == 1 { "uses" } else { "use" }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// The pod and the containers whose security context the test refuses, as `pod and container "a"`; nothing if none.
fn setters(pod: &Pod<'_>, test: impl Fn(&Value) -> bool) -> Option<String> {
    let mut setters = Vec::new();
    if test(&pod.spec["securityContext"]) {
        setters.push("pod".to_owned());
    }
    let containers = pod.names(|container| test(&container["securityContext"]));
    if !containers.is_empty() {
        setters.push(shown(&containers));
    }
    (!setters.is_empty()).then(|| setters.join(" and "))
}

/// What the pod and its containers have in their security context, sorted, where the test holds.
fn values<'a>(pod: &Pod<'a>, get: impl Fn(&'a Value) -> Option<&'a str>) -> BTreeSet<&'a str> {
    let own = get(&pod.spec["securityContext"]);
    own.into_iter()
        .chain(
            pod.containers()
                .filter_map(|container| get(&container["securityContext"])),
        )
        .collect()
}

fn app_armor(pod: &Pod<'_>) -> Refusal {
    let bad = |context: &Value| {
        let profile = &context["appArmorProfile"];
        profile.is_object() && !matches!(text(&profile["type"]), "RuntimeDefault" | "Localhost")
    };
    let found = values(pod, |context| {
        bad(context).then(|| text(&context["appArmorProfile"]["type"]))
    });
    let mut listed: Vec<String> = found.into_iter().map(str::to_owned).collect();
    let mut setters: Vec<String> = setters(pod, bad).into_iter().collect();
    let annotations = pod.metadata["annotations"].as_object().into_iter().flatten();
    let forbidden: Vec<String> = annotations
        .filter(|(key, _)| key.starts_with("container.apparmor.security.beta.kubernetes.io/"))
        .filter(|(_, value)| {
            let profile = text(value);
            !(profile.is_empty() || profile == "runtime/default" || profile.starts_with("localhost/"))
        })
        .map(|(key, value)| format!("{key}={}", quoted(text(value))))
        .collect();
    if !forbidden.is_empty() {
        setters.push(plural("annotation", forbidden.len()));
        listed.extend(forbidden);
    }
    if setters.is_empty() {
        return None;
    }
    let detail = format!(
        "{} must not set AppArmor profile type to {}",
        setters.join(" and "),
        quoted_list(&listed)
    );
    refusal(&plural("forbidden AppArmor profile", listed.len()), detail)
}

const DEFAULT_CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

fn default_capabilities(pod: &Pod<'_>) -> Refusal {
    added(pod, &DEFAULT_CAPABILITIES).and_then(|detail| refusal("non-default capabilities", detail))
}

/// What is said of containers that add other capabilities than these.
fn added(pod: &Pod<'_>, allowed: &[&str]) -> Option<String> {
    let added = |container: &Value| -> Vec<String> {
        texts(&container["securityContext"]["capabilities"]["add"])
            .filter(|capability| !allowed.contains(capability))
            .map(str::to_owned)
            .collect()
    };
    let names = pod.names(|container| !added(container).is_empty());
    let all: BTreeSet<String> = pod.containers().flat_map(added).collect();
    (!names.is_empty()).then(|| {
        format!(
            "{} must not include {} in securityContext.capabilities.add",
            shown(&names),
            quoted_list(all)
        )
    })
}

fn host_namespaces(pod: &Pod<'_>) -> Refusal {
    let shared: Vec<String> = ["hostNetwork", "hostPID", "hostIPC"]
        .iter()
        .filter(|field| pod.spec[**field] == true)
        .map(|field| format!("{field}=true"))
        .collect();
    (!shared.is_empty()).then(|| ("host namespaces".to_owned(), shared.join(", ")))
}

fn host_paths(pod: &Pod<'_>) -> Refusal {
    let volumes = pod.spec["volumes"].as_array().into_iter().flatten();
    let names: Vec<&str> = volumes
        .filter(|volume| volume["hostPath"].is_object())
        .map(|volume| text(&volume["name"]))
        .collect();
    let detail = || format!("{} {}", plural("volume", names.len()), quoted_list(&names));
    (!names.is_empty()).then(|| ("hostPath volumes".to_owned(), detail()))
}

fn host_ports(pod: &Pod<'_>) -> Refusal {
    let ports = |container: &Value| -> Vec<String> {
        let ports = container["ports"].as_array().into_iter().flatten();
        ports
            .filter_map(|port| port["hostPort"].as_i64())
            .filter(|port| *port != 0)
            .map(|port| port.to_string())
            .collect()
    };
    let names = pod.names(|container| !ports(container).is_empty());
    let all: BTreeSet<String> = pod.containers().flat_map(ports).collect();
    (!names.is_empty()).then(|| {
        let listed: Vec<String> = all.iter().cloned().collect();
        let word = plural("hostPort", all.len());
        let detail = format!("{} {} {word} {}", shown(&names), uses(names.len()), listed.join(", "));
        ("hostPort".to_owned(), detail)
    })
}

fn probe_hosts(pod: &Pod<'_>) -> Refusal {
    let hosts = |container: &Value| -> Vec<String> {
        let lifecycle = &container["lifecycle"];
        let handlers = [
            &container["livenessProbe"],
            &container["readinessProbe"],
            &container["startupProbe"],
            &lifecycle["postStart"],
            &lifecycle["preStop"],
        ];
        handlers
            .into_iter()
            .flat_map(|handler| [text(&handler["httpGet"]["host"]), text(&handler["tcpSocket"]["host"])])
            .filter(|host| !host.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let mut names = pod.names(|container| !hosts(container).is_empty());
    names.sort_unstable();
    let all: BTreeSet<String> = pod.containers().flat_map(hosts).collect();
    (!names.is_empty()).then(|| {
        let word = plural("probe or lifecycle host", all.len());
        let detail = format!("{} {} {word} {}", shown(&names), uses(names.len()), quoted_list(all));
        ("probe or lifecycle host".to_owned(), detail)
    })
}

fn privileged(pod: &Pod<'_>) -> Refusal {
    let names = pod.names(|container| container["securityContext"]["privileged"] == true);
    let detail = || format!("{} must not set securityContext.privileged=true", shown(&names));
    (!names.is_empty()).then(|| ("privileged".to_owned(), detail()))
}

fn proc_mount_baseline(pod: &Pod<'_>) -> Refusal {
    if pod.has_own_users() { None } else { proc_mount(pod) }
}

fn proc_mount(pod: &Pod<'_>) -> Refusal {
    let other = |container: &Value| {
        let mount = text(&container["securityContext"]["procMount"]).to_owned();
        Some(mount).filter(|mount| !matches!(mount.as_str(), "" | "Default"))
    };
    let names = pod.names(|container| other(container).is_some());
    let all: BTreeSet<String> = pod.containers().filter_map(other).collect();
    (!names.is_empty()).then(|| {
        let detail = format!(
            "{} must not set securityContext.procMount to {}",
            shown(&names),
            quoted_list(all)
        );
        ("procMount".to_owned(), detail)
    })
}

fn se_linux(pod: &Pod<'_>) -> Refusal {
    let types: &[&str] = if pod.minor >= 31 {
        &[
            "",
            "container_t",
            "container_init_t",
            "container_kvm_t",
            "container_engine_t",
        ]
    } else {
        &["", "container_t", "container_init_t", "container_kvm_t"]
    };
    let field = |context: &Value, field: &str| !text(&context["seLinuxOptions"][field]).is_empty();
    let other = |context: &Value| !types.contains(&text(&context["seLinuxOptions"]["type"]));
    let setters = setters(pod, |context| {
        other(context) || field(context, "user") || field(context, "role")
    })?;
    let found = values(pod, |context| {
        other(context).then(|| text(&context["seLinuxOptions"]["type"]))
    });
    let mut data = Vec::new();
    if !found.is_empty() {
        data.push(format!("{} {}", plural("type", found.len()), quoted_list(&found)));
    }
    for name in ["user", "role"] {
        if setters_any(pod, |context| field(context, name)) {
            data.push(format!("{name} may not be set"));
        }
    }
    let detail = format!(
        "{setters} set forbidden securityContext.seLinuxOptions: {}",
        data.join("; ")
    );
    refusal("seLinuxOptions", detail)
}

fn setters_any(pod: &Pod<'_>, test: impl Fn(&Value) -> bool) -> bool {
    setters(pod, test).is_some()
}

fn bad_seccomp(context: &Value) -> bool {
    let profile = &context["seccompProfile"];
    profile.is_object() && !matches!(text(&profile["type"]), "RuntimeDefault" | "Localhost")
}

fn seccomp_baseline(pod: &Pod<'_>) -> Refusal {
    let setters = setters(pod, bad_seccomp)?;
    let found = values(pod, |context| {
        bad_seccomp(context).then(|| text(&context["seccompProfile"]["type"]))
    });
    let detail = format!(
        "{setters} must not set securityContext.seccompProfile.type to {}",
        quoted_list(found)
    );
    refusal("seccompProfile", detail)
}

fn seccomp(pod: &Pod<'_>) -> Refusal {
    if pod.is_windows() {
        return None;
    }
    if let Some(bad) = seccomp_baseline(pod) {
        return Some(bad);
    }
    if pod.spec["securityContext"]["seccompProfile"].is_object() {
        return None;
    }
    let names = pod.names(|container| !container["securityContext"]["seccompProfile"].is_object());
    let detail = || {
        format!(
            "pod or {} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"",
            shown(&names)
        )
    };
    (!names.is_empty()).then(|| ("seccompProfile".to_owned(), detail()))
}

/// Sysctls that a pod may set, and the version that allowed them.
const SYSCTLS: [(&str, u32); 12] = [
    ("kernel.shm_rmid_forced", 0),
    ("net.ipv4.ip_local_port_range", 0),
    ("net.ipv4.tcp_syncookies", 0),
    ("net.ipv4.ping_group_range", 0),
    ("net.ipv4.ip_unprivileged_port_start", 0),
    ("net.ipv4.ip_local_reserved_ports", 27),
    ("net.ipv4.tcp_keepalive_time", 29),
    ("net.ipv4.tcp_fin_timeout", 29),
    ("net.ipv4.tcp_keepalive_intvl", 29),
    ("net.ipv4.tcp_keepalive_probes", 29),
    ("net.ipv4.tcp_rmem", 32),
    ("net.ipv4.tcp_wmem", 32),
];

fn sysctls(pod: &Pod<'_>) -> Refusal {
    let given = pod.spec["securityContext"]["sysctls"].as_array().into_iter().flatten();
    let forbidden: Vec<&str> = given
        .map(|sysctl| text(&sysctl["name"]))
        .filter(|name| {
            !SYSCTLS
                .iter()
                .any(|(allowed, since)| allowed == name && *since <= pod.minor)
        })
        .collect();
    (!forbidden.is_empty()).then(|| ("forbidden sysctls".to_owned(), forbidden.join(", ")))
}

fn host_process(pod: &Pod<'_>) -> Refusal {
    let setters = setters(pod, |context| context["windowsOptions"]["hostProcess"] == true)?;
    let detail = format!("{setters} must not set securityContext.windowsOptions.hostProcess=true");
    refusal("hostProcess", detail)
}

fn escalation(pod: &Pod<'_>) -> Refusal {
    if pod.is_windows() {
        return None;
    }
    let names = pod.names(|container| container["securityContext"]["allowPrivilegeEscalation"] != false);
    let detail = || {
        format!(
            "{} must set securityContext.allowPrivilegeEscalation=false",
            shown(&names)
        )
    };
    (!names.is_empty()).then(|| ("allowPrivilegeEscalation != false".to_owned(), detail()))
}

fn capabilities(pod: &Pod<'_>) -> Refusal {
    if pod.is_windows() {
        return None;
    }
    let keeps = pod.names(|container| {
        !texts(&container["securityContext"]["capabilities"]["drop"]).any(|capability| capability == "ALL")
    });
    let mut details = Vec::new();
    if !keeps.is_empty() {
        details.push(format!(
            "{} must set securityContext.capabilities.drop=[\"ALL\"]",
            shown(&keeps)
        ));
    }
    details.extend(added(pod, &["NET_BIND_SERVICE"]));
    (!details.is_empty()).then(|| ("unrestricted capabilities".to_owned(), details.join("; ")))
}

/// Volumes that need nothing of the host.
const FREE_VOLUMES: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

fn volumes(pod: &Pod<'_>) -> Refusal {
    let all = pod.spec["volumes"].as_array().into_iter().flatten();
    let bad: Vec<&Value> = all
        .filter(|volume| !FREE_VOLUMES.iter().any(|source| volume.get(*source).is_some()))
        .collect();
    if bad.is_empty() {
        return None;
    }
    let names: Vec<&str> = bad.iter().map(|volume| text(&volume["name"])).collect();
    let sources = |volume: &&Value| {
        let mut keys = volume.as_object()?.keys();
        keys.find(|key| *key != "name").cloned()
    };
    let kinds: BTreeSet<String> = bad
        .iter()
        .map(|volume| sources(volume).unwrap_or_else(|| "unknown".to_owned()))
        .collect();
    let detail = format!(
        "{} {} {} {} {}",
        plural("volume", names.len()),
        quoted_list(&names),
        uses(names.len()),
        plural("restricted volume type", kinds.len()),
        quoted_list(kinds)
    );
    refusal("restricted volume types", detail)
}

fn non_root(pod: &Pod<'_>) -> Refusal {
    if pod.has_own_users() {
        return None;
    }
    let reason = "runAsNonRoot != true";
    if let Some(setters) = setters(pod, |context| context["runAsNonRoot"] == false) {
        return refusal(
            reason,
            format!("{setters} must not set securityContext.runAsNonRoot=false"),
        );
    }
    if pod.spec["securityContext"]["runAsNonRoot"] == true {
        return None;
    }
    let names = pod.names(|container| container["securityContext"]["runAsNonRoot"].is_null());
    let detail = || format!("pod or {} must set securityContext.runAsNonRoot=true", shown(&names));
    (!names.is_empty()).then(|| (reason.to_owned(), detail()))
}

fn run_as_user(pod: &Pod<'_>) -> Refusal {
    if pod.has_own_users() {
        return None;
    }
    let setters = setters(pod, |context| context["runAsUser"] == 0)?;
    refusal("runAsUser=0", format!("{setters} must not set runAsUser=0"))
}
