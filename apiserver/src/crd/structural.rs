//! What makes a schema structural: every node typed, junctors that only restrict, list types that fit, defaults that
//! hold.

use serde_json::{Map, Value};

use super::rule_budget::Budget;
use super::rule_checks;
use crate::error::Cause;
use crate::schema::Schema;

const JUNCTORS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// What is wrong with the root schema at `path`; `status` says whether the status subresource is on.
pub(super) fn validate(schema: &Value, path: &str, status: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    if schema["nullable"] == true {
        causes.push(Cause::forbidden(
            format!("{path}.nullable"),
            "nullable cannot be true at the root",
        ));
    }
    if status {
        causes.extend(root_with_status(schema, path));
    }
    forbidden(schema, path, &mut causes);
    if causes.iter().any(|cause| cause.message.ends_with("is not supported")) {
        // What holds such keywords is no structural schema to begin with.
        return causes;
    }
    let mut structural = Vec::new();
    invariants(schema, Level::Root, path, &mut structural);
    if structural.is_empty() {
        defaults(schema, path, &mut causes);
        rules(schema, path, &mut causes);
    }
    structural.sort_by_key(Cause::sentence);
    causes.extend(structural);
    causes
}

/// With the status apart, the root may only hold what does not tie the status to the rest.
fn root_with_status(schema: &Value, path: &str) -> Option<Cause> {
    if schema.get("type").is_some_and(|t| t != "object") {
        let why =
            "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
        return Some(Cause::invalid(format!("{path}.type"), &schema["type"], why));
    }
    None
}

/// What no schema may use, whether structural or not.
fn forbidden(schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    let Some(map) = schema.as_object() else { return };
    for (field, name) in [
        ("id", "id"),
        ("additionalItems", "additionalItems"),
        ("patternProperties", "patternProperties"),
        ("definitions", "definitions"),
        ("dependencies", "dependencies"),
        ("$ref", "$ref"),
    ] {
        if is_set(map, field) {
            causes.push(Cause::forbidden(
                format!("{path}.{field}"),
                format!("{name} is not supported"),
            ));
        }
    }
    if map.get("type").is_some_and(|t| t == "null") {
        let why = "type cannot be set to null, use nullable as an alternative";
        causes.push(Cause::forbidden(format!("{path}.type"), why));
    }
    if map.get("items").is_some_and(Value::is_array) {
        causes.push(Cause::forbidden(
            format!("{path}.items"),
            "items must be a schema object and not an array",
        ));
    }
    if map.get("uniqueItems") == Some(&Value::Bool(true)) {
        let why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        causes.push(Cause::forbidden(format!("{path}.uniqueItems"), why));
    }
    let additional = map.get("additionalProperties").filter(|a| !a.is_null());
    if additional.is_some_and(|a| *a != Value::Bool(true)) && is_set(map, "properties") {
        let why = "additionalProperties and properties are mutual exclusive";
        causes.push(Cause::forbidden(format!("{path}.additionalProperties"), why));
    }
    each_below(map, path, &mut |below, at| forbidden(below, at, causes));
    extensions(map, path, causes);
}

/// The rules of `x-kubernetes-*`.
fn extensions(map: &Map<String, Value>, path: &str, causes: &mut Vec<Cause>) {
    let kind = map.get("type").and_then(Value::as_str).unwrap_or_default();
    let at = |field: &str| format!("{path}.{field}");
    if map.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        causes.push(Cause::invalid(
            at("x-kubernetes-preserve-unknown-fields"),
            &false.into(),
            "must be true or undefined",
        ));
    }
    let mut typed = |extension: &str, wanted: &str, allowed: &[&str]| {
        let Some(given) = map.get(extension).and_then(Value::as_str) else {
            return;
        };
        if kind != wanted {
            let why = format!("must be {wanted} if {extension} is specified");
            causes.push(if kind.is_empty() {
                Cause::required(at("type"), why)
            } else {
                Cause::invalid(at("type"), &kind.into(), why)
            });
        }
        if !allowed.contains(&given) {
            causes.push(Cause::unsupported(at(extension), &given.into(), allowed));
        }
    };
    typed("x-kubernetes-map-type", "object", &["atomic", "granular"]);
    typed("x-kubernetes-list-type", "array", &["atomic", "set", "map"]);
    list_map(map, path, causes);
}

