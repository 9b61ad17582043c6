use std::sync::Arc;

use serde_json::{Value, json};

use super::*;

fn resource(schema: &Value) -> Resource {
    let mut resource = crate::builtins::resources()
        .into_iter()
        .find(|r| r.kind == "ConfigMap")
        .unwrap();
    resource.group = "demo.dev".into();
    resource.kind = "Thing".into();
    let object = json!({ "type": "object", "properties": { "spec": schema } });
    resource.schema = Arc::new(Schema::structural(&object));
    resource
}

fn things() -> Resource {
    resource(&json!({ "type": "object", "properties": {
        "a": { "type": "string" },
        "b": { "type": "integer" },
        "m": { "type": "object", "additionalProperties": { "type": "string" } },
        "l": { "type": "array", "items": { "type": "string" } },
        "s": { "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "set" },
        "k": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": { "type": "object", "properties": { "name": { "type": "string" }, "v": { "type": "string" }, "w": { "type": "string" } } },
        },
    } }))
}

#[allow(clippy::needless_pass_by_value, reason = "reads better in the tests")]
fn thing(spec: Value) -> Value {
    json!({ "apiVersion": "demo.dev/v1", "kind": "Thing", "metadata": { "name": "x" }, "spec": spec })
}

fn manager(name: &str) -> Manager<'_> {
    Manager {
        name,
        operation: Operation::Apply,
        subresource: "",
        api_version: "demo.dev/v1",
        time: "2026-01-01T00:00:00Z",
    }
}

fn apply(live: Option<&Value>, who: &str, spec: Value, force: bool) -> Result<Value, ApiError> {
    server_side(
        &things(),
        live,
        &thing(spec),
        &manager(who),
        force,
        &["status"],
        &Views::default(),
    )
}

fn update(live: &Value, who: &str, spec: Value) -> Value {
    let mut new = live.clone();
    new["spec"] = spec;
    track_update(
        &things(),
        Some(live),
        &mut new,
        &manager(who),
        &["status"],
        &Views::default(),
    );
    new
}

fn fields_of(object: &Value, who: &str) -> Value {
    let entries = managed::of(object).as_array().cloned().unwrap_or_default();
    entries
        .iter()
        .find(|e| e["manager"] == who)
        .map_or(Value::Null, |e| e["fieldsV1"].clone())
}

#[test]
fn an_applier_owns_what_it_sets_and_nothing_on_the_way() {
    let object = apply(
        None,
        "one",
        json!({ "a": "x", "m": {}, "k": [{ "name": "n", "v": "1" }], "s": ["q"] }),
        false,
    );
    let expected = json!({ "f:spec": {
        "f:a": {},
        "f:m": {},
        "f:k": { "k:{\"name\":\"n\"}": { ".": {}, "f:name": {}, "f:v": {} } },
        "f:s": { "v:\"q\"": {} },
    } });
    assert_eq!(fields_of(&object.unwrap(), "one"), expected);
}

#[test]
fn an_updater_owns_the_maps_and_lists_that_it_brings_too() {
    let mut new = thing(json!({ "m": { "x": "1" }, "s": ["q"] }));
    track_update(&things(), None, &mut new, &manager("one"), &[], &Views::default());
    let expected = json!({ "f:spec": { ".": {}, "f:m": { ".": {}, "f:x": {} }, "f:s": { ".": {}, "v:\"q\"": {} } } });
    assert_eq!(fields_of(&new, "one"), expected);
}

#[test]
fn changing_what_another_owns_is_a_conflict_unless_forced() {
    let object = apply(
        None,
        "one",
        json!({ "a": "x", "k": [{ "name": "n", "v": "1" }] }),
        false,
    )
    .unwrap();
    let error = apply(
        Some(&object),
        "two",
        json!({ "a": "y", "k": [{ "name": "n", "v": "2" }] }),
        false,
    )
    .unwrap_err();
    assert_eq!(
        error.message,
        "Apply failed with 2 conflicts: conflicts with \"one\":\n- .spec.a\n- .spec.k[name=\"n\"].v"
    );
    let forced = apply(Some(&object), "two", json!({ "a": "y" }), true).unwrap();
    assert_eq!(forced["spec"]["a"], "y");
    assert!(fields_of(&forced, "one")["f:spec"].get("f:a").is_none());
}

