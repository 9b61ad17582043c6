//! Which node may run a pod.

use serde_json::Value;

use crate::controllers::object::Object;

/// Whether the pod's node selector and required node affinity allow the node.
#[must_use]
pub fn is_selected(pod: &Value, node: &Value) -> bool {
    let selector = pod.at("spec.nodeSelector").and_then(Value::as_object);
    let labels_match = selector.into_iter().flatten().all(|(k, v)| node.label(k) == v.as_str());
    let terms = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    labels_match && (pod.at(terms).is_none() || pod.items(terms).iter().any(|t| term_matches(t, node)))
}

/// Whether the pod tolerates every taint of these effects on the node.
#[must_use]
pub fn tolerates(pod: &Value, node: &Value, effects: &[&str]) -> bool {
    let tolerated = |taint: &Value| {
        pod.items("spec.tolerations").iter().any(|t| {
            let (key, effect) = (t.text("key"), t.text("effect"));
            (effect.is_empty() || effect == taint.text("effect"))
                && (key == taint.text("key") || (key.is_empty() && t.text("operator") == "Exists"))
                && (t.text("operator") == "Exists" || t.text("value") == taint.text("value"))
        })
    };
    let mut taints: Vec<&Value> = node.items("spec.taints").iter().collect();
    let cordoned = serde_json::json!({ "key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule" });
    if node.flag("spec.unschedulable") {
        taints.push(&cordoned);
    }
    taints
        .into_iter()
        .filter(|t| effects.contains(&t.text("effect")))
        .all(tolerated)
}

fn term_matches(term: &Value, node: &Value) -> bool {
    let (labels, fields) = (term.items("matchExpressions"), term.items("matchFields"));
    let field = |key: &str| (key == "metadata.name").then(|| node.name());
    !(labels.is_empty() && fields.is_empty())
        && labels.iter().all(|e| holds(e, node.label(e.text("key"))))
        && fields.iter().all(|e| holds(e, field(e.text("key"))))
}

fn holds(expression: &Value, value: Option<&str>) -> bool {
    let listed = |v: &str| expression.items("values").iter().any(|x| x.as_str() == Some(v));
    let compare = |test: fn(i64, i64) -> bool| {
        let bound = expression
            .items("values")
            .first()
            .and_then(Value::as_str)
            .and_then(|b| b.parse().ok());
        value
            .and_then(|v| v.parse().ok())
            .zip(bound)
            .is_some_and(|(v, b)| test(v, b))
    };
    match expression.text("operator") {
        "In" => value.is_some_and(listed),
        "NotIn" => value.is_none_or(|v| !listed(v)),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => compare(|v, b| v > b),
        "Lt" => compare(|v, b| v < b),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_goes_where_its_selector_and_its_affinity_allow() {
        let node = json!({"metadata": {"name": "n", "labels": {"zone": "a"}}});
        let pod = |spec: Value| json!({ "spec": spec });
        assert!(is_selected(&pod(json!({})), &node));
        assert!(!is_selected(&pod(json!({"nodeSelector": {"zone": "b"}})), &node));
        let affine = |name: &str| {
            pod(
                json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}],
                }}}}),
            )
        };
        assert!(is_selected(&affine("n"), &node));
        assert!(!is_selected(&affine("other"), &node));
    }

    #[test]
    fn a_taint_needs_a_toleration_and_a_cordon_is_one() {
        let pod = json!({"spec": {"tolerations": [{"key": "k", "operator": "Equal", "value": "v"}]}});
        let node = |taints: Value| json!({"metadata": {"name": "n"}, "spec": {"taints": taints}});
        assert!(tolerates(
            &pod,
            &node(json!([{"key": "k", "value": "v", "effect": "NoSchedule"}])),
            &["NoSchedule"]
        ));
        assert!(!tolerates(
            &pod,
            &node(json!([{"key": "k", "value": "w", "effect": "NoSchedule"}])),
            &["NoSchedule"]
        ));
        assert!(tolerates(
            &pod,
            &node(json!([{"key": "x", "effect": "NoExecute"}])),
            &["NoSchedule"]
        ));
        assert!(!tolerates(
            &pod,
            &json!({"metadata": {"name": "n"}, "spec": {"unschedulable": true}}),
            &["NoSchedule"]
        ));
    }
}
