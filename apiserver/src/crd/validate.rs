//! What a definition must be: names, versions, conversion, columns, scale paths; what its schemas must be is in
//! [`super::structural`].

use serde_json::Value;

use super::structural;
use crate::builtins::names;
use crate::error::Cause;

const STRATEGIES: [&str; 2] = ["None", "Webhook"];
const SCOPES: [&str; 2] = ["Cluster", "Namespaced"];
const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] = [
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
];
const APPROVAL: &str = "api-approved.kubernetes.io";

/// What is wrong with a definition, its metadata aside. With `old`, immutable fields are checked, too.
#[must_use]
pub fn validate(definition: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let spec = &definition["spec"];
    let name = text(&definition["metadata"]["name"]);
    if old.is_none() && name != format!("{}.{}", text(&spec["names"]["plural"]), text(&spec["group"])) {
        let why = "must be spec.names.plural+\".\"+spec.group";
        causes.push(Cause::invalid("metadata.name", &name.into(), why));
    }
    causes.extend(validate_spec(spec));
    if let Some(old) = old {
        causes.extend(immutable(spec, old));
    }
    causes.extend(stored_versions(definition));
    if old.is_none() {
        causes.extend(approval(definition));
    }
    if spec["preserveUnknownFields"] == true {
        let why =
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        causes.push(Cause::invalid("spec.preserveUnknownFields", &true.into(), why));
    }
    causes
}

fn validate_spec(spec: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    match text(&spec["group"]) {
        "" => causes.push(Cause::required("spec.group", "")),
        group => {
            let faults = names::subdomain(group);
            if !faults.is_empty() {
                causes.push(Cause::invalid("spec.group", &group.into(), faults.join(",")));
            } else if !group.contains('.') {
                let why = "should be a domain with at least one dot";
                causes.push(Cause::invalid("spec.group", &group.into(), why));
            }
        }
    }
    causes.extend(one_of("spec.scope", text(&spec["scope"]), &SCOPES));
    let versions = spec["versions"].as_array().map_or(&[][..], Vec::as_slice);
    let shared = Shared::of(versions);
    for (index, version) in versions.iter().enumerate() {
        let schema = version.pointer("/schema/openAPIV3Schema");
        if version["served"] == true && schema.is_none_or(Value::is_null) {
            causes.push(Cause::required(
                format!("spec.versions[{index}].schema.openAPIV3Schema"),
                "",
            ));
        }
    }
    for (index, version) in versions.iter().enumerate() {
        let path = format!("spec.versions[{index}]");
        let faults = names::label_1035(text(&version["name"]));
        if !faults.is_empty() {
            causes.push(Cause::invalid(
                format!("{path}.name"),
                &version["name"],
                faults.join(","),
            ));
        }
        if !shared.schema {
            causes.extend(schema(version, &format!("{path}.schema")));
        }
        if !shared.subresources {
            causes.extend(subresources(&version["subresources"], &format!("{path}.subresources")));
        }
        if !shared.columns {
            causes.extend(columns(
                &version["additionalPrinterColumns"],
                &format!("{path}.additionalPrinterColumns"),
            ));
        }
        if !shared.selectable {
            causes.extend(selectable(version, &format!("{path}.selectableFields")));
        }
    }
    let mut seen: Vec<&Value> = Vec::new();
    if versions.iter().any(|v| {
        seen.contains(&&v["name"]) || {
            seen.push(&v["name"]);
            false
        }
    }) {
        causes.push(Cause::invalid(
            "spec.versions",
            &spec["versions"],
            "must contain unique version names",
        ));
    }
    if versions.iter().filter(|v| v["storage"] == true).count() != 1 {
        let why = "must have exactly one version marked as storage version";
        causes.push(Cause::invalid("spec.versions", &spec["versions"], why));
    }
    causes.extend(definition_names(&spec["names"]));
    if let Some(first) = versions.first() {
        if shared.schema {
            causes.extend(schema(first, "spec.validation"));
        }
        if shared.subresources {
            causes.extend(subresources(&first["subresources"], "spec.subresources"));
        }
        if shared.columns {
            causes.extend(columns(
                &first["additionalPrinterColumns"],
                "spec.additionalPrinterColumns",
            ));
        }
        if shared.selectable {
            causes.extend(selectable(first, "spec.selectableFields"));
        }
    }
    causes.extend(conversion(&spec["conversion"]));
    causes
}

