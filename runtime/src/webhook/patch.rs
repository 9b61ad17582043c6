//! From what an author's function made of an object to a JSON patch of what the server sent.
//!
//! The type may know less than the object holds: fields of a newer version, an `x-kubernetes-preserve-unknown-fields`.
//! So what the function changed is the difference between the typed object before and after, and only that is carried
//! over to the object as it was sent.

use serde::Serialize;
use serde_json::{Map, Value};

/// One operation of a JSON patch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Operation {
    op: &'static str,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
}

/// Fields by which elements of a list are told apart, as Kubernetes' own types have them.
const IDENTITIES: [&str; 8] = [
    "name",
    "key",
    "type",
    "id",
    "mountPath",
    "devicePath",
    "containerPort",
    "port",
];
/// The most pairs of list elements that are compared; a longer list is replaced as a whole.
const MOST_PAIRS: usize = 1 << 20;

/// What the object as sent becomes when the change from `before` to `after` is made in it, and nothing else.
pub(super) fn merged(sent: &Value, before: &Value, after: &Value) -> Value {
    if before == after {
        return sent.clone();
    }
    match (sent, before, after) {
        (Value::Object(sent), Value::Object(before), Value::Object(after)) => {
            Value::Object(merged_fields(sent, before, after))
        }
        (Value::Array(sent), Value::Array(before), Value::Array(after)) if sent.len() == before.len() => {
            let partners = partners(before, after);
            let element = |(after, partner): (&Value, Option<usize>)| match partner {
                Some(i) => merged(&sent[i], &before[i], after),
                None => after.clone(),
            };
            after.iter().zip(partners).map(element).collect()
        }
        _ => after.clone(),
    }
}

fn merged_fields(
    sent: &Map<String, Value>,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
) -> Map<String, Value> {
    let mut fields = sent.clone();
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        fields.remove(name);
    }
    for (name, after) in after {
        if before.get(name) == Some(after) {
            continue;
        }
        // What is empty is often left out by the type: then what was sent there is as much as it knew.
        let unknown = match after {
            Value::Object(_) => Value::Object(Map::new()),
            _ => Value::Null,
        };
        let value = match fields.get(name) {
            Some(sent) if !sent.is_null() => merged(sent, before.get(name).unwrap_or(&unknown), after),
            _ => after.clone(),
        };
        fields.insert(name.clone(), value);
    }
    fields
}

/// For each element of `after`, the one of `before` that it was.
fn partners(before: &[Value], after: &[Value]) -> Vec<Option<usize>> {
    let mut partners = vec![None; after.len()];
    for (i, (before, after)) in before.iter().zip(after).enumerate() {
        if before == after {
            partners[i] = Some(i);
        }
    }
    let open =
        |partners: &[Option<usize>]| -> Vec<usize> { (0..partners.len()).filter(|j| partners[*j].is_none()).collect() };
    if open(&partners).len().saturating_mul(before.len()) > MOST_PAIRS {
        return partners;
    }
    let alike: [fn(&Value, &Value) -> bool; 2] = [|a, b| a == b, same_identity];
    for alike in alike {
        for j in open(&partners) {
            let used: Vec<usize> = partners.iter().flatten().copied().collect();
            let found = (0..before.len()).find(|i| !used.contains(i) && alike(&before[*i], &after[j]));
            if let Some(i) = found {
                partners[j] = Some(i);
            }
        }
    }
    // Elements without a name: those that are left are the same ones, changed, if there are as many of them.
    let used: Vec<usize> = partners.iter().flatten().copied().collect();
    let left: Vec<usize> = (0..before.len())
        .filter(|i| !used.contains(i) && identity(&before[*i]).is_none())
        .collect();
    let new: Vec<usize> = open(&partners)
        .into_iter()
        .filter(|j| identity(&after[*j]).is_none())
        .collect();
    if left.len() == new.len() {
        for (j, i) in new.into_iter().zip(left) {
            partners[j] = Some(i);
        }
    }
    partners
}

fn identity(element: &Value) -> Option<(&'static str, &Value)> {
    IDENTITIES
        .iter()
        .find_map(|field| Some((*field, element.get(field).filter(|value| !value.is_null())?)))
}

fn same_identity(a: &Value, b: &Value) -> bool {
    identity(a).is_some_and(|identity_of_a| identity(b) == Some(identity_of_a))
}

/// The operations that make `to` of `from`.
pub(super) fn operations(from: &Value, to: &Value) -> Vec<Operation> {
    let mut operations = Vec::new();
    compare(from, to, &mut String::new(), &mut operations);
    operations
}

