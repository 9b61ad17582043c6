//! Finalizers: added and removed by JSON patches that touch nothing else and fail if anything moved.

use serde_json::{Value, json};

use crate::delta::Header;

/// What becomes of the objects that an operator looks after when it is uninstalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftovers {
    /// They stay, and so does what was made for them outside the cluster; only the operator's finalizers go.
    Keep,
    /// Objects of the kinds that the operator defines are deleted, and cleaned up as on any deletion. Those of kinds
    /// that others define stay, as with [`Leftovers::Keep`].
    Delete,
}

/// The patch that adds `add` (where given and missing) and removes what of `retired` is there; `None` when nothing is
/// to be done. Never to be sent for an object that is being deleted: the server refuses new finalizers then.
///
/// It tests the uid, so that a recreated object is never taken for the old one, and the whole list, so that what
/// others did to it in the meantime is never undone. The order of other people's finalizers stays.
#[must_use]
pub fn ensure(header: &Header, add: Option<&str>, retired: &[String]) -> Option<Value> {
    let current: Vec<&str> = header.finalizers.iter().map(|name| &**name).collect();
    let missing = add.filter(|add| !current.contains(add));
    let stale: Vec<usize> = positions(&current, |name| {
        retired.iter().any(|old| old == name) && Some(name) != add
    });
    if missing.is_none() && stale.is_empty() {
        return None;
    }
    let mut patch = vec![json!({ "op": "test", "path": "/metadata/uid", "value": &*header.uid })];
    // A list that is not there tests equal to null, as the API server's JSON patch has it.
    let tested = if current.is_empty() {
        Value::Null
    } else {
        json!(current)
    };
    patch.push(json!({ "op": "test", "path": "/metadata/finalizers", "value": tested }));
    if let Some(name) = missing {
        patch.push(if current.is_empty() {
            json!({ "op": "add", "path": "/metadata/finalizers", "value": [name] })
        } else {
            json!({ "op": "add", "path": "/metadata/finalizers/-", "value": name })
        });
    }
    // From the back, so that indices stay true.
    for index in stale.into_iter().rev() {
        patch.push(json!({ "op": "remove", "path": format!("/metadata/finalizers/{index}") }));
    }
    Some(Value::Array(patch))
}

/// The patch that removes every finalizer of `ours`, each tested at its index; `None` where there is none.
#[must_use]
pub fn remove<'a>(header: &Header, ours: impl Fn(&str) -> bool + 'a) -> Option<Value> {
    let current: Vec<&str> = header.finalizers.iter().map(|name| &**name).collect();
    let found = positions(&current, ours);
    if found.is_empty() {
        return None;
    }
    let mut patch = vec![json!({ "op": "test", "path": "/metadata/uid", "value": &*header.uid })];
    for index in found.into_iter().rev() {
        let path = format!("/metadata/finalizers/{index}");
        patch.push(json!({ "op": "test", "path": path, "value": current[index] }));
        patch.push(json!({ "op": "remove", "path": path }));
    }
    Some(Value::Array(patch))
}

fn positions(names: &[&str], wanted: impl Fn(&str) -> bool) -> Vec<usize> {
    let found = names.iter().enumerate().filter(|(_, name)| wanted(name));
    found.map(|(index, _)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Cached;
    use crate::kind::Kind;

    fn header(finalizers: &Value) -> Header {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "a", "namespace": "ns", "uid": "u1", "resourceVersion": "5", "finalizers": finalizers },
        });
        let kind = Kind::new("", "v1", "ConfigMap", "configmaps", true);
        Cached::parse(&kind, object.to_string().into(), "")
            .expect("an object")
            .header()
            .clone()
    }

    #[test]
    fn the_first_finalizer_is_added_only_where_there_is_still_none() {
        let patch = ensure(&header(&json!([])), Some("me"), &[]).expect("a patch");
        assert_eq!(
            patch,
            json!([
                { "op": "test", "path": "/metadata/uid", "value": "u1" },
                { "op": "test", "path": "/metadata/finalizers", "value": null },
                { "op": "add", "path": "/metadata/finalizers", "value": ["me"] },
            ])
        );
    }

    #[test]
    fn other_peoples_finalizers_keep_their_place() {
        let patch = ensure(&header(&json!(["x", "old", "y"])), Some("me"), &["old".into()]).expect("a patch");
        assert_eq!(
            patch,
            json!([
                { "op": "test", "path": "/metadata/uid", "value": "u1" },
                { "op": "test", "path": "/metadata/finalizers", "value": ["x", "old", "y"] },
                { "op": "add", "path": "/metadata/finalizers/-", "value": "me" },
                { "op": "remove", "path": "/metadata/finalizers/1" },
            ])
        );
        assert_eq!(ensure(&header(&json!(["x", "me"])), Some("me"), &[]), None);
        assert_eq!(ensure(&header(&json!(["x"])), None, &[]), None);
    }

    #[test]
    fn removal_tests_each_index_and_value_from_the_back() {
        let ours = |name: &str| name == "me" || name == "old";
        let patch = remove(&header(&json!(["old", "x", "me"])), ours).expect("a patch");
        assert_eq!(
            patch,
            json!([
                { "op": "test", "path": "/metadata/uid", "value": "u1" },
                { "op": "test", "path": "/metadata/finalizers/2", "value": "me" },
                { "op": "remove", "path": "/metadata/finalizers/2" },
                { "op": "test", "path": "/metadata/finalizers/0", "value": "old" },
                { "op": "remove", "path": "/metadata/finalizers/0" },
            ])
        );
        assert_eq!(remove(&header(&json!(["x"])), ours), None);
    }
}