/// What all versions have in common: the real server reports faults in that once, under another path.
struct Shared {
    schema: bool,
    subresources: bool,
    columns: bool,
    selectable: bool,
}

impl Shared {
    fn of(versions: &[Value]) -> Self {
        let same = |field: &str| versions.windows(2).all(|pair| pair[0].get(field) == pair[1].get(field));
        Self {
            schema: same("schema"),
            subresources: same("subresources"),
            columns: same("additionalPrinterColumns"),
            selectable: same("selectableFields"),
        }
    }
}

fn schema(version: &Value, path: &str) -> Vec<Cause> {
    let Some(schema) = version.pointer("/schema/openAPIV3Schema").filter(|s| s.is_object()) else {
        return Vec::new();
    };
    let status = version.pointer("/subresources/status").is_some_and(|s| !s.is_null());
    structural::validate(schema, &format!("{path}.openAPIV3Schema"), status)
}

fn definition_names(given: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let required = ["plural", "singular", "kind", "listKind"];
    for field in required {
        if text(&given[field]).is_empty() {
            causes.push(Cause::required(format!("spec.names.{field}"), ""));
        }
    }
    let mut check = |path: String, name: &str, mixed: bool| {
        let faults = names::label_1035(&if mixed { name.to_lowercase() } else { name.to_owned() });
        if !name.is_empty() && !faults.is_empty() {
            let prefix = if mixed {
                "may have mixed case, but should otherwise match: "
            } else {
                ""
            };
            causes.push(Cause::invalid(
                path,
                &name.into(),
                format!("{prefix}{}", faults.join(",")),
            ));
        }
    };
    for field in required {
        check(
            format!("spec.names.{field}"),
            text(&given[field]),
            field.to_lowercase().ends_with("kind"),
        );
    }
    for (index, name) in given["shortNames"].as_array().into_iter().flatten().enumerate() {
        check(format!("spec.names.shortNames[{index}]"), text(name), false);
    }
    let ambiguous = !text(&given["kind"]).is_empty() && given["kind"] == given["listKind"];
    for (index, name) in given["categories"].as_array().into_iter().flatten().enumerate() {
        check(format!("spec.names.categories[{index}]"), text(name), false);
    }
    if ambiguous {
        causes.push(Cause::invalid(
            "spec.names.listKind",
            &given["listKind"],
            "kind and listKind may not be the same",
        ));
    }
    causes
}

fn subresources(declared: &Value, path: &str) -> Vec<Cause> {
    let scale = &declared["scale"];
    if scale.is_null() {
        return Vec::new();
    }
    let mut causes = Vec::new();
    for (field, roots, whose) in [
        ("specReplicasPath", &[".spec."][..], "under .spec"),
        ("statusReplicasPath", &[".status."][..], "under .status"),
        (
            "labelSelectorPath",
            &[".spec.", ".status."][..],
            "under either .spec or .status",
        ),
    ] {
        let at = format!("{path}.scale.{field}");
        match text(&scale[field]) {
            "" if field == "labelSelectorPath" => {}
            "" => causes.push(Cause::required(at, "")),
            given => match simple_path(given, &at) {
                Some(cause) => causes.push(cause),
                None if roots.iter().any(|root| given.starts_with(root)) => {}
                None => causes.push(Cause::invalid(
                    at,
                    &given.into(),
                    format!("should be a json path {whose}"),
                )),
            },
        }
    }
    causes
}

