//! What pods have and nothing else: binding, eviction, logs, connections.

use serde_json::{Value, json};

use super::options::{DeleteOptions, WriteOptions, integer};
use super::shape::Shown;
use super::special::{of_kind, posted};
use super::update::{self, Change};
use super::{Outcome, Scope, create, delete, read};
use crate::error::{ApiError, Cause};
use crate::http::incoming::Incoming;
use crate::http::query::Query;

const DISRUPTION_BUDGETS: &str = "poddisruptionbudgets.policy";

/// Assigns a pod to a node, as a scheduler does: `pods/<name>/binding` and `bindings`.
///
/// # Errors
/// 404 for a missing pod, 409 for one that has a node already, 500 for a target that is none.
pub(crate) async fn bind(scope: &Scope, incoming: &Incoming) -> Result<Outcome, ApiError> {
    let view = of_kind(scope, "", "v1", "Binding")?;
    let (binding, options, warnings) = posted(&view, incoming)?;
    let mut outcome = bind_to(scope, &options, &binding).await?;
    outcome.warnings.extend(warnings);
    Ok(outcome)
}

/// Carries out a decoded Binding.
///
/// # Errors
/// As [`bind`].
pub(crate) async fn bind_to(scope: &Scope, options: &WriteOptions, binding: &Value) -> Result<Outcome, ApiError> {
    let target = &binding["target"];
    let mut faults = Vec::new();
    let kind = target["kind"].as_str().unwrap_or_default();
    if !matches!(kind, "" | "Node") {
        faults.push(format!(
            "target.kind: Unsupported value: {kind:?}: supported values: \"Node\", \"<empty>\""
        ));
    }
    let node = target["name"].as_str().unwrap_or_default();
    if node.is_empty() {
        faults.push("target.name: Required value".to_owned());
    }
    match faults.as_slice() {
        [] => {}
        [one] => return Err(ApiError::new(500, "", one.clone())),
        many => return Err(ApiError::new(500, "", format!("[{}]", many.join(", ")))),
    }
    let name = binding["metadata"]["name"].as_str().unwrap_or_default();
    let pods = scope.catalog.get("", "v1", "pods").ok_or_else(ApiError::no_such_path)?;
    let mut pod = Scope {
        resource: pods,
        subresource: String::new(),
        ..scope.clone()
    };
    if pod.name.is_empty() {
        name.clone_into(&mut pod.name);
    } else if !name.is_empty() && name != pod.name {
        return Err(create::name_mismatch(name, &pod.name));
    }
    let now = scope.core.clock.now_rfc3339();
    pod.subresource = "binding".to_owned();
    update::change(&pod, options, "", &mut |old, _| {
        let conflict = |why: String| {
            let mut error = ApiError::conflict(&pod.resource, &pod.name, "");
            error.message = format!("Operation cannot be fulfilled on pods/binding {:?}: {why}", pod.name);
            error.details = Some(Box::new(json!({ "name": pod.name, "kind": "pods/binding" })));
            error
        };
        if !old["metadata"]["deletionTimestamp"].is_null() {
            return Err(conflict(format!(
                "pod {} is being deleted, cannot be assigned to a host",
                pod.name
            )));
        }
        if let Some(current) = old["spec"]["nodeName"].as_str().filter(|current| !current.is_empty()) {
            return Err(conflict(format!(
                "pod {} is already assigned to node {current:?}",
                pod.name
            )));
        }
        let mut object = old.clone();
        object["spec"]["nodeName"] = node.into();
        set_scheduled(&mut object, &now);
        if let Some(annotations) = binding["metadata"]["annotations"].as_object() {
            for (name, value) in annotations {
                object["metadata"]["annotations"][name] = value.clone();
            }
        }
        Ok(Change {
            object,
            warnings: Vec::new(),
            tracked: true,
        })
    })
    .await?;
    Ok(Outcome {
        code: 201,
        shown: success(),
        warnings: Vec::new(),
    })
}

/// Deletes a pod unless a PodDisruptionBudget forbids it.
///
/// # Errors
/// 404 for a missing pod, 429 when a budget is used up, 500 when there is more than one.
pub(crate) async fn evict(scope: &Scope, incoming: &Incoming) -> Result<Outcome, ApiError> {
    let view = of_kind(scope, "policy", "v1", "Eviction")?;
    let (eviction, options, warnings) = posted(&view, incoming)?;
    let mut outcome = evict_by(scope, &options, &eviction).await?;
    outcome.warnings.extend(warnings);
    Ok(outcome)
}