fn list_map(map: &Map<String, Value>, path: &str, causes: &mut Vec<Cause>) {
    let at = |field: &str| format!("{path}.{field}");
    let list_type = map.get("x-kubernetes-list-type").and_then(Value::as_str);
    let given = map.get("x-kubernetes-list-map-keys").unwrap_or(&Value::Null);
    let keys: Vec<&str> = given
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if !keys.is_empty() && list_type != Some("map") {
        let why = "must be map if x-kubernetes-list-map-keys is non-empty";
        causes.push(match list_type {
            None => Cause::required(at("x-kubernetes-list-type"), why),
            Some(other) => Cause::invalid(at("x-kubernetes-list-type"), &other.into(), why),
        });
    }
    let items = map.get("items").filter(|items| !items.is_null());
    let item = items.unwrap_or(&Value::Null);
    if list_type == Some("map") {
        if keys.is_empty() {
            let why = "must not be empty if x-kubernetes-list-type is map";
            causes.push(Cause::required(at("x-kubernetes-list-map-keys"), why));
        }
        if items.is_none() {
            causes.push(Cause::required(
                at("items"),
                "must have a schema if x-kubernetes-list-type is map",
            ));
        } else if item["type"] != "object" {
            let why = "must be object if parent array's x-kubernetes-list-type is map";
            let kind = item["type"].as_str().unwrap_or_default();
            causes.push(Cause::invalid(at("items.type"), &kind.into(), why));
        } else {
            for (index, key) in keys.iter().enumerate() {
                match item["properties"].get(key) {
                    Some(property) if property["type"] == "array" || property["type"] == "object" => {
                        let why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                        causes.push(Cause::invalid(
                            at(&format!("items.properties[{key}].type")),
                            &item["type"],
                            why,
                        ));
                    }
                    Some(_) => {}
                    None => {
                        let why = "entries must all be names of item properties";
                        causes.push(Cause::invalid(at("x-kubernetes-list-map-keys"), given, why));
                    }
                }
                if keys[..index].contains(key) {
                    let why = "must not contain duplicate entries";
                    causes.push(Cause::invalid(at("x-kubernetes-list-map-keys"), given, why));
                }
            }
        }
    }
    let Some(list_type @ ("map" | "set")) = list_type else {
        return;
    };
    if item["nullable"] == true {
        let why = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        causes.push(Cause::forbidden(at("items.nullable"), why));
    }
    if list_type != "map" {
        return;
    }
    let required = item["required"].as_array().map_or(&[][..], Vec::as_slice);
    for key in keys {
        let Some(property) = item["properties"].get(key) else {
            continue;
        };
        let path = at(&format!("items.properties[{key}]"));
        let because = "this property is in x-kubernetes-list-map-keys, so it";
        if !required.iter().any(|r| r == key) && property.get("default").is_none_or(Value::is_null) {
            let why = format!("{because} must have a default or be a required property");
            causes.push(Cause::required(format!("{path}.default"), why));
        }
        if property["nullable"] == true {
            causes.push(Cause::forbidden(
                format!("{path}.nullable"),
                format!("{because} cannot be nullable"),
            ));
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Level {
    Root,
    Field,
    Item,
}

/// What every node outside junctors must fulfil.
fn invariants(schema: &Value, level: Level, path: &str, causes: &mut Vec<Cause>) {
    let Some(map) = schema.as_object() else { return };
    let at = |field: &str| format!("{path}.{field}");
    let on = |field: &str| map.get(field) == Some(&Value::Bool(true));
    let kind = map.get("type").and_then(Value::as_str).unwrap_or_default();
    let (embedded, preserve) = (
        on("x-kubernetes-embedded-resource"),
        on("x-kubernetes-preserve-unknown-fields"),
    );
    if kind == "array" && !is_set(map, "items") {
        causes.push(Cause::required(at("items"), "must be specified"));
    }
    if let Some(items) = map.get("items").filter(|items| items.is_object()) {
        invariants(items, Level::Item, &at("items"), causes);
        set_items(map, items, &at("items"), causes);
    }
    for (key, property) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
        // Root metadata is checked as a whole below.
        if !(key == "metadata" && level == Level::Root) {
            invariants(property, Level::Field, &at(&format!("properties[{key}]")), causes);
        }
    }
    if let Some(additional) = map.get("additionalProperties").filter(|a| a.is_object()) {
        invariants(additional, Level::Field, &at("additionalProperties"), causes);
        if level == Level::Root {
            causes.push(Cause::forbidden(
                at("additionalProperties"),
                "must not be used at the root",
            ));
        }
        if embedded {
            let why = "must not be used if x-kubernetes-embedded-resource is set";
            causes.push(Cause::forbidden(at("additionalProperties"), why));
        }
    }
    if on("x-kubernetes-int-or-string") {
        for field in ["x-kubernetes-embedded-resource", "x-kubernetes-preserve-unknown-fields"] {
            if on(field) {
                let why = "must be false if x-kubernetes-int-or-string is true";
                causes.push(Cause::invalid(at(field), &true.into(), why));
            }
        }
    }
    junctors(map, path, on("x-kubernetes-int-or-string"), causes);
    if embedded && kind != "object" {
        let why = "must be object if x-kubernetes-embedded-resource is true";
        causes.push(if kind.is_empty() {
            Cause::required(at("type"), why)
        } else {
            Cause::invalid(at("type"), &kind.into(), why)
        });
    } else if kind.is_empty() && !on("x-kubernetes-int-or-string") && !preserve {
        let whose = match level {
            Level::Root => "at the root",
            Level::Item => "for specified array items",
            Level::Field => "for specified object fields",
        };
        causes.push(Cause::required(at("type"), format!("must not be empty {whose}")));
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        causes.push(Cause::invalid(at("type"), &kind.into(), "must be object at the root"));
    }
    if level == Level::Root || embedded {
        whole_object(map, level, path, causes);
    }
    if embedded && !preserve && !is_set(map, "properties") {
        let why =
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        causes.push(Cause::required(at("properties"), why));
    }
}

/// Items of a set must be compared as a whole.
fn set_items(map: &Map<String, Value>, items: &Value, path: &str, causes: &mut Vec<Cause>) {
    if map.get("x-kubernetes-list-type").is_none_or(|t| t != "set") {
        return;
    }
    let extension = match items["type"].as_str() {
        Some("object") => "x-kubernetes-map-type",
        Some("array") => "x-kubernetes-list-type",
        _ => return,
    };
    if items[extension] != "atomic" {
        let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
        causes.push(Cause::invalid(format!("{path}.{extension}"), &items[extension], why));
    }
}

/// The fields that every object has may be restricted only in some ways.
fn whole_object(map: &Map<String, Value>, level: Level, path: &str, causes: &mut Vec<Cause>) {
    let properties = map.get("properties").and_then(Value::as_object);
    for field in ["apiVersion", "kind"] {
        if let Some(given) = properties.and_then(|p| p.get(field))
            && given["type"] != "string"
        {
            let kind = given["type"].as_str().unwrap_or_default();
            let at = format!("{path}.properties[{field}].type");
            causes.push(Cause::invalid(at, &kind.into(), "must be string"));
        }
    }
    let Some(metadata) = properties.and_then(|p| p.get("metadata")) else {
        return;
    };
    let path = format!("{path}.properties[metadata]");
    if metadata["type"] != "object" {
        let kind = metadata["type"].as_str().unwrap_or_default();
        causes.push(Cause::invalid(format!("{path}.type"), &kind.into(), "must be object"));
    }
    let allowed = metadata
        .as_object()
        .into_iter()
        .flatten()
        .all(|(key, value)| match key.as_str() {
            "type" | "default" => true,
            "properties" => value
                .as_object()
                .into_iter()
                .flatten()
                .all(|(name, _)| name == "name" || name == "generateName"),
            _ => value.is_null() || *value == Value::Bool(false),
        });
    if level == Level::Root && !allowed {
        let why = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        causes.push(Cause::forbidden(path, why));
    }
}

/// Inside junctors, only validations of values are allowed.
fn junctors(map: &Map<String, Value>, path: &str, int_or_string: bool, causes: &mut Vec<Cause>) {
    for junctor in JUNCTORS {
        for (index, branch) in map
            .get(junctor)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .enumerate()
        {
            // The way to write int-or-string for clients that do not know the extension.
            let excused = int_or_string
                && (junctor == "anyOf" && is_int_or_string(map.get("anyOf"))
                    || junctor == "allOf" && index == 0 && is_int_or_string(branch.get("anyOf")));
            if !excused {
                branch_of(branch, &format!("{path}.{junctor}[{index}]"), causes);
            }
        }
    }
    if let Some(not) = map.get("not") {
        branch_of(not, &format!("{path}.not"), causes);
    }
}

fn branch_of(branch: &Value, path: &str, causes: &mut Vec<Cause>) {
    let Some(map) = branch.as_object() else { return };
    junctors(map, path, false, causes);
    if let Some(items) = map.get("items") {
        branch_of(items, &format!("{path}.items"), causes);
    }
    for (key, property) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let path = format!("{path}.properties[{key}]");
        if key == "metadata" {
            causes.push(Cause::forbidden(
                path.as_str(),
                "must not be specified in a nested context",
            ));
        }
        branch_of(property, &path, causes);
    }
    for (field, state) in [
        ("type", "empty"),
        ("additionalProperties", "undefined"),
        ("default", "undefined"),
        ("title", "empty"),
        ("description", "empty"),
        ("nullable", "false"),
        ("x-kubernetes-preserve-unknown-fields", "false"),
        ("x-kubernetes-embedded-resource", "false"),
        ("x-kubernetes-int-or-string", "false"),
        ("x-kubernetes-list-map-keys", "empty"),
        ("x-kubernetes-list-type", "undefined"),
        ("x-kubernetes-map-type", "undefined"),
    ] {
        if is_set(map, field) {
            causes.push(Cause::forbidden(
                format!("{path}.{field}"),
                format!("must be {state} to be structural"),
            ));
        }
    }
}

/// The rules of every node, and what they cost together.
fn rules(schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    let mut budget = Budget::default();
    let root = Place {
        is_root: true,
        uncorrelatable: None,
        often: Some(1),
    };
    rules_below(schema, path, root, &mut budget, causes);
    budget.check(path, causes);
}

/// Where a node stands.
#[derive(Clone, Copy)]
struct Place<'p> {
    is_root: bool,
    /// The list above whose items have no old selves to meet: every one but those of type map.
    uncorrelatable: Option<&'p str>,
    /// How often a value can come; `None` where nothing bounds it.
    often: Option<u64>,
}

