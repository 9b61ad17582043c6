//! Expressions in webhooks and policies: they have to compile, know their names and have the right type.

use serde_json::Value;

use super::{list, text};
use crate::builtins::names;
use crate::cel::Program;
use crate::error::Cause;

/// What the expressions of webhooks and match conditions see.
pub(super) const REQUEST: [&str; 5] = ["object", "oldObject", "request", "namespaceObject", "authorizer"];

/// Checks `matchConditions`.
pub(super) fn conditions(object: &Value, path: &str, known: &[&str], causes: &mut Vec<Cause>) {
    let mut seen: Vec<&str> = Vec::new();
    for (index, condition) in list(object, "matchConditions").iter().enumerate() {
        let at = format!("{path}matchConditions[{index}]");
        expression(
            text(condition, "expression"),
            &format!("{at}.expression"),
            known,
            &[],
            Some("bool"),
            causes,
        );
        let name = text(condition, "name");
        if name.is_empty() {
            causes.push(Cause::required(format!("{at}.name"), ""));
            continue;
        }
        let faults = names::qualified(name).into_iter();
        causes.extend(faults.map(|fault| Cause::invalid(format!("{at}.name"), &name.into(), fault)));
        if seen.contains(&name) {
            causes.push(Cause::duplicate(format!("{at}.name"), &name.into()));
        }
        seen.push(name);
    }
}

/// Checks one expression; answers whether it compiled. `variables` are the fields of `variables` that exist.
pub(super) fn expression(
    text: &str,
    path: &str,
    known: &[&str],
    variables: &[&str],
    wanted: Option<&str>,
    causes: &mut Vec<Cause>,
) -> Option<Program> {
    if text.trim().is_empty() {
        causes.push(Cause::required(path, "expression is not specified"));
        return None;
    }
    let program = match Program::compile(text) {
        Ok(program) => program,
        Err(error) => {
            causes.push(Cause::invalid(
                path,
                &text.into(),
                format!("compilation failed: {error}"),
            ));
            return None;
        }
    };
    let unknown = program
        .undeclared(known)
        .or_else(|| program.undefined_field("variables", variables));
    if let Some(error) = unknown {
        causes.push(Cause::invalid(
            path,
            &text.into(),
            format!("compilation failed: {error}"),
        ));
        return None;
    }
    if let (Some(wanted), Some(got)) = (wanted, program.result_type())
        && wanted != got
    {
        causes.push(Cause::invalid(
            path,
            &text.into(),
            format!("must evaluate to {wanted} but got {got}"),
        ));
        return None;
    }
    Some(program)
}