fn columns(declared: &Value, path: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (index, column) in declared.as_array().into_iter().flatten().enumerate() {
        let at = |field: &str| format!("{path}[{index}].{field}");
        if text(&column["name"]).is_empty() {
            causes.push(Cause::required(at("name"), ""));
        }
        let types = format!("must be one of {}", COLUMN_TYPES.join(","));
        match text(&column["type"]) {
            "" => causes.push(Cause::required(at("type"), types)),
            given if COLUMN_TYPES.contains(&given) => {}
            given => causes.push(Cause::invalid(at("type"), &given.into(), types)),
        }
        let format = text(&column["format"]);
        if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
            let why = format!("must be one of {}", COLUMN_FORMATS.join(","));
            causes.push(Cause::invalid(at("format"), &format.into(), why));
        }
        match text(&column["jsonPath"]) {
            "" => causes.push(Cause::required(at("JSONPath"), "")),
            given => causes.extend(simple_path(given, &at("JSONPath"))),
        }
    }
    causes
}

/// Whether a path starts with a dot and its brackets pair; filters and wildcards are allowed.
fn simple_path(path: &str, at: &str) -> Option<Cause> {
    if !path.starts_with('.') {
        return Some(Cause::invalid(
            at,
            &path.into(),
            "must be a simple json path starting with .",
        ));
    }
    if path.matches('[').count() != path.matches(']').count() {
        return Some(Cause::invalid(
            at,
            &path.into(),
            "must be a simple json path with only one path expression",
        ));
    }
    None
}

fn selectable(version: &Value, path: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    let schema = &version["schema"]["openAPIV3Schema"];
    for (index, field) in version["selectableFields"].as_array().into_iter().flatten().enumerate() {
        let at = format!("{path}[{index}].jsonPath");
        let given = text(&field["jsonPath"]);
        if given.is_empty() {
            causes.push(Cause::required(at, ""));
            continue;
        }
        let value: Value = given.into();
        if !given.starts_with(['.', '[']) {
            let head = given.split(['.', '[']).next().unwrap_or(given);
            let why = format!("is an invalid path: expected [ or . but got: {head}");
            causes.push(Cause::invalid(at, &value, why));
            continue;
        }
        if seen.contains(&given) {
            causes.push(Cause::duplicate(at.as_str(), &value));
        }
        seen.push(given);
        match schema_at(schema, given) {
            None => causes.push(Cause::invalid(
                at,
                &value,
                "is an invalid path: does not refer to a valid field",
            )),
            Some(found) if matches!(text(&found["type"]), "string" | "boolean" | "integer") => {}
            Some(_) => {
                let why = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
                causes.push(Cause::invalid(at, &value, why));
            }
        }
    }
    causes
}

fn schema_at<'s>(schema: &'s Value, path: &str) -> Option<&'s Value> {
    let mut found = schema;
    for (depth, step) in path.trim_start_matches('.').split('.').enumerate() {
        if depth == 0 && step == "metadata" {
            return None;
        }
        found = found.get("properties")?.get(step)?;
    }
    Some(found)
}

fn conversion(given: &Value) -> Vec<Cause> {
    if given.is_null() {
        return Vec::new();
    }
    let mut causes: Vec<Cause> = one_of("spec.conversion.strategy", text(&given["strategy"]), &STRATEGIES).collect();
    let (client, versions) = (
        &given["webhook"]["clientConfig"],
        &given["webhook"]["conversionReviewVersions"],
    );
    let (client_at, versions_at) = (
        "spec.conversion.webhookClientConfig",
        "spec.conversion.conversionReviewVersions",
    );
    let versions_given = versions.as_array().map_or(&[][..], Vec::as_slice);
    if given["strategy"] != "Webhook" {
        let why = "should not be set when strategy is not set to Webhook";
        if !client.is_null() {
            causes.push(Cause::forbidden(client_at, why));
        }
        if !versions_given.is_empty() {
            causes.push(Cause::forbidden(versions_at, why));
        }
        return causes;
    }
    match (client, client["url"].as_str(), client["service"].as_object()) {
        (Value::Null, ..) => causes.push(Cause::required(client_at, "required when strategy is set to Webhook")),
        (_, Some(url), None) => causes.extend(webhook_url(url, &format!("{client_at}.url"))),
        (_, None, Some(service)) => {
            for field in ["name", "namespace"] {
                if service.get(field).map_or("", text).is_empty() {
                    let why = format!("service {field} is required");
                    causes.push(Cause::required(format!("{client_at}.service.{field}"), why));
                }
            }
        }
        _ => causes.push(Cause::required(client_at, "exactly one of url or service is required")),
    }
    if versions_given.is_empty() {
        causes.push(Cause::required(versions_at, ""));
    } else if !versions_given.iter().any(|v| matches!(text(v), "v1" | "v1beta1")) {
        causes.push(Cause::invalid(
            versions_at,
            versions,
            "must include at least one of v1, v1beta1",
        ));
    }
    causes
}

