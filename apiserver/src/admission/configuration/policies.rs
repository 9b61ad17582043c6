//! Admission policies and their bindings.

use serde_json::Value;

use super::expressions::{REQUEST, conditions, expression};
use super::rules::{rule, selector};
use super::{list, one_of, text};
use crate::error::Cause;

const NOTHING: &str = "validations or auditAnnotations must contain at least one item";

pub(super) fn validating(policy: &Value) -> Vec<Cause> {
    let spec = &policy["spec"];
    let mut causes = Vec::new();
    let scope = common(spec, &mut causes);
    let (known, variables) = scope.names();
    if list(spec, "validations").is_empty() && list(spec, "auditAnnotations").is_empty() {
        causes.push(Cause::required("spec.validations", NOTHING));
        causes.push(Cause::required("spec.auditAnnotations", NOTHING));
    }
    for (index, validation) in list(spec, "validations").iter().enumerate() {
        let path = format!("spec.validations[{index}]");
        let at = format!("{path}.expression");
        expression(
            text(validation, "expression"),
            &at,
            &known,
            &variables,
            Some("bool"),
            &mut causes,
        );
        if let Some(message) = validation["messageExpression"].as_str().filter(|m| !m.is_empty()) {
            let at = format!("{path}.messageExpression");
            expression(message, &at, &known, &variables, Some("string"), &mut causes);
        }
        self::message(validation, &path, &mut causes);
        let reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
        one_of(validation, "reason", &format!("{path}."), &reasons, &mut causes);
    }
    causes
}

pub(super) fn mutating(policy: &Value) -> Vec<Cause> {
    let spec = &policy["spec"];
    let mut causes = Vec::new();
    let scope = common(spec, &mut causes);
    let (known, variables) = scope.names();
    if list(spec, "mutations").is_empty() {
        causes.push(Cause::required(
            "spec.mutations",
            "mutations must contain at least one item",
        ));
    }
    for (index, mutation) in list(spec, "mutations").iter().enumerate() {
        let path = format!("spec.mutations[{index}]");
        let kinds = [
            ("ApplyConfiguration", "applyConfiguration", "Object"),
            ("JSONPatch", "jsonPatch", "list(JSONPatch)"),
        ];
        one_of(
            mutation,
            "patchType",
            &format!("{path}."),
            &["ApplyConfiguration", "JSONPatch"],
            &mut causes,
        );
        for (kind, field, wanted) in kinds.iter().filter(|(kind, ..)| mutation["patchType"] == *kind) {
            let at = format!("{path}.{field}");
            if mutation[*field].is_null() {
                causes.push(Cause::required(
                    &at,
                    format!("must be specified when patchType is {kind}"),
                ));
            } else {
                let body = text(&mutation[*field], "expression");
                expression(
                    body,
                    &format!("{at}.expression"),
                    &known,
                    &variables,
                    Some(wanted),
                    &mut causes,
                );
            }
            for (_, other, _) in kinds
                .iter()
                .filter(|(_, other, _)| other != field && !mutation[*other].is_null())
            {
                let detail = format!("must not be specified when patchType is {kind}");
                let shown = format!("{{{other}}}").into();
                causes.push(Cause::invalid(format!("{path}.{other}"), &shown, detail));
            }
        }
    }
    if spec["reinvocationPolicy"].is_null() {
        causes.push(Cause::required("spec.reinvocationPolicy", ""));
    }
    one_of(spec, "reinvocationPolicy", "spec.", &["IfNeeded", "Never"], &mut causes);
    causes
}

pub(super) fn binding(binding: &Value) -> Vec<Cause> {
    let spec = &binding["spec"];
    let mut causes = Vec::new();
    if text(spec, "policyName").is_empty() {
        causes.push(Cause::required("spec.policyName", ""));
    }
    let reference = &spec["paramRef"];
    if !reference.is_null() {
        let (name, selected) = (text(reference, "name"), !reference["selector"].is_null());
        if name.is_empty() != selected {
            causes.push(Cause::required(
                "spec.paramRef",
                "one of name or selector must be specified",
            ));
        }
        if reference["parameterNotFoundAction"].is_null() {
            causes.push(Cause::required("spec.paramRef.parameterNotFoundAction", ""));
        }
        one_of(
            reference,
            "parameterNotFoundAction",
            "spec.paramRef.",
            &["Allow", "Deny"],
            &mut causes,
        );
    }
    if !spec["matchResources"].is_null() {
        match_resources(&spec["matchResources"], "spec.matchResources", &mut causes);
    }
    causes
}

