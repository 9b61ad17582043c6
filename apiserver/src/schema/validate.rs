//! Values against a structural schema, with the causes and words of the real server.
//!
//! The checks of one value come in a fixed order: type, junctors (`anyOf`, `oneOf`, `allOf`, `not`), string, format,
//! number, list, enum, object; missing required fields come last. What belongs to no field (a failed junctor, a number
//! out of its format's range) has the field `<nil>` and names its path in the message.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::node::{Format, ListType, Node, Type, Validations};
use super::{ByValue, format, same};
use crate::error::Cause;

/// What `node` has against `value`, which stands at `path`. `old` is the value there before: what has not changed is
/// not checked again.
pub(super) fn validate(node: &Node, value: &Value, old: Option<&Value>, path: &str) -> Vec<Cause> {
    let mut walk = Walk { left: MOST_CHECKS };
    let mut causes = walk.visit(node, value, old, &Place::Root(path)).causes;
    if walk.left == 0 {
        let text = format!("the object has more values than can be checked: its schema asks for {MOST_CHECKS} checks");
        causes.insert(0, no_field(&text));
    }
    causes
}

/// How many values are checked at most, each branch of a junctor counted. An object of ordinary size takes thousands;
/// a schema made for it could ask for as many as the object's values times its own branches.
const MOST_CHECKS: usize = 4_000_000;

