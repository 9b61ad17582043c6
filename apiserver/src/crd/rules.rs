//! The rules of `x-kubernetes-validations`, evaluated on an object.

use serde_json::Value;

use crate::cel::Variables;
use crate::error::Cause;
use crate::schema::{ListType, Node, Rule, Type, same};

/// What the rules of `node` and of all below it have against `value`; `old` is the value there before.
///
/// A rule that compares with the old value runs only where there is one; the others do not run on what has not
/// changed.
pub(super) fn evaluate(node: &Node, value: &Value, old: Option<&Value>, path: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    visit(node, value, old, path, &mut causes);
    causes
}

fn visit(node: &Node, value: &Value, old: Option<&Value>, path: &str, causes: &mut Vec<Cause>) {
    if value.is_null() || node.name.is_some() {
        return;
    }
    if let Some(rules) = node
        .validations
        .as_ref()
        .map(|v| &v.rules)
        .filter(|rules| !rules.is_empty())
    {
        let unchanged = old.is_some_and(|old| same(old, value));
        let mut variables = Variables::default();
        variables.set("self", value, Some(node));
        for rule in rules {
            causes.extend(judge(rule, node, value, old, unchanged, path, &mut variables));
        }
    }
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let Some(child) = node.child(key) else { continue };
                let below = match node.property(key) {
                    Some(_) if path.is_empty() => key.clone(),
                    Some(_) => format!("{path}.{key}"),
                    None => format!("{path}[{key}]"),
                };
                visit(child, value, old.and_then(|o| o.get(key)), &below, causes);
            }
        }
        Value::Array(items) => {
            let Some(child) = &node.items else { return };
            for (index, item) in items.iter().enumerate() {
                visit(
                    child,
                    item,
                    old_item(node, old, item),
                    &format!("{path}[{index}]"),
                    causes,
                );
            }
        }
        _ => {}
    }
}

/// Items of lists of type map meet their old selves by key; all others have none.
fn old_item<'v>(node: &Node, old: Option<&'v Value>, item: &Value) -> Option<&'v Value> {
    let ListType::Map(keys) = &node.list else { return None };
    let old = old?.as_array()?;
    old.iter()
        .find(|o| keys.iter().all(|key| o.get(&**key) == item.get(&**key)))
}

fn judge(
    rule: &Rule,
    node: &Node,
    value: &Value,
    old: Option<&Value>,
    unchanged: bool,
    path: &str,
    variables: &mut Variables,
) -> Option<Cause> {
    // A rule that does not compile was refused with its definition.
    let program = rule.typed(node)?;
    if rule.is_transition() {
        if rule.optional_old_self == Some(true) {
            variables.set_optional("oldSelf", old, Some(node));
        } else {
            variables.set("oldSelf", old?, Some(node));
        }
    } else if unchanged {
        return None;
    }
    let failure = match program.holds(variables) {
        Ok(true) => return None,
        Ok(false) => None,
        Err(why) => Some(why),
    };
    if let Some(why) = failure {
        let shown = if rule.message.is_empty() {
            &rule.text
        } else {
            &rule.message
        };
        return Some(Cause {
            reason: "FieldValueInvalid",
            message: format!(
                "Invalid value: {:?}: {why} evaluating rule: {shown}",
                type_name(node, value)
            ),
            field: field(path, ""),
        });
    }
    let message = message(rule, variables);
    let at = field(path, &rule.field_path);
    let scalar = rule.field_path.is_empty() && !value.is_object() && !value.is_array();
    Some(match rule.reason.as_str() {
        "FieldValueForbidden" => Cause::forbidden(at, message),
        "FieldValueRequired" => Cause::required(at, message),
        "FieldValueDuplicate" => Cause::duplicate(at, value),
        _ if scalar => Cause::invalid(at, value, message),
        _ => Cause {
            reason: "FieldValueInvalid",
            message: format!("Invalid value: {message}"),
            field: at,
        },
    })
}

/// The message of a rule: made by its expression if that gives one line of text, else as written, else the rule.
fn message(rule: &Rule, variables: &Variables) -> String {
    let made = rule
        .message_program()
        .and_then(Result::ok)
        .and_then(|program| program.evaluate(variables).ok());
    if let Some(Value::String(made)) = made {
        let made = made.trim();
        if !made.is_empty() && !made.contains('\n') {
            return made.to_owned();
        }
    }
    if rule.message.is_empty() {
        format!("failed rule: {}", rule.text)
    } else {
        rule.message.clone()
    }
}

/// The path of the field to blame: `.a['some.key']` below `spec` is `spec.a[some.key]`.
fn field(path: &str, below: &str) -> String {
    let below = below.replace("['", "[").replace("']", "]");
    match (path.is_empty(), below.is_empty()) {
        (true, true) => "<nil>".to_owned(),
        (true, false) => below.trim_start_matches('.').to_owned(),
        _ => format!("{path}{below}"),
    }
}

fn type_name(node: &Node, value: &Value) -> &'static str {
    match node.kind {
        Type::Object => "object",
        Type::Array => "array",
        Type::String => "string",
        Type::Integer => "integer",
        Type::Number => "number",
        Type::Boolean => "boolean",
        Type::Any => match value {
            Value::Object(_) => "object",
            Value::Array(_) => "array",
            Value::String(_) => "string",
            Value::Bool(_) => "boolean",
            _ => "",
        },
    }
}