fn webhook_url(url: &str, at: &str) -> Option<Cause> {
    let desired = "desired format: https://host[/path]";
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    if scheme != "https" {
        let why = format!("'https' is the only allowed URL scheme; {desired}");
        return Some(Cause::invalid(at, &scheme.into(), why));
    }
    let host = rest.split('/').next().unwrap_or_default();
    if host.is_empty() {
        return Some(Cause::invalid(
            at,
            &"".into(),
            format!("host must be specified; {desired}"),
        ));
    }
    None
}

/// A definition that serves already keeps its scope and kind; group and plural make its name.
fn immutable(spec: &Value, old: &Value) -> Vec<Cause> {
    let before = &old["spec"];
    let conditions = old["status"]["conditions"].as_array();
    let established = conditions
        .into_iter()
        .flatten()
        .any(|c| c["type"] == "Established" && c["status"] == "True");
    let always = [
        ("spec.group", &spec["group"], &before["group"]),
        (
            "spec.names.plural",
            &spec["names"]["plural"],
            &before["names"]["plural"],
        ),
    ];
    let then = [
        ("spec.scope", &spec["scope"], &before["scope"]),
        ("spec.names.kind", &spec["names"]["kind"], &before["names"]["kind"]),
    ];
    then.into_iter()
        .filter(|_| established)
        .chain(always)
        .filter(|(_, new, old)| new != old)
        .map(|(path, new, _)| Cause::invalid(path, new, "field is immutable"))
        .collect()
}

fn stored_versions(definition: &Value) -> Vec<Cause> {
    let path = "status.storedVersions";
    let stored = &definition["status"]["storedVersions"];
    let Some(list) = stored.as_array().filter(|list| !list.is_empty()) else {
        return vec![Cause::invalid(path, stored, "must have at least one stored version")];
    };
    let declared = definition["spec"]["versions"].as_array().map_or(&[][..], Vec::as_slice);
    list.iter()
        .enumerate()
        .filter(|(_, stored)| !declared.iter().any(|v| v["name"] == **stored))
        .map(|(index, stored)| {
            let name = text(stored);
            let why = format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
            );
            Cause::invalid(format!("{path}[{index}]"), stored, why)
        })
        .collect()
}

/// Kubernetes' own groups need the word of its maintainers.
fn approval(definition: &Value) -> Option<Cause> {
    let group = text(&definition["spec"]["group"]);
    let protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|own| group == *own || group.ends_with(&format!(".{own}")));
    if !protected {
        return None;
    }
    let at = format!("metadata.annotations[{APPROVAL}]");
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    let must = format!("protected groups must have approval annotation {APPROVAL:?}");
    let given = definition["metadata"]["annotations"].get(APPROVAL).map_or("", text);
    match given {
        "" => Some(Cause::required(at, format!("{must}, {see}"))),
        given if given.starts_with("unapproved") || given.contains("://") => None,
        given => {
            let why = format!("{must} with either a URL or a reason starting with \"unapproved\", {see}");
            Some(Cause::invalid(at, &given.into(), why))
        }
    }
}

fn one_of(path: &str, given: &str, allowed: &[&str]) -> impl Iterator<Item = Cause> {
    let cause = match given {
        "" => Some(Cause::required(path, "")),
        given if allowed.contains(&given) => None,
        given => Some(Cause::unsupported(path, &given.into(), allowed)),
    };
    cause.into_iter()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