#[test]
fn equal_values_are_shared_and_leave_with_the_last_owner() {
    let object = apply(None, "one", json!({ "a": "x", "b": 1 }), false).unwrap();
    let object = apply(Some(&object), "two", json!({ "a": "x" }), false).unwrap();
    let object = apply(Some(&object), "one", json!({ "b": 1 }), false).unwrap();
    assert_eq!(object["spec"], json!({ "a": "x", "b": 1 }));
    let object = apply(Some(&object), "two", json!({ "m": { "q": "1" } }), false).unwrap();
    assert_eq!(object["spec"], json!({ "b": 1, "m": { "q": "1" } }));
}

#[test]
fn what_a_map_loses_last_leaves_null() {
    let object = apply(None, "one", json!({ "a": "x", "m": { "q": "1" } }), false).unwrap();
    let object = apply(Some(&object), "one", json!({ "a": "x", "m": {} }), false).unwrap();
    assert_eq!(object["spec"], json!({ "a": "x", "m": null }));
}

#[test]
fn updates_of_an_object_without_entries_are_not_tracked_until_the_first_apply() {
    let bare = thing(json!({ "a": "x" }));
    let object = update(&bare, "two", json!({ "a": "y" }));
    assert!(managed::of(&object).is_null());
    let object = apply(Some(&object), "one", json!({ "b": 1 }), false).unwrap();
    assert_eq!(
        fields_of(&object, "before-first-apply"),
        json!({ "f:spec": { ".": {}, "f:a": {} } })
    );
}

#[test]
fn more_than_ten_updaters_are_folded_into_one() {
    let mut object = thing(json!({}));
    track_update(&things(), None, &mut object, &manager("m0"), &[], &Views::default());
    let mut map = json!({});
    for index in 0..12 {
        map[format!("k{index}")] = "1".into();
        object = update(&object, &format!("m{index:02}"), json!({ "m": map }));
    }
    let entries = managed::of(&object).as_array().unwrap().clone();
    assert_eq!(entries.len(), 10);
    assert_eq!(entries[0]["manager"], "ancient-changes");
}

#[test]
fn what_does_not_fit_the_schema_is_refused_with_its_path() {
    for (spec, why) in [
        (json!({ "z": 1 }), ".spec.z: field not declared in schema"),
        (
            json!({ "b": "x" }),
            ".spec.b: expected numeric (int or float), got string",
        ),
        (
            json!({ "s": ["x", "x"] }),
            ".spec.s: duplicate entries for key [=\"x\"]",
        ),
        (
            json!({ "k": [{ "v": "1" }] }),
            ".spec.k: element 0: associative list with keys has an element that omits all key fields [\"name\"] (and doesn't have default values for any key fields)",
        ),
    ] {
        let error = apply(None, "one", spec, false).unwrap_err();
        let message = format!("failed to create typed patch object (/x; demo.dev/v1, Kind=Thing): {why}");
        assert_eq!((error.code, error.message), (500, message));
    }
}