/// Carries out a decoded Eviction.
///
/// # Errors
/// As [`evict`].
pub(crate) async fn evict_by(scope: &Scope, options: &WriteOptions, eviction: &Value) -> Result<Outcome, ApiError> {
    let name = eviction["metadata"]["name"].as_str().unwrap_or_default();
    if !name.is_empty() && name != scope.name {
        return Err(ApiError::bad_request(
            "name in URL does not match name in Eviction object",
        ));
    }
    let pod = Scope {
        subresource: String::new(),
        ..scope.clone()
    };
    let stored = read::find(&pod)?;
    let mut delete_options = DeleteOptions::from_object(eviction["deleteOptions"].clone())?;
    delete_options.dry_run |= options.dry_run;
    let object = stored.value();
    // What does not run, or is going already, disturbs no budget.
    let running = object["metadata"]["deletionTimestamp"].is_null()
        && matches!(object["status"]["phase"].as_str(), Some("Running" | "Unknown"));
    if running {
        delete::check_preconditions(&pod.resource, &stored, &delete_options)?;
        spend_budget(scope, &object, delete_options.dry_run).await?;
    }
    let going = !object["metadata"]["deletionTimestamp"].is_null();
    if !going && !delete_options.dry_run {
        mark_evicted(&pod, options).await?;
    }
    delete::delete(&pod, &delete_options).await?;
    Ok(Outcome {
        code: 201,
        shown: success(),
        warnings: Vec::new(),
    })
}

/// Tells in the pod's status why it goes.
async fn mark_evicted(pod: &Scope, options: &WriteOptions) -> Result<(), ApiError> {
    let scope = Scope {
        subresource: "status".to_owned(),
        ..pod.clone()
    };
    let now = scope.core.clock.now_rfc3339();
    update::change(&scope, options, "", &mut |old, _| {
        let mut object = old.clone();
        let conditions = &mut object["status"]["conditions"];
        if !conditions.is_array() {
            *conditions = json!([]);
        }
        if let Some(list) = conditions.as_array_mut() {
            list.retain(|condition| condition["type"] != "DisruptionTarget");
            list.push(json!({
                "type": "DisruptionTarget", "status": "True", "lastProbeTime": null, "lastTransitionTime": now,
                "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting",
            }));
        }
        Ok(Change {
            object,
            warnings: Vec::new(),
            tracked: true,
        })
    })
    .await
    .map(drop)
}

/// The log of a container: always empty, since nothing runs.
///
/// # Errors
/// 404 for a missing pod, 400 for a container that it does not have, 422 for bad options.
pub(crate) fn log(scope: &Scope, query: &Query) -> Result<Outcome, ApiError> {
    let mut causes = Vec::new();
    for (option, least) in [("tailLines", 0), ("sinceSeconds", 1), ("limitBytes", 1)] {
        if let Some(text) = query.given(option) {
            let number = integer(text)?;
            if number < least {
                let detail = if least == 0 {
                    "must be greater than or equal to 0"
                } else {
                    "must be greater than 0"
                };
                causes.push(Cause::invalid(option, &json!(number), detail));
            }
        }
    }
    if !causes.is_empty() {
        return Err(ApiError::invalid("", "PodLogOptions", &scope.name, &causes));
    }
    let pod = read::find(scope)?.value();
    let containers: Vec<&str> = ["containers", "initContainers", "ephemeralContainers"]
        .iter()
        .flat_map(|list| pod["spec"][*list].as_array().into_iter().flatten())
        .filter_map(|container| container["name"].as_str())
        .collect();
    match query.given("container") {
        Some(container) if !containers.contains(&container) => {
            let message = format!("container {container} is not valid for pod {}", scope.name);
            return Err(ApiError::bad_request(message));
        }
        None if pod["spec"]["containers"].as_array().is_some_and(|list| list.len() > 1) => {
            let message = format!(
                "a container name must be specified for pod {}, choose one of: [{}]",
                scope.name,
                containers.join(" ")
            );
            return Err(ApiError::bad_request(message));
        }
        _ => {}
    }
    Ok(Outcome {
        code: 204,
        shown: Shown::Json(bytes::Bytes::new()),
        warnings: Vec::new(),
    })
}

