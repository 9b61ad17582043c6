//! The small language in which the demands on structures are written, and the walk that applies them.

use serde_json::{Map, Value};

use super::names;
use crate::error::Cause;
use crate::schema::Node;
use crate::schema::quantity::Quantity;

/// One demand on a structure. Paths are relative to the structure: `spec.replicas`. Demands are checked in order, so
/// the order of a table is the order in which faults are told.
pub(super) enum Check {
    /// The field must be there and not be empty.
    Required(&'static str),
    /// The number, if any, must be at least this: `must be greater than or equal to 0`.
    AtLeast(&'static str, i64),
    /// The number, if any, must be greater than 0.
    Positive(&'static str),
    /// The number, if any, must be a port.
    Port(&'static str),
    /// The string, if any, must be one of these.
    OneOf(&'static str, &'static [&'static str]),
    /// The string must be there and be one of these.
    RequiredOneOf(&'static str, &'static [&'static str]),
    /// The string, if any, must follow the rule.
    Named(&'static str, fn(&str) -> Vec<String>),
    /// The quantities of a map must not be negative.
    NotNegative(&'static str),
    /// Now the demands on the structure or the structures in this field.
    Below(&'static str),
    /// The label selector's keys and values.
    Selector(&'static str),
    /// What depends on more than one field.
    With(fn(&At<'_>, &mut Vec<Cause>)),
}

/// A structure at its place.
pub(super) struct At<'a> {
    /// The structure's fields.
    pub(super) map: &'a Map<String, Value>,
    /// Where it stands; empty for the object itself.
    pub(super) path: &'a str,
    /// The whole object.
    pub(super) root: &'a Value,
    node: &'a Node,
    tables: &'a dyn Fn(&str) -> Option<&'static [Check]>,
}

impl At<'_> {
    /// The path of a field.
    pub(super) fn field(&self, name: &str) -> String {
        if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        }
    }

    /// The value at a path of fields; null where there is none.
    pub(super) fn get(&self, path: &str) -> &Value {
        super::rules::find(self.map, path).unwrap_or(&Value::Null)
    }

    /// The string at a path of fields; empty where there is none.
    pub(super) fn text(&self, path: &str) -> &str {
        self.get(path).as_str().unwrap_or_default()
    }

    /// The list at a path of fields; empty where there is none.
    pub(super) fn list(&self, path: &str) -> &[Value] {
        self.get(path).as_array().map_or(&[][..], Vec::as_slice)
    }

    /// Checks one item of a list of structures.
    pub(super) fn below_item(&self, name: &str, index: usize, causes: &mut Vec<Cause>) {
        let item = self.map.get(name).and_then(|list| list.get(index));
        let node = self.node.child(name).and_then(|list| list.items.as_ref());
        if let (Some(item), Some(node)) = (item, node) {
            let path = format!("{}[{index}]", self.field(name));
            check(node, item, &path, self.root, self.tables, causes);
        }
    }

    /// Checks some structures in the structure of a field.
    pub(super) fn below_in(&self, name: &str, fields: &[&str], causes: &mut Vec<Cause>) {
        let (Some(map), Some(node)) = (self.map.get(name).and_then(Value::as_object), self.node.child(name)) else {
            return;
        };
        let inner = At {
            map,
            path: &self.field(name),
            root: self.root,
            node,
            tables: self.tables,
        };
        for field in fields {
            inner.below(field, causes);
        }
    }

    /// Checks the structure or the structures in the field.
    pub(super) fn below(&self, name: &str, causes: &mut Vec<Cause>) {
        let (Some(value), Some(node)) = (self.map.get(name), self.node.child(name)) else {
            return;
        };
        let path = self.field(name);
        match value {
            Value::Object(_) => check(node, value, &path, self.root, self.tables, causes),
            Value::Array(items) => {
                let Some(node) = &node.items else { return };
                for (index, item) in items.iter().enumerate() {
                    check(node, item, &format!("{path}[{index}]"), self.root, self.tables, causes);
                }
            }
            _ => {}
        }
    }
}

/// Checks a structure and whatever its table says is below it.
pub(super) fn check(
    node: &Node,
    value: &Value,
    path: &str,
    root: &Value,
    tables: &dyn Fn(&str) -> Option<&'static [Check]>,
    causes: &mut Vec<Cause>,
) {
    let (Some(map), Some(checks)) = (value.as_object(), node.name.and_then(tables)) else {
        return;
    };
    let at = At {
        map,
        path,
        root,
        node,
        tables,
    };
    for check in checks {
        check.run(&at, causes);
    }
}

impl Check {
    fn run(&self, at: &At<'_>, causes: &mut Vec<Cause>) {
        match self {
            Self::Required(field) => required(at, field, causes),
            Self::AtLeast(field, least) => {
                if at.get(field).as_i64().is_some_and(|n| n < *least) {
                    let why = format!("must be greater than or equal to {least}");
                    causes.push(Cause::invalid(at.field(field), at.get(field), why));
                }
            }
            Self::Positive(field) => {
                if at.get(field).as_i64().is_some_and(|n| n <= 0) {
                    causes.push(Cause::invalid(at.field(field), at.get(field), "must be greater than 0"));
                }
            }
            Self::Port(field) => causes.extend(port(at.get(field), &at.field(field))),
            Self::OneOf(field, allowed) => {
                let given = at.text(field);
                if !given.is_empty() && !allowed.contains(&given) {
                    causes.push(Cause::unsupported(at.field(field), at.get(field), allowed));
                }
            }
            Self::RequiredOneOf(field, allowed) => match at.text(field) {
                "" => causes.push(Cause::required(at.field(field), "")),
                given if allowed.contains(&given) => {}
                _ => causes.push(Cause::unsupported(at.field(field), at.get(field), allowed)),
            },
            Self::Named(field, rule) => {
                let given = at.text(field);
                if !given.is_empty() {
                    let faults = rule(given);
                    causes.extend(
                        faults
                            .iter()
                            .map(|why| Cause::invalid(at.field(field), &given.into(), why)),
                    );
                }
            }
            Self::NotNegative(field) => {
                for (name, amount) in at.get(field).as_object().into_iter().flatten() {
                    causes.extend(not_negative(amount, &format!("{}[{name}]", at.field(field))));
                }
            }
            Self::Below(field) => at.below(field, causes),
            Self::Selector(field) => causes.extend(selector(at.get(field), &at.field(field))),
            Self::With(check) => check(at, causes),
        }
    }
}

fn required(at: &At<'_>, field: &str, causes: &mut Vec<Cause>) {
    let missing = match at.get(field) {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    if missing {
        causes.push(Cause::required(at.field(field), ""));
    }
}

/// A number must be a port; a string the name of one.
pub(super) fn port(value: &Value, path: &str) -> Vec<Cause> {
    match value {
        Value::Number(number) if !number.as_i64().is_some_and(|n| (1..=65535).contains(&n)) => {
            vec![Cause::invalid(path, value, "must be between 1 and 65535, inclusive")]
        }
        Value::String(name) => {
            let faults = names::port_name(name);
            faults.iter().map(|why| Cause::invalid(path, value, why)).collect()
        }
        _ => Vec::new(),
    }
}

/// A quantity must not be below zero.
pub(super) fn not_negative(amount: &Value, path: &str) -> Option<Cause> {
    let quantity = amount.as_str().and_then(Quantity::parse)?;
    quantity
        .is_negative()
        .then(|| Cause::invalid(path, amount, "must be greater than or equal to 0"))
}

/// The labels and expressions of a label selector.
pub(super) fn selector(selector: &Value, path: &str) -> Vec<Cause> {
    let mut causes = super::metadata::labels(&format!("{path}.matchLabels"), &selector["matchLabels"]);
    for (index, expression) in selector["matchExpressions"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        let at = |field: &str| format!("{path}.matchExpressions[{index}].{field}");
        let values = expression["values"].as_array().map_or(0, Vec::len);
        match expression["operator"].as_str().unwrap_or_default() {
            "In" | "NotIn" if values == 0 => {
                let why = "must be specified when `operator` is 'In' or 'NotIn'";
                causes.push(Cause::required(at("values"), why));
            }
            "Exists" | "DoesNotExist" if values > 0 => {
                let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                causes.push(Cause::forbidden(at("values"), why));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => {
                let why = "not a valid selector operator";
                causes.push(Cause::invalid(at("operator"), &expression["operator"], why));
            }
        }
        let key = expression["key"].as_str().unwrap_or_default();
        let faults = names::qualified(key);
        causes.extend(faults.iter().map(|why| Cause::invalid(at("key"), &key.into(), why)));
        for (index, value) in expression["values"].as_array().into_iter().flatten().enumerate() {
            let faults = names::label_value(value.as_str().unwrap_or_default());
            let place = at(&format!("values[{index}]"));
            causes.extend(faults.iter().map(|why| Cause::invalid(&*place, value, why)));
        }
    }
    causes
}

/// Whether a label selector matches labels. An empty one matches everything.
pub(super) fn selects(selector: &Value, labels: &Value) -> bool {
    let wanted = selector["matchLabels"].as_object().into_iter().flatten();
    let expressions = selector["matchExpressions"].as_array().into_iter().flatten();
    wanted.clone().all(|(key, value)| labels.get(key) == Some(value))
        && expressions.clone().all(|expression| {
            let found = expression["key"].as_str().and_then(|key| labels.get(key));
            let listed = found.is_some_and(|f| expression["values"].as_array().is_some_and(|v| v.contains(f)));
            match expression["operator"].as_str().unwrap_or_default() {
                "In" => listed,
                "NotIn" => !listed,
                "Exists" => found.is_some(),
                _ => found.is_none(),
            }
        })
}