#[test]
fn a_set_written_when_a_list_was_granular_becomes_one_field_once_it_is_atomic() {
    let set = FieldSet::from_fields_v1(&json!({ "f:spec": { "f:l": { ".": {}, "v:\"x\"": {} }, "f:a": {} } })).unwrap();
    let schema = things().schema;
    let fitted = ownership::fitted(Shape::of(&schema), &set).unwrap();
    assert_eq!(fitted.to_fields_v1(), json!({ "f:spec": { "f:l": {}, "f:a": {} } }));
    assert!(ownership::fitted(Shape::of(&schema), &fitted).is_none());
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    fn spec() -> impl Strategy<Value = Value> {
        let text = || prop_oneof![Just("x"), Just("y"), Just("z")];
        let map = proptest::collection::btree_map(text(), text(), 0..3);
        let set = proptest::collection::btree_set(text(), 0..3);
        let items = proptest::collection::btree_map(text(), (text(), proptest::option::of(text())), 0..3);
        let options = (
            proptest::option::of(text()),
            proptest::option::of(0..3),
            proptest::option::of(map),
            proptest::option::of(proptest::collection::vec(text(), 0..3)),
            proptest::option::of(set),
            proptest::option::of(items),
        );
        options.prop_map(|(a, b, m, l, s, k)| {
            let mut spec = serde_json::Map::new();
            let mut put = |key: &str, value: Option<Value>| {
                if let Some(value) = value {
                    spec.insert(key.to_owned(), value);
                }
            };
            put("a", a.map(Into::into));
            put("b", b.map(Into::into));
            put("m", m.map(|m| json!(m)));
            put("l", l.map(|l| json!(l)));
            put("s", s.map(|s| json!(s)));
            put(
                "k",
                k.map(|k| {
                    k.into_iter()
                        .map(|(name, (v, w))| match w {
                            Some(w) => json!({ "name": name, "v": v, "w": w }),
                            None => json!({ "name": name, "v": v }),
                        })
                        .collect()
                }),
            );
            Value::Object(spec)
        })
    }

    proptest! {
        #[test]
        fn applying_twice_changes_nothing(first in spec(), second in spec()) {
            let object = apply(None, "one", first, false).unwrap();
            let object = apply(Some(&object), "two", second.clone(), true).unwrap();
            let again = apply(Some(&object), "two", second, true).unwrap();
            prop_assert!(same_but_times(&object, &again), "{object}\n{again}");
        }

        #[test]
        fn sets_round_trip_through_fields_v1(spec in spec()) {
            let schema = things().schema;
            let set = owned::fields(Shape::of(&schema), &thing(spec));
            prop_assert_eq!(FieldSet::from_fields_v1(&set.to_fields_v1()), Some(set));
        }

        #[test]
        fn an_object_is_what_its_field_set_says(spec in spec()) {
            // Removing all fields of an object leaves nothing of it, removing none leaves it as it is.
            let schema = things().schema;
            let (shape, object) = (Shape::of(&schema), json!({ "spec": spec }));
            prop_assert_eq!(&remove::remove(shape, &object, &FieldSet::new()), &object);
            let rest = remove::remove(shape, &object, &owned::fields(shape, &object));
            prop_assert!(owned::fields(shape, &rest).difference(&FieldSet::of_fields(&["spec"]))
                .paths().iter().all(|p| p.len() == 2), "{rest}");
        }

        #[test]
        fn dropping_a_field_removes_exactly_it_unless_another_owns_it(spec in spec(), other in spec(), drop in 0usize..6) {
            let Some(key) = spec.as_object().unwrap().keys().nth(drop).cloned() else { return Ok(()) };
            let object = apply(None, "one", spec.clone(), false).unwrap();
            let both = apply(Some(&object), "two", other.clone(), true).unwrap();
            let mut less = spec.clone();
            less.as_object_mut().unwrap().remove(&key);
            let Ok(after) = apply(Some(&both), "one", less.clone(), false) else { return Ok(()) };
            let unowned = |spec: &Value, name: &str| matches!(name, "s" | "k") && spec.get(name) == Some(&json!([]));
            if after["spec"].is_null() {
                // It goes as a whole once nobody owns anything in it, with the empty sets and lists of items, which
                // nobody ever owns.
                let owns = |spec: &Value| spec.as_object().unwrap().keys().any(|name| !unowned(spec, name));
                prop_assert!(!owns(&less) && !owns(&other), "{}", after);
                return Ok(());
            }
            for name in ["a", "b", "m", "l", "s", "k"] {
                if name != key {
                    prop_assert_eq!(after["spec"].get(name), both["spec"].get(name), "{} of {}", name, after);
                }
            }
            if other.get(&key).is_none() {
                // What nobody owns nobody can drop.
                let left = unowned(&spec, &key).then(|| json!([]));
                prop_assert_eq!(after["spec"].get(&key), left.as_ref(), "{} of {}", key, after);
            }
        }

        #[test]
        fn nobody_owns_what_is_not_there(first in spec(), second in spec(), third in spec()) {
            let object = apply(None, "one", first, false).unwrap();
            let object = update(&object, "two", second);
            let object = apply(Some(&object), "three", third, true).unwrap();
            let schema = things().schema;
            let there = owned::fields(Shape::of(&schema), &object);
            let updated = compare::Comparison::of(Shape::of(&schema), &json!({}), &object).added;
            let all = there.union(&updated);
            for entry in managed::decode_stored(managed::of(&object)).unwrap() {
                prop_assert!(entry.fields.set().is_within(&all), "{:?} {}", entry, object);
            }
        }

        #[test]
        fn set_algebra_holds(a in spec(), b in spec()) {
            let schema = things().schema;
            let set = |v: &Value| owned::fields(Shape::of(&schema), &json!({ "spec": v }));
            let (a, b) = (set(&a), set(&b));
            prop_assert_eq!(&a.union(&b), &b.union(&a));
            prop_assert_eq!(&a.intersection(&b), &b.intersection(&a));
            prop_assert_eq!(&a.difference(&b).union(&a.intersection(&b)), &a);
            prop_assert!(a.difference(&b).intersection(&b).is_empty());
            prop_assert!(a.is_within(&a.union(&b)));
        }
    }
}
