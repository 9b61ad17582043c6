//! What the rules of a schema must be when their definition is written.

use serde_json::{Value, json};

use super::rule_budget::Budget;
use crate::cel::{Kind, Program, most_in_a_request};
use crate::error::Cause;
use crate::schema::{Rule, Schema};

const REASONS: [&str; 4] = [
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
];

/// What is wrong with the rules of `schema` at `path`. `uncorrelatable` is the list that keeps items below it from
/// meeting their old selves.
pub(super) fn check(
    schema: &Value,
    path: &str,
    is_root: bool,
    uncorrelatable: Option<&str>,
    budget: (&mut Budget, Option<u64>),
    causes: &mut Vec<Cause>,
) {
    let rules = schema["x-kubernetes-validations"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let untyped = schema["type"].as_str().is_none() && schema["x-kubernetes-int-or-string"] != true;
    if !rules.is_empty() && untyped {
        let why = "internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations";
        causes.push(Cause {
            reason: "InternalError",
            message: format!("Internal error: {why}"),
            field: format!("{path}.x-kubernetes-validations"),
        });
        return;
    }
    if rules.is_empty() {
        return;
    }
    let typed = if is_root {
        Schema::structural(schema)
    } else {
        Schema::part(schema)
    };
    let (budget, often) = budget;
    for (index, written) in rules.iter().enumerate() {
        check_rule(
            (schema, &typed),
            written,
            &format!("{path}.x-kubernetes-validations[{index}]"),
            uncorrelatable,
            (&mut *budget, often),
            causes,
        );
    }
}

fn check_rule(
    (schema, typed): (&Value, &Schema),
    written: &Value,
    path: &str,
    uncorrelatable: Option<&str>,
    (budget, often): (&mut Budget, Option<u64>),
    causes: &mut Vec<Cause>,
) {
    let rule = Rule::new(written);
    let at = |field: &str| format!("{path}.{field}");
    if rule.text.trim().is_empty() {
        causes.push(Cause::required(at("rule"), "rule is not specified"));
        return;
    }
    let before = causes.len();
    if written.get("message").is_some() && rule.message.trim().is_empty() {
        causes.push(Cause::invalid(
            at("message"),
            &written["message"],
            "must be non-empty if specified",
        ));
    } else if rule.message.contains('\n') {
        causes.push(Cause::invalid(
            at("message"),
            &written["message"],
            "must not contain line breaks",
        ));
    } else if rule.message.is_empty() && rule.text.trim().contains('\n') {
        causes.push(Cause::required(
            at("message"),
            "message must be specified if rule contains line breaks",
        ));
    }
    if !rule.reason.is_empty() && !REASONS.contains(&rule.reason.as_str()) {
        causes.push(Cause::unsupported(at("reason"), &written["reason"], &REASONS));
    }
    if !rule.field_path.is_empty() && !leads_to_a_field(schema, &rule.field_path) {
        causes.push(Cause::invalid(
            at("fieldPath"),
            &written["fieldPath"],
            "must be a valid path",
        ));
    }
    if causes.len() > before {
        return;
    }
    let program = match compiled(rule.program()) {
        Ok(program) => program,
        Err(why) => {
            causes.push(shown_rule(&at("rule"), written, &format!("compilation failed: {why}")));
            return;
        }
    };
    let variables = [("self", typed.root()), ("oldSelf", typed.root())];
    // An optional old value is told apart by functions of its own.
    let variables = if rule.optional_old_self == Some(true) {
        &variables[..1]
    } else {
        &variables[..]
    };
    match program.kind(variables) {
        Ok(Kind::Bool | Kind::Anything) => {}
        Ok(_) => {
            causes.push(shown_rule(
                &at("rule"),
                written,
                "cel expression must evaluate to a bool",
            ));
            return;
        }
        Err(why) => {
            causes.push(shown_rule(&at("rule"), written, &format!("compilation failed: {why}")));
            return;
        }
    }
    let all = [("self", typed.root()), ("oldSelf", typed.root())];
    let times = often.unwrap_or_else(|| most_in_a_request(typed.root()));
    let cost = program.cost(&all).saturating_mul(times);
    causes.extend(budget.spend(&at("rule"), "estimated rule cost", cost));
    let transition = program.references("oldSelf");
    if rule.optional_old_self.is_some() && !transition {
        let why = "may not be set if oldSelf is not used in rule";
        causes.push(Cause::invalid(at("optionalOldSelf"), &written["optionalOldSelf"], why));
    }
    if let (true, Some(list)) = (transition && rule.optional_old_self != Some(true), uncorrelatable) {
        let why = format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {list}");
        causes.push(Cause::invalid(at("rule"), &written["rule"], why));
    }
    if let Some(Err(why)) = rule.message_program().map(compiled) {
        let why = format!("messageExpression compilation failed: {why}");
        causes.push(shown_rule(&at("messageExpression"), written, &why));
    } else if let Some(Ok(program)) = rule.message_program() {
        let at = at("messageExpression");
        match program.kind(variables) {
            Ok(Kind::Text | Kind::Anything) => {
                let cost = program.cost(&all);
                causes.extend(budget.spend(&at, "estimated messageExpression cost", cost));
            }
            Ok(_) => causes.push(shown_rule(&at, written, "messageExpression must evaluate to a string")),
            Err(why) => {
                causes.push(shown_rule(
                    &at,
                    written,
                    &format!("messageExpression compilation failed: {why}"),
                ));
            }
        }
    }
}

/// The program, unless it names what nobody declares.
fn compiled<'p>(program: Result<&'p Program, &String>) -> Result<&'p Program, String> {
    let program = program.map_err(Clone::clone)?;
    program.undeclared(&["self", "oldSelf"]).map_or(Ok(program), Err)
}

/// Whether a path such as `.a['some.key'].b` names a field of the schema.
fn leads_to_a_field(schema: &Value, path: &str) -> bool {
    let mut found = schema;
    let mut rest = path;
    while !rest.is_empty() {
        let key;
        (key, rest) = match (rest.strip_prefix('.'), rest.strip_prefix("['")) {
            (Some(below), _) => {
                let end = below.find(['.', '[']).unwrap_or(below.len());
                below.split_at(end)
            }
            (_, Some(below)) => match below.split_once("']") {
                Some(parts) => parts,
                None => return false,
            },
            _ => return false,
        };
        let property = found["properties"].get(key);
        match property.or_else(|| found.get("additionalProperties").filter(|a| a.is_object())) {
            Some(below) if !key.is_empty() => found = below,
            _ => return false,
        }
    }
    true
}

/// A cause that shows the whole rule, as the real server's type prints it.
fn shown_rule(path: &str, written: &Value, why: &str) -> Cause {
    let text = |key: &str| json!(written[key].as_str().unwrap_or_default());
    let shown = format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{},\"FieldPath\":{},\"OptionalOldSelf\":{}}}",
        text("rule"),
        text("message"),
        text("messageExpression"),
        written["reason"],
        text("fieldPath"),
        written["optionalOldSelf"],
    );
    Cause {
        reason: "FieldValueInvalid",
        message: format!("Invalid value: {shown}: {why}"),
        field: path.to_owned(),
    }
}