fn compare(from: &Value, to: &Value, path: &mut String, operations: &mut Vec<Operation>) {
    if from == to {
        return;
    }
    let below = |step: &str, path: &mut String, then: &mut dyn FnMut(&mut String)| {
        let length = path.len();
        path.push('/');
        path.push_str(&step.replace('~', "~0").replace('/', "~1"));
        then(path);
        path.truncate(length);
    };
    match (from, to) {
        (Value::Object(from), Value::Object(to)) => {
            for name in from.keys().filter(|name| !to.contains_key(*name)) {
                below(name, path, &mut |path| {
                    operations.push(Operation {
                        op: "remove",
                        path: path.clone(),
                        value: None,
                    });
                });
            }
            for (name, to) in to {
                below(name, path, &mut |path| match from.get(name) {
                    Some(from) => compare(from, to, path, operations),
                    None => operations.push(Operation {
                        op: "add",
                        path: path.clone(),
                        value: Some(to.clone()),
                    }),
                });
            }
        }
        (Value::Array(from), Value::Array(to)) if from.len() == to.len() => {
            for (i, (from, to)) in from.iter().zip(to).enumerate() {
                below(&i.to_string(), path, &mut |path| compare(from, to, path, operations));
            }
        }
        _ => operations.push(Operation {
            op: "replace",
            path: path.clone(),
            value: Some(to.clone()),
        }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[allow(clippy::needless_pass_by_value, reason = "reads better in the tests")]
    fn patched(sent: Value, before: Value, after: Value) -> (Value, Value) {
        let merged = merged(&sent, &before, &after);
        let operations = serde_json::to_value(operations(&sent, &merged)).unwrap();
        (merged, operations)
    }

    #[test]
    fn what_the_type_does_not_know_survives() {
        let (merged, operations) = patched(
            json!({"spec": {"a": 1, "unknown": {"x": [1]}, "list": [{"name": "p", "more": 1}, {"name": "q", "more": 2}]}}),
            json!({"spec": {"a": 1, "b": "default", "list": [{"name": "p"}, {"name": "q"}]}}),
            json!({"spec": {"a": 2, "b": "default", "list": [{"name": "q", "port": 1}]}}),
        );
        assert_eq!(
            merged,
            json!({"spec": {"a": 2, "unknown": {"x": [1]}, "list": [{"name": "q", "more": 2, "port": 1}]}})
        );
        assert_eq!(
            operations,
            json!([
                {"op": "replace", "path": "/spec/a", "value": 2},
                {"op": "replace", "path": "/spec/list", "value": [{"name": "q", "more": 2, "port": 1}]},
            ])
        );
    }

    #[test]
    fn what_only_the_type_fills_in_is_no_change() {
        let typed = json!({"spec": {"replicas": 1}});
        assert_eq!(patched(json!({"spec": {}}), typed.clone(), typed).1, json!([]));
    }

    #[test]
    fn a_field_that_the_type_leaves_out_when_empty_is_filled() {
        let (merged, operations) = patched(
            json!({"spec": {"m": {}}}),
            json!({"spec": {}}),
            json!({"spec": {"m": {"a/b": "c"}}}),
        );
        assert_eq!(merged, json!({"spec": {"m": {"a/b": "c"}}}));
        assert_eq!(operations, json!([{"op": "add", "path": "/spec/m/a~1b", "value": "c"}]));
    }

    #[test]
    fn elements_without_a_name_keep_what_is_unknown_when_one_is_changed() {
        let (merged, _) = patched(
            json!([{"v": 1, "x": "one"}, {"v": 2, "x": "two"}]),
            json!([{"v": 1}, {"v": 2}]),
            json!([{"v": 3}, {"v": 2}]),
        );
        assert_eq!(merged, json!([{"v": 3, "x": "one"}, {"v": 2, "x": "two"}]));
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..4_i64).prop_map(Value::from),
            "[a-c]{0,2}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("(name|[a-d/~])", inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    /// The other side's view of a patch.
    fn apply(object: &mut Value, operations: &[Operation]) {
        for operation in operations {
            let (parent, last) = operation.path.rsplit_once('/').unwrap_or(("", ""));
            if operation.path.is_empty() {
                *object = operation.value.clone().unwrap();
                continue;
            }
            let last = last.replace("~1", "/").replace("~0", "~");
            match object.pointer_mut(parent).expect("the parent is there") {
                Value::Object(fields) => match operation.op {
                    "remove" => drop(fields.remove(&last).expect("it is there")),
                    _ => drop(fields.insert(last, operation.value.clone().unwrap())),
                },
                Value::Array(list) => list[last.parse::<usize>().unwrap()] = operation.value.clone().unwrap(),
                other => panic!("{other} has no fields"),
            }
        }
    }

    proptest! {
        #[test]
        fn a_patch_makes_of_one_value_the_other(from in value(), to in value()) {
            let mut patched = from.clone();
            apply(&mut patched, &operations(&from, &to));
            prop_assert_eq!(patched, to);
        }

        #[test]
        fn where_the_type_knows_everything_the_change_is_what_was_made(before in value(), after in value()) {
            prop_assert_eq!(merged(&before, &before, &after), after);
        }

        #[test]
        fn no_change_touches_nothing(sent in value(), typed in value()) {
            prop_assert_eq!(merged(&sent, &typed, &typed), sent);
        }
    }
}