/// Takes one allowed disruption from the budget that covers the pod, if there is one.
async fn spend_budget(scope: &Scope, pod: &Value, dry_run: bool) -> Result<(), ApiError> {
    let store = &scope.core.store;
    let mut covering = store
        .list(DISRUPTION_BUDGETS, Some(&scope.namespace))
        .into_iter()
        .filter(|budget| covers(&budget.value()["spec"]["selector"], &pod["metadata"]["labels"]));
    let Some(budget) = covering.next() else { return Ok(()) };
    if covering.next().is_some() {
        let message =
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
        return Err(ApiError::new(500, "", message));
    }
    let name = budget.key.name.to_string();
    let value = budget.value();
    let status = &value["status"];
    let number = |field: &str| status[field].as_i64().unwrap_or_default();
    let refuse = |message: String, retry: Option<u32>| {
        let text = "Cannot evict pod as it would violate the pod's disruption budget.";
        let mut error = ApiError::new(429, "TooManyRequests", text);
        let mut details = json!({ "causes": [{ "reason": "DisruptionBudget", "message": message }] });
        if let Some(seconds) = retry {
            details["retryAfterSeconds"] = seconds.into();
        }
        error.details = Some(Box::new(details));
        error.retry_after = retry;
        Err(error)
    };
    let unready = spares_unready(&value, pod);
    if unready {
        return Ok(());
    }
    if number("observedGeneration") < value["metadata"]["generation"].as_i64().unwrap_or_default() {
        return refuse(
            format!("The disruption budget {name} is still being processed by the server."),
            Some(10),
        );
    }
    if number("disruptionsAllowed") <= 0 {
        let (desired, current) = (number("desiredHealthy"), number("currentHealthy"));
        let message = format!("The disruption budget {name} needs {desired} healthy pods and has {current} currently");
        return refuse(message, None);
    }
    if dry_run {
        return Ok(());
    }
    let resource = scope
        .catalog
        .stored(DISRUPTION_BUDGETS)
        .ok_or_else(ApiError::no_such_path)?;
    let budget = Scope {
        resource,
        name,
        subresource: "status".to_owned(),
        ..scope.clone()
    };
    let (pod, now) = (scope.name.clone(), scope.core.clock.now_rfc3339());
    update::change(&budget, &WriteOptions::default(), "", &mut |old, _| {
        let mut object = old.clone();
        let left = object["status"]["disruptionsAllowed"].as_i64().unwrap_or_default() - 1;
        object["status"]["disruptionsAllowed"] = left.into();
        object["status"]["disruptedPods"][&pod] = now.as_str().into();
        if left == 0 {
            set_exhausted(&mut object, &now);
        }
        Ok(Change {
            object,
            warnings: Vec::new(),
            tracked: true,
        })
    })
    .await?;
    Ok(())
}

/// Tells in a budget's status that no further disruption is allowed.
fn set_exhausted(budget: &mut Value, now: &str) {
    let generation = budget["metadata"]["generation"].clone();
    let conditions = &mut budget["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let condition = json!({
        "type": "DisruptionAllowed", "status": "False", "observedGeneration": generation, "lastTransitionTime": now,
        "reason": "InsufficientPods", "message": "",
    });
    let Some(list) = conditions.as_array_mut() else { return };
    match list.iter_mut().find(|found| found["type"] == condition["type"]) {
        Some(found) => {
            // The time is that of the last change of the status.
            let since = found["lastTransitionTime"].clone();
            let same = found["status"] == condition["status"];
            *found = condition;
            if same {
                found["lastTransitionTime"] = since;
            }
        }
        None => list.push(condition),
    }
}

/// Whether the budget lets pods go that are not ready anyway.
fn spares_unready(budget: &Value, pod: &Value) -> bool {
    let ready = pod["status"]["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
    if ready {
        return false;
    }
    let status = &budget["status"];
    let number = |field: &str| status[field].as_i64().unwrap_or_default();
    budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
        || (number("currentHealthy") >= number("desiredHealthy") && number("desiredHealthy") > 0)
}

/// Whether a label selector object matches labels; no selector matches nothing.
fn covers(selector: &Value, labels: &Value) -> bool {
    let Some(fields) = selector.as_object() else {
        return false;
    };
    let label = |key: &str| labels[key].as_str();
    let equal = fields
        .get("matchLabels")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .all(|(key, value)| label(key) == value.as_str());
    let expressions = fields
        .get("matchExpressions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    equal
        && expressions.into_iter().all(|expression| {
            let key = expression["key"].as_str().unwrap_or_default();
            let listed = |value: &str| {
                expression["values"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .any(|candidate| candidate == value)
            };
            match expression["operator"].as_str() {
                Some("In") => label(key).is_some_and(listed),
                Some("NotIn") => label(key).is_none_or(|value| !listed(value)),
                Some("Exists") => label(key).is_some(),
                Some("DoesNotExist") => label(key).is_none(),
                _ => false,
            }
        })
}

fn set_scheduled(pod: &mut Value, now: &str) {
    let condition = json!({
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": null,
        "lastTransitionTime": now,
    });
    let Some(status) = pod
        .as_object_mut()
        .map(|fields| fields.entry("status").or_insert_with(|| json!({})))
    else {
        return;
    };
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    if let Some(conditions) = status["conditions"].as_array_mut() {
        conditions.retain(|c| c["type"] != "PodScheduled");
        conditions.push(condition);
    }
}

fn success() -> Shown {
    Shown::Value(json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 }))
}
