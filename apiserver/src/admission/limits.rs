//! LimitRanger: containers get the requests and limits that their namespace prescribes, and stay within its bounds.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Inner, Operation, Request};
use crate::error::ApiError;
use crate::schema::quantity::Quantity;

const RANGES: &str = "limitranges";
/// Where a pod tells what the plugin has set.
const ANNOTATION: &str = "kubernetes.io/limit-ranger";

type Amounts = BTreeMap<String, String>;

/// Sets the requests and limits that a new pod's containers leave out.
pub(super) fn default(inner: &Inner, request: &mut Request<'_>) {
    if request.operation != Operation::Create || !is(request, "pods") {
        return;
    }
    for range in inner.store.list(RANGES, Some(request.namespace)) {
        let range = range.value();
        let mut told = Vec::new();
        let defaults = |field: &str| -> Amounts {
            items(&range, "Container")
                .flat_map(|item| amounts(&item[field]))
                .collect()
        };
        let (requests, limits) = (defaults("defaultRequest"), defaults("default"));
        for (list, word) in [("containers", "container"), ("initContainers", "init container")] {
            let containers = request.object["spec"].get_mut(list).and_then(Value::as_array_mut);
            for container in containers.into_iter().flatten() {
                for (field, what, defaults) in [("requests", "request", &requests), ("limits", "limit", &limits)] {
                    let set = fill(container, field, defaults);
                    if !set.is_empty() {
                        let name = container["name"].as_str().unwrap_or_default();
                        told.push(format!("{} {what} for {word} {name}", set.join(", ")));
                    }
                }
            }
        }
        if !told.is_empty() {
            let annotations = &mut request.object["metadata"]["annotations"];
            annotations[ANNOTATION] = format!("LimitRanger plugin set: {}", told.join("; ")).into();
        }
    }
}

/// Checks pods and claims against the bounds of their namespace.
///
/// # Errors
/// 403 with everything that is out of bounds.
pub(super) fn check(inner: &Inner, request: &Request<'_>) -> Result<(), ApiError> {
    let claim = is(request, "persistentvolumeclaims");
    let concerned = match request.operation {
        Operation::Create => claim || is(request, "pods"),
        Operation::Update => claim,
        _ => false,
    };
    if !concerned {
        return Ok(());
    }
    let mut faults = Vec::new();
    for range in inner.store.list(RANGES, Some(request.namespace)) {
        let range = range.value();
        if claim {
            let requests = amounts(&request.object["spec"]["resources"]["requests"]);
            for item in items(&range, "PersistentVolumeClaim") {
                let bounds = Bounds::of(item, "PersistentVolumeClaim");
                faults.extend(bounds.check_requests(&requests));
            }
        } else {
            check_pod(&range, request.object, &mut faults);
        }
    }
    let message = match faults.as_slice() {
        [] => return Ok(()),
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    };
    Err(ApiError::forbidden(request.resource, request.shown_name(), message))
}

fn is(request: &Request<'_>, plural: &str) -> bool {
    request.resource.group.is_empty() && request.resource.plural == plural && request.subresource.is_empty()
}

fn items<'v>(range: &'v Value, kind: &'v str) -> impl Iterator<Item = &'v Value> {
    let items = range["spec"]["limits"].as_array().into_iter().flatten();
    items.filter(move |item| item["type"] == kind)
}

fn amounts(value: &Value) -> Amounts {
    let fields = value.as_object().into_iter().flatten();
    fields
        .filter_map(|(name, amount)| Some((name.clone(), amount.as_str()?.to_owned())))
        .collect()
}

/// Sets what is missing; answers the names of what was set, sorted.
fn fill(container: &mut Value, field: &str, defaults: &Amounts) -> Vec<String> {
    let mut set = Vec::new();
    for (name, amount) in defaults {
        let resources = &mut container["resources"];
        if !resources.is_object() {
            *resources = Value::Object(Map::new());
        }
        let present = resources[field].get(name).is_some();
        if !present {
            resources[field][name] = amount.as_str().into();
            set.push(name.clone());
        }
    }
    set
}

fn check_pod(range: &Value, pod: &Value, faults: &mut Vec<String>) {
    let containers = |list: &str| pod["spec"][list].as_array().cloned().unwrap_or_default();
    let (main, init) = (containers("containers"), containers("initContainers"));
    for item in range["spec"]["limits"].as_array().into_iter().flatten() {
        match item["type"].as_str() {
            Some("Container") => {
                let bounds = Bounds::of(item, "Container");
                for container in main.iter().chain(&init) {
                    let resources = &container["resources"];
                    faults.extend(bounds.check(&amounts(&resources["requests"]), &amounts(&resources["limits"])));
                }
            }
            Some("Pod") => {
                let bounds = Bounds::of(item, "Pod");
                faults.extend(bounds.check(&total(&main, &init, "requests"), &total(&main, &init, "limits")));
            }
            _ => {}
        }
    }
}