fn rules_below(schema: &Value, path: &str, place: Place<'_>, budget: &mut Budget, causes: &mut Vec<Cause>) {
    let cost = (&mut *budget, place.often);
    rule_checks::check(schema, path, place.is_root, place.uncorrelatable, cost, causes);
    let Some(map) = schema.as_object() else { return };
    let bounded = |bound: &str| {
        let most = map.get(bound).and_then(Value::as_u64)?;
        Some(place.often?.saturating_mul(most))
    };
    let below = Place {
        is_root: false,
        ..place
    };
    for (key, property) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
        rules_below(property, &format!("{path}.properties[{key}]"), below, budget, causes);
    }
    if let Some(items) = map.get("items").filter(|items| items.is_object()) {
        let by_key = map.get("x-kubernetes-list-type").is_some_and(|t| t == "map");
        let of_list = if by_key {
            place.uncorrelatable
        } else {
            place.uncorrelatable.or(Some(path))
        };
        let below = Place {
            uncorrelatable: of_list,
            often: bounded("maxItems"),
            ..below
        };
        rules_below(items, &format!("{path}.items"), below, budget, causes);
    }
    if let Some(additional) = map.get("additionalProperties").filter(|a| a.is_object()) {
        let below = Place {
            often: bounded("maxProperties"),
            ..below
        };
        rules_below(
            additional,
            &format!("{path}.additionalProperties"),
            below,
            budget,
            causes,
        );
    }
}