/// Where a value stands; written only when something is wrong there.
enum Place<'a> {
    Root(&'a str),
    Field(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root(path) => f.write_str(path),
            Self::Field(Self::Root(""), name) => f.write_str(name),
            Self::Field(parent, name) => write!(f, "{parent}.{name}"),
            Self::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

struct Walk {
    /// How many checks are left.
    left: usize,
}

/// The outcome of one value: its causes, and how much of the schema was looked at (the branch of a junctor that got
/// furthest is the one whose causes are shown).
#[derive(Default)]
struct Outcome {
    causes: Vec<Cause>,
    checked: usize,
}

impl Outcome {
    fn join(&mut self, other: Self) {
        self.causes.extend(other.causes);
        self.checked += other.checked;
    }
}

impl Walk {
    fn visit(&mut self, node: &Node, value: &Value, old: Option<&Value>, place: &Place<'_>) -> Outcome {
        let mut outcome = Outcome {
            checked: 1,
            ..Outcome::default()
        };
        self.left = self.left.saturating_sub(1);
        if self.left == 0 || old.is_some_and(|old| same(old, value)) {
            return outcome;
        }
        if value.is_null() {
            if !node.nullable && !expected_types(node).is_empty() {
                outcome.causes.push(wrong_type(place, node, "null"));
            }
            return outcome;
        }
        if !has_type(node, value) {
            outcome.causes.push(wrong_type(place, node, json_type(value)));
        }
        let rules = node.validations.as_deref();
        if let Some(rules) = rules {
            self.junctors(rules, value, place, &mut outcome);
        }
        match value {
            Value::String(text) => outcome.causes.extend(rules.and_then(|r| string(r, text, value, place))),
            Value::Number(number) => number_causes(node, rules, number, (value, place), &mut outcome),
            _ => {}
        }
        if let (Value::String(text), Some(rules)) = (value, rules) {
            outcome.causes.extend(format_cause(rules, text, value, place));
        }
        if let Value::Array(items) = value {
            self.items(node, rules, items, old, place, &mut outcome);
        }
        if let Some(allowed) = rules.and_then(|r| r.enumeration.as_ref())
            && !allowed.iter().any(|a| same(a, value))
        {
            let allowed: Vec<String> = allowed.iter().map(shown_enum).collect();
            let allowed: Vec<&str> = allowed.iter().map(String::as_str).collect();
            let cause = Cause::unsupported(place.to_string(), value, &allowed);
            outcome.causes.push(cause);
        }
        if let Value::Object(map) = value {
            self.fields(node, rules, map, old, place, &mut outcome);
        }
        outcome
    }

    fn junctors(&mut self, rules: &Validations, value: &Value, place: &Place<'_>, outcome: &mut Outcome) {
        if !rules.any_of.is_empty() {
            let (valid, best) = self.branches(&rules.any_of, value, place);
            if valid == 0 {
                outcome
                    .causes
                    .push(general(place, "must validate at least one schema (anyOf)"));
                outcome.join(best);
            }
        }
        if !rules.one_of.is_empty() {
            let (valid, best) = self.branches(&rules.one_of, value, place);
            let text = "must validate one and only one schema (oneOf).";
            match valid {
                1 => {}
                0 => {
                    outcome.causes.push(general(place, &format!("{text} Found none valid")));
                    outcome.join(best);
                }
                many => outcome
                    .causes
                    .push(general(place, &format!("{text} Found {many} valid alternatives"))),
            }
        }
        let before = outcome.causes.len();
        for branch in &rules.all_of {
            let branch = self.visit(branch, value, None, place);
            outcome.join(branch);
        }
        if outcome.causes.len() > before {
            outcome
                .causes
                .push(general(place, "must validate all the schemas (allOf)"));
        }
        if let Some(not) = &rules.not
            && self.visit(not, value, None, place).causes.is_empty()
        {
            outcome
                .causes
                .push(general(place, "must not validate the schema (not)"));
        }
    }

    /// How many branches hold, and the outcome of the one that got furthest.
    fn branches(&mut self, branches: &[Node], value: &Value, place: &Place<'_>) -> (usize, Outcome) {
        let mut valid = 0;
        let mut best: Option<Outcome> = None;
        for branch in branches {
            let outcome = self.visit(branch, value, None, place);
            if outcome.causes.is_empty() {
                valid += 1;
            } else if best.as_ref().is_none_or(|best| outcome.checked > best.checked) {
                best = Some(outcome);
            }
        }
        (valid, best.unwrap_or_default())
    }

    fn items(
        &mut self,
        node: &Node,
        rules: Option<&Validations>,
        items: &[Value],
        old: Option<&Value>,
        place: &Place<'_>,
        outcome: &mut Outcome,
    ) {
        if let Some(schema) = &node.items {
            let before = OldItems::of(node, old);
            for (index, item) in items.iter().enumerate() {
                let old = before.same_as(item);
                outcome.join(self.visit(schema, item, old, &Place::Item(place, index)));
            }
        }
        let Some(rules) = rules else { return };
        let count = items.len() as u64;
        if let Some(least) = rules.min_items.filter(|least| count < *least) {
            outcome.causes.push(invalid(
                place,
                &count.into(),
                &format!("should have at least {least} items"),
            ));
        }
        if let Some(most) = rules.max_items.filter(|most| count > *most) {
            outcome.causes.push(too_many(place, count, most));
        }
    }

    fn fields(
        &mut self,
        node: &Node,
        rules: Option<&Validations>,
        map: &serde_json::Map<String, Value>,
        old: Option<&Value>,
        place: &Place<'_>,
        outcome: &mut Outcome,
    ) {
        if let Some(rules) = rules {
            let count = map.len() as u64;
            if let Some(least) = rules.min_properties.filter(|least| count < *least) {
                outcome.causes.push(invalid(
                    place,
                    &count.into(),
                    &format!("should have at least {least} properties"),
                ));
                return;
            }
            if let Some(most) = rules.max_properties.filter(|most| count > *most) {
                outcome.causes.push(too_many(place, count, most));
                return;
            }
        }
        for (key, value) in map {
            let Some(schema) = node.child(key) else { continue };
            // Metadata is typed as for built-in kinds and has rules of its own; a schema may only restrict names.
            let schema = match (&schema.name, &node.metadata) {
                (None, _) => schema,
                (Some(_), Some(restricted)) => restricted,
                (Some(_), None) => continue,
            };
            let old = old.and_then(|old| old.get(key));
            outcome.join(self.visit(schema, value, old, &Place::Field(place, key)));
        }
        for name in node.required.iter().filter(|name| !map.contains_key(&***name)) {
            let missing = Place::Field(place, name);
            outcome.causes.push(Cause::required(missing.to_string(), ""));
        }
    }
}

fn string(rules: &Validations, text: &str, value: &Value, place: &Place<'_>) -> Option<Cause> {
    let length = text.chars().count() as u64;
    if let Some(most) = rules.max_length.filter(|most| length > *most) {
        return Some(Cause {
            reason: "FieldValueTooLong",
            message: format!("Too long: may not be more than {most} bytes"),
            field: place.to_string(),
        });
    }
    if let Some(least) = rules.min_length.filter(|least| length < *least) {
        return Some(invalid(place, value, &format!("should be at least {least} chars long")));
    }
    let (pattern, regex) = rules.pattern.as_ref()?;
    let matches = regex.as_ref().is_some_and(|regex| regex.is_match(text));
    (!matches).then(|| invalid(place, value, &format!("should match '{pattern}'")))
}

fn format_cause(rules: &Validations, text: &str, value: &Value, place: &Place<'_>) -> Option<Cause> {
    let name = rules.format.as_deref()?;
    (!format::holds(name, text)).then(|| type_invalid(place, value, name, &value.to_string()))
}

fn number_causes(
    node: &Node,
    rules: Option<&Validations>,
    number: &serde_json::Number,
    (value, place): (&Value, &Place<'_>),
    outcome: &mut Outcome,
) {
    let whole = number.as_i64().is_some() || number.as_f64().is_some_and(|n| n.fract() == 0.0);
    if node.kind == Type::Integer && !whole {
        outcome.causes.push(no_field(&format!(
            "Checked value must be of type integer{} in {}",
            match node.format {
                Format::Int32 => " with format int32",
                Format::Int64 => " with format int64",
                _ => " (default format)",
            },
            place
        )));
    } else if node.format == Format::Int32 && number.as_i64().is_none_or(|n| i32::try_from(n).is_err()) {
        let text = format!("Checked value must be of type integer with format int32 in {place}");
        outcome.causes.push(no_field(&text));
    }
    let (Some(rules), Some(n)) = (rules, number.as_f64()) else {
        return;
    };
    if let Some(factor) = rules.multiple_of {
        let quotient = n / factor;
        if (quotient - quotient.round()).abs() > f64::EPSILON * quotient.abs().max(1.0) {
            outcome
                .causes
                .push(invalid(place, value, &format!("should be a multiple of {factor}")));
        }
    }
    let or_equal = |excluded: bool| if excluded { "" } else { " or equal to" };
    if let Some((bound, excluded)) = rules.maximum
        && (n > bound || (excluded && n >= bound))
    {
        let what = format!("should be less than{} {bound}", or_equal(excluded));
        outcome.causes.push(invalid(place, value, &what));
    }
    if let Some((bound, excluded)) = rules.minimum
        && (n < bound || (excluded && n <= bound))
    {
        let what = format!("should be greater than{} {bound}", or_equal(excluded));
        outcome.causes.push(invalid(place, value, &what));
    }
}

fn wrong_type(place: &Place<'_>, node: &Node, found: &str) -> Cause {
    type_invalid(place, &found.into(), &expected_types(node), &format!("{found:?}"))
}

fn type_invalid(place: &Place<'_>, value: &Value, expected: &str, found: &str) -> Cause {
    let detail = format!("{place} in body must be of type {expected}: {found}");
    Cause {
        reason: "FieldValueTypeInvalid",
        ..Cause::invalid(place.to_string(), value, detail)
    }
}

fn invalid(place: &Place<'_>, value: &Value, what: &str) -> Cause {
    Cause::invalid(place.to_string(), value, format!("{place} in body {what}"))
}

fn too_many(place: &Place<'_>, count: u64, most: u64) -> Cause {
    Cause {
        reason: "FieldValueTooMany",
        message: format!("Too many: {count}: must have at most {most} items"),
        field: place.to_string(),
    }
}

fn general(place: &Place<'_>, what: &str) -> Cause {
    no_field(&format!("{:?} {what}", place.to_string()))
}

fn no_field(text: &str) -> Cause {
    Cause::invalid("<nil>", &"".into(), text)
}

/// The old items of a list, by what tells them apart: their keys in lists of type map, their value in sets, nothing in
/// atomic lists.
struct OldItems<'v> {
    list: &'v ListType,
    items: BTreeMap<Vec<Option<ByValue<'v>>>, &'v Value>,
}

impl<'v> OldItems<'v> {
    fn of(node: &'v Node, old: Option<&'v Value>) -> Self {
        let list = &node.list;
        let mut items = BTreeMap::new();
        if *list != ListType::Atomic {
            for item in old.and_then(Value::as_array).into_iter().flatten() {
                // Of several items the first one counts.
                items.entry(identity(list, item)).or_insert(item);
            }
        }
        Self { list, items }
    }

    fn same_as(&self, item: &Value) -> Option<&'v Value> {
        if self.items.is_empty() {
            return None;
        }
        self.items.get(&identity(self.list, item)).copied()
    }
}

fn identity<'v>(list: &ListType, item: &'v Value) -> Vec<Option<ByValue<'v>>> {
    match list {
        ListType::Map(keys) => keys.iter().map(|key| item.get(&**key).map(ByValue)).collect(),
        _ => vec![Some(ByValue(item))],
    }
}

fn expected_types(node: &Node) -> String {
    if node.format == Format::IntOrString && node.kind == Type::Any {
        return "integer,string".to_owned();
    }
    match node.kind {
        Type::Any => "",
        Type::Object => "object",
        Type::Array => "array",
        Type::String => "string",
        Type::Integer => "integer",
        Type::Number => "number",
        Type::Boolean => "boolean",
    }
    .to_owned()
}

fn has_type(node: &Node, value: &Value) -> bool {
    let found = json_type(value);
    if node.format == Format::IntOrString && node.kind == Type::Any {
        return matches!(found, "integer" | "string");
    }
    match node.kind {
        Type::Any => true,
        Type::Object => found == "object",
        Type::Array => found == "array",
        Type::String => found == "string",
        Type::Integer => found == "integer",
        Type::Number => matches!(found, "integer" | "number"),
        Type::Boolean => found == "boolean",
    }
}

/// The type of a value as messages name it; a number without a fraction is an integer.
fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.as_f64().is_some_and(|n| n.fract() == 0.0) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn shown_enum(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