/// What a pod needs: its containers together, or an init container that needs more.
fn total(main: &[Value], init: &[Value], field: &str) -> Amounts {
    let mut all: BTreeMap<String, Quantity> = BTreeMap::new();
    let of = |container: &Value| -> Vec<(String, Quantity)> {
        let amounts = amounts(&container["resources"][field]).into_iter();
        amounts
            .filter_map(|(name, text)| Some((name, Quantity::parse(&text)?)))
            .collect()
    };
    for (name, amount) in main.iter().flat_map(of) {
        let sum = all.get(&name).map_or(amount, |sum| sum.plus(amount));
        all.insert(name, sum);
    }
    for (name, amount) in init.iter().flat_map(of) {
        if all.get(&name).is_none_or(|sum| sum.compare(amount).is_lt()) {
            all.insert(name, amount);
        }
    }
    all.into_iter().map(|(name, sum)| (name, sum.canonical())).collect()
}

/// The bounds of one item of a LimitRange.
struct Bounds<'a> {
    kind: &'a str,
    min: Amounts,
    max: Amounts,
    ratio: Amounts,
}

impl<'a> Bounds<'a> {
    fn of(item: &Value, kind: &'a str) -> Self {
        Self {
            kind,
            min: amounts(&item["min"]),
            max: amounts(&item["max"]),
            ratio: amounts(&item["maxLimitRequestRatio"]),
        }
    }

    fn check(&self, requests: &Amounts, limits: &Amounts) -> Vec<String> {
        let mut faults: Vec<String> = Vec::new();
        for (name, bound) in &self.min {
            faults.extend(self.at_least(name, bound, requests.get(name), limits.get(name)));
        }
        for (name, bound) in &self.max {
            faults.extend(self.at_most(name, bound, ("limit", limits.get(name)), requests.get(name)));
        }
        for (name, bound) in &self.ratio {
            faults.extend(self.within_ratio(name, bound, requests.get(name), limits.get(name)));
        }
        faults
    }

    /// Claims have requests only.
    fn check_requests(&self, requests: &Amounts) -> Vec<String> {
        let least = self.min.iter();
        let mut faults: Vec<String> = least
            .filter_map(|(name, bound)| self.at_least(name, bound, requests.get(name), None))
            .collect();
        let most = self.max.iter();
        faults
            .extend(most.filter_map(|(name, bound)| self.at_most(name, bound, ("request", requests.get(name)), None)));
        faults
    }

    fn at_least(&self, name: &str, bound: &str, request: Option<&String>, limit: Option<&String>) -> Option<String> {
        let head = format!("minimum {name} usage per {} is {bound}", self.kind);
        let Some(request) = request else {
            return Some(format!("{head}.  No request is specified"));
        };
        let below = |amount: &str| order(amount, bound).is_some_and(std::cmp::Ordering::is_lt);
        if below(request) {
            return Some(format!("{head}, but request is {request}"));
        }
        let limit = limit.filter(|limit| below(limit))?;
        Some(format!("{head}, but limit is {limit}"))
    }

    fn at_most(
        &self,
        name: &str,
        bound: &str,
        (what, demanded): (&str, Option<&String>),
        request: Option<&String>,
    ) -> Option<String> {
        let head = format!("maximum {name} usage per {} is {bound}", self.kind);
        let Some(demanded) = demanded else {
            return Some(format!("{head}.  No {what} is specified"));
        };
        let above = |amount: &str| order(amount, bound).is_some_and(std::cmp::Ordering::is_gt);
        if above(demanded) {
            return Some(format!("{head}, but {what} is {demanded}"));
        }
        let request = request.filter(|request| above(request))?;
        Some(format!("{head}, but request is {request}"))
    }

    fn within_ratio(
        &self,
        name: &str,
        bound: &str,
        request: Option<&String>,
        limit: Option<&String>,
    ) -> Option<String> {
        let head = format!("{name} max limit to request ratio per {} is {bound}", self.kind);
        let parsed = |amount: Option<&String>| {
            let nanos = Quantity::parse(amount?)?.nanos();
            (nanos != 0).then_some(nanos)
        };
        let Some(request) = parsed(request) else {
            return Some(format!("{head}, but no request is specified or request is 0"));
        };
        let Some(limit) = parsed(limit) else {
            return Some(format!("{head}, but no limit is specified or limit is 0"));
        };
        let most = Quantity::parse(bound)?.nanos();
        #[expect(clippy::cast_precision_loss, reason = "the ratio is shown with six decimals")]
        let ratio = limit as f64 / request as f64;
        #[expect(clippy::cast_precision_loss, reason = "bounds of ratios are small")]
        let above = ratio * 1e9 > most as f64;
        above.then(|| format!("{head}, but provided ratio is {ratio:.6}"))
    }
}

fn order(a: &str, b: &str) -> Option<std::cmp::Ordering> {
    Some(Quantity::parse(a)?.compare(Quantity::parse(b)?))
}