pub(super) fn validating_binding(binding: &Value) -> Vec<Cause> {
    let mut causes = self::binding(binding);
    let actions = list(&binding["spec"], "validationActions");
    let path = "spec.validationActions";
    if actions.is_empty() {
        causes.push(Cause::required(path, "at least one validation action is required"));
    }
    let known = ["Audit", "Deny", "Warn"];
    for (index, action) in actions.iter().enumerate() {
        if !known.iter().any(|word| action == word) {
            causes.push(Cause::unsupported(format!("{path}[{index}]"), action, &known));
        } else if actions[..index].contains(action) {
            causes.push(Cause::duplicate(format!("{path}[{index}]"), action));
        }
    }
    if ["Deny", "Warn"]
        .iter()
        .all(|word| actions.iter().any(|action| action == word))
    {
        let detail = "must not contain both Deny and Warn (repeating the same validation failure information in the \
                      API response and headers serves no purpose)";
        causes.push(Cause::invalid(path, &binding["spec"]["validationActions"], detail));
    }
    causes
}

/// What the expressions of a policy may name.
struct Scope {
    known: Vec<&'static str>,
    variables: Vec<String>,
}

impl Scope {
    fn names(&self) -> (Vec<&str>, Vec<&str>) {
        (self.known.clone(), self.variables.iter().map(String::as_str).collect())
    }
}

/// Checks what both kinds of policies have.
fn common(spec: &Value, causes: &mut Vec<Cause>) -> Scope {
    one_of(spec, "failurePolicy", "spec.", &["Fail", "Ignore"], causes);
    let mut known: Vec<&'static str> = REQUEST.to_vec();
    let kind = &spec["paramKind"];
    if !kind.is_null() {
        known.push("params");
        for field in ["apiVersion", "kind"] {
            if text(kind, field).is_empty() {
                causes.push(Cause::required(format!("spec.paramKind.{field}"), ""));
            }
        }
    }
    let constraints = &spec["matchConstraints"];
    if constraints.is_null() {
        causes.push(Cause::required("spec.matchConstraints", ""));
    } else {
        if list(constraints, "resourceRules").is_empty() {
            causes.push(Cause::required("spec.matchConstraints.resourceRules", ""));
        }
        match_resources(constraints, "spec.matchConstraints", causes);
    }
    conditions(spec, "spec.", &known, causes);
    known.push("variables");
    let mut scope = Scope {
        known,
        variables: Vec::new(),
    };
    for (index, variable) in list(spec, "variables").iter().enumerate() {
        let path = format!("spec.variables[{index}]");
        let name = text(variable, "name");
        let identifier = name
            .bytes()
            .next()
            .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let (known, variables) = scope.names();
        let at = format!("{path}.expression");
        if name.is_empty() {
            causes.push(Cause::required(format!("{path}.name"), "name is not specified"));
        } else if !identifier {
            causes.push(Cause::invalid(
                format!("{path}.name"),
                &name.into(),
                "must be a valid CEL identifier",
            ));
        } else if variables.contains(&name) {
            causes.push(Cause::duplicate(format!("{path}.name"), &name.into()));
        }
        let compiled = expression(text(variable, "expression"), &at, &known, &variables, None, causes);
        if identifier && compiled.is_some() {
            scope.variables.push(name.to_owned());
        }
    }
    scope
}

fn match_resources(constraints: &Value, path: &str, causes: &mut Vec<Cause>) {
    one_of(
        constraints,
        "matchPolicy",
        &format!("{path}."),
        &["Equivalent", "Exact"],
        causes,
    );
    for field in ["namespaceSelector", "objectSelector"] {
        selector(&constraints[field], &format!("{path}.{field}"), causes);
    }
    for field in ["resourceRules", "excludeResourceRules"] {
        for (index, entry) in list(constraints, field).iter().enumerate() {
            rule(entry, &format!("{path}.{field}[{index}]"), causes);
        }
    }
}

fn message(validation: &Value, path: &str, causes: &mut Vec<Cause>) {
    let Some(message) = validation["message"].as_str().filter(|m| !m.is_empty()) else {
        return;
    };
    if message.trim().is_empty() {
        causes.push(Cause::invalid(
            format!("{path}.message"),
            &message.into(),
            "message must be non-empty if specified",
        ));
    } else if message.contains(['\n', '\r']) {
        causes.push(Cause::invalid(
            format!("{path}.message"),
            &message.into(),
            "must not contain line breaks",
        ));
    }
}