/// Defaults have no unknown fields and are valid themselves.
fn defaults(schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    let Some(map) = schema.as_object() else { return };
    if let Some(default) = map.get("default").filter(|d| !d.is_null()) {
        let at = format!("{path}.default");
        let part = Schema::part(schema);
        let mut pruned = default.clone();
        if part.prune(&mut pruned).is_empty() {
            for mut cause in part.validate(default, None) {
                cause.field = match &*cause.field {
                    "" => at.clone(),
                    "<nil>" => at.clone(),
                    below if below.starts_with('[') => format!("{at}{below}"),
                    below => format!("{at}.{below}"),
                };
                causes.push(cause);
            }
        } else {
            causes.push(Cause::invalid(at, default, "must not have unknown fields"));
        }
    }
    for (key, property) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
        defaults(property, &format!("{path}.properties[{key}]"), causes);
    }
    for field in ["items", "additionalProperties"] {
        if let Some(below) = map.get(field) {
            defaults(below, &format!("{path}.{field}"), causes);
        }
    }
}

fn each_below(map: &Map<String, Value>, path: &str, visit: &mut dyn FnMut(&Value, &str)) {
    for field in ["additionalProperties", "not", "items"] {
        if let Some(below) = map.get(field) {
            visit(below, &format!("{path}.{field}"));
        }
    }
    for (key, below) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
        visit(below, &format!("{path}.properties[{key}]"));
    }
    for junctor in JUNCTORS {
        for (index, below) in map
            .get(junctor)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .enumerate()
        {
            visit(below, &format!("{path}.{junctor}[{index}]"));
        }
    }
}

fn is_int_or_string(any_of: Option<&Value>) -> bool {
    let branches = any_of.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    matches!(branches, [a, b] if a["type"] == "integer" && b["type"] == "string")
}

/// Whether a keyword says anything: nulls, false and empty values do not.
fn is_set(map: &Map<String, Value>, field: &str) -> bool {
    match map.get(field) {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::Object(map)) => !map.is_empty() || field == "items" || field == "additionalItems",
        Some(_) => true,
    }
}
