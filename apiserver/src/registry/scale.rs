//! `/scale`: a view of an object as an `autoscaling/v1` Scale, and writes through it.

use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value, json};

use super::decode;
use super::options::WriteOptions;
use super::patch::{self, PatchKind};
use super::shape::{self, Shown};
use super::update::{self, Change};
use super::{Outcome, Scope};
use crate::apply::{self, Manager, Views};
use crate::error::{ApiError, Cause};
use crate::resource::Resource;
use crate::schema::Schema;

/// Scale as if it were a resource: what decodes, patches and tracks it.
static SCALE: LazyLock<Arc<Resource>> = LazyLock::new(|| {
    Arc::new(Resource {
        group: "autoscaling".into(),
        version: "v1".into(),
        storage_version: "v1".into(),
        stored_under: "scales.autoscaling".into(),
        kind: "Scale".into(),
        list_kind: "ScaleList".into(),
        plural: "scales".into(),
        singular: "scale".into(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: true,
        verbs: Vec::new(),
        counts_generation: false,
        subresources: Vec::new(),
        schema: Schema::builtin("autoscaling", "v1", "Scale").unwrap_or_else(|| Arc::new(Schema::any())),
        deprecation: None,
        custom: None,
    })
});

/// Where a kind keeps what its Scale shows.
struct Paths<'a> {
    replicas: Vec<&'a str>,
    status_replicas: Vec<&'a str>,
    /// The path of a selector that is a text; absent where it is a label selector.
    selector: Option<Vec<&'a str>>,
}

/// The Scale of an object.
///
/// # Errors
/// 404 if there is no such object, 500 if it lacks the number of replicas.
pub(crate) async fn get(scope: &Scope) -> Result<Outcome, ApiError> {
    let stored = super::conversion::anew(scope, super::read::find(scope)?).await?;
    let parent = shape::value(&scope.resource, &stored)?;
    let paths = paths(&scope.resource);
    if scope.resource.custom.is_some() && at(&parent, &paths.replicas).is_none() {
        return Err(missing(&paths));
    }
    Ok(Outcome::ok(Shown::Value(shown(scope, &parent))))
}

/// Replaces the Scale of an object.
///
/// # Errors
/// 400 for a body that is no Scale, 404, 409 and 422 as for an update.
pub(crate) async fn update(
    scope: &Scope,
    options: &WriteOptions,
    text: &[u8],
    content_type: Option<&str>,
) -> Result<Outcome, ApiError> {
    let view = view(scope);
    let body = decode::read(&SCALE, text, content_type)?;
    let (wanted, warnings) = decode::object(&view, body, options.validation)?;
    write(scope, options, &mut |_| Ok((wanted.clone(), warnings.clone(), false))).await
}

/// Patches the Scale of an object.
///
/// # Errors
/// As [`update`], and those of the patch.
pub(crate) async fn patch(
    scope: &Scope,
    options: &WriteOptions,
    kind: PatchKind,
    text: &[u8],
) -> Result<Outcome, ApiError> {
    let options = &options.of_kind("UpdateOptions");
    super::read::find(scope)?;
    let view = view(scope);
    if kind == PatchKind::Apply {
        let (config, _) = patch::applied(text, options.validation)?;
        return write(scope, options, &mut |scale| {
            let force = options.force.unwrap_or_default();
            let manager = manager(&view, options, true);
            let merged = apply::server_side(&SCALE, Some(scale), &config, &manager, force, &[], &Views::default())?;
            Ok((merged, Vec::new(), true))
        })
        .await;
    }
    let patch = patch::read(&view, kind, text)?;
    write(scope, options, &mut |scale| {
        let object = patch::patched(&view, kind, scale, &patch.value)?;
        let change = patch::decoded(&view, options, kind, object, &patch, text)?;
        Ok((change.object, change.warnings, false))
    })
    .await
}

type Wanted = (Value, Vec<String>, bool);

async fn write(
    scope: &Scope,
    options: &WriteOptions,
    make: &mut (dyn FnMut(&Value) -> Result<Wanted, ApiError> + Send),
) -> Result<Outcome, ApiError> {
    let paths = paths(&scope.resource);
    let view = view(scope);
    let outcome = update::change(scope, options, "", &mut |parent, _| {
        let old = to_scale(scope, parent);
        let (mut scale, warnings, tracked) = make(&old)?;
        check(scope, &scale, &paths)?;
        if !tracked {
            let manager = manager(&view, options, false);
            apply::track_update(&SCALE, Some(&old), &mut scale, &manager, &[], &Views::default());
        }
        let replicas = scale["spec"]["replicas"].as_i64().unwrap_or_default();
        let mut object = parent.clone();
        set(&mut object, &paths.replicas, replicas.into());
        let owned = apply::scale::to_parent(parent, &scale, &paths.replicas, &scope.resource.api_version());
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("managedFields");
            if !owned.is_null() {
                metadata.insert("managedFields".to_owned(), owned);
            }
            // A Scale without a resourceVersion is written whatever the object's is.
            if let Some(version) = scale["metadata"]["resourceVersion"].as_str().filter(|v| !v.is_empty()) {
                metadata.insert("resourceVersion".to_owned(), version.into());
            }
            if let Some(name) = scale["metadata"].get("name") {
                metadata.insert("name".to_owned(), name.clone());
            }
        }
        Ok(Change {
            object,
            warnings,
            tracked: true,
        })
    })
    .await?;
    let parent = outcome.shown.into_value();
    Ok(Outcome {
        shown: Shown::Value(shown(scope, &parent)),
        ..outcome
    })
}

/// The Scale of an object as admission sees it.
pub(crate) fn reviewed(scope: &Scope, parent: &Value) -> Value {
    shown(scope, parent)
}

/// Brings a Scale that admission has changed back into its object.
pub(crate) fn take_back(scope: &Scope, scale: &Value, object: &mut Value) {
    let replicas = scale["spec"]["replicas"].as_i64().unwrap_or_default();
    set(object, &paths(&scope.resource).replicas, replicas.into());
}

fn check(scope: &Scope, scale: &Value, paths: &Paths<'_>) -> Result<(), ApiError> {
    let replicas = scale["spec"]["replicas"].as_i64().unwrap_or_default();
    if replicas >= 0 {
        return Ok(());
    }
    let resource = &*scope.resource;
    if resource.custom.is_some() {
        let field = format!(".{}", paths.replicas.join("."));
        let cause = Cause::invalid(field, &json!(replicas), "should be a non-negative integer");
        return Err(ApiError::invalid(
            &resource.group,
            &resource.kind,
            &scope.name,
            &[cause],
        ));
    }
    let cause = Cause::invalid("spec.replicas", &json!(replicas), "must be greater than or equal to 0");
    Err(ApiError::invalid("autoscaling", "Scale", &scope.name, &[cause]))
}

/// The Scale as it is answered: without managedFields, which are the parent's.
fn shown(scope: &Scope, parent: &Value) -> Value {
    let mut scale = to_scale(scope, parent);
    if let Some(metadata) = scale["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    scale
}

fn to_scale(scope: &Scope, parent: &Value) -> Value {
    let paths = paths(&scope.resource);
    let mut metadata = Map::new();
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = parent["metadata"].get(field) {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    let owned = apply::scale::to_scale(parent, &paths.replicas);
    if !owned.is_null() {
        metadata.insert("managedFields".to_owned(), owned);
    }
    let number = |path: &[&str]| at(parent, path).and_then(Value::as_i64).unwrap_or_default();
    let mut spec = json!({});
    if number(&paths.replicas) != 0 {
        spec["replicas"] = number(&paths.replicas).into();
    }
    let mut status = json!({ "replicas": number(&paths.status_replicas) });
    let selector = match &paths.selector {
        Some(path) => at(parent, path).and_then(Value::as_str).unwrap_or_default().to_owned(),
        None if scope.resource.custom.is_none() => selector_text(&parent["spec"]["selector"]),
        None => String::new(),
    };
    if !selector.is_empty() {
        status["selector"] = selector.into();
    }
    json!({ "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status })
}

fn paths(resource: &Resource) -> Paths<'_> {
    let Some(scale) = resource.custom.as_ref().and_then(|custom| custom.scale.as_ref()) else {
        return Paths {
            replicas: vec!["spec", "replicas"],
            status_replicas: vec!["status", "replicas"],
            selector: None,
        };
    };
    let path = |field: &str| {
        scale[field]
            .as_str()
            .map(|p| p.split('.').filter(|part| !part.is_empty()).collect())
    };
    Paths {
        replicas: path("specReplicasPath").unwrap_or_default(),
        status_replicas: path("statusReplicasPath").unwrap_or_default(),
        selector: path("labelSelectorPath"),
    }
}

fn missing(paths: &Paths<'_>) -> ApiError {
    let path = paths.replicas.join(".");
    ApiError::internal(format!("the spec replicas field \".{path}\" does not exist"))
}

fn at<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, part| value.get(*part))
}

fn set(object: &mut Value, path: &[&str], value: Value) {
    let Some((last, parents)) = path.split_last() else {
        return;
    };
    let mut place = object;
    for part in parents {
        if !place[*part].is_object() {
            place[*part] = json!({});
        }
        place = &mut place[*part];
    }
    place[*last] = value;
}

/// A label selector as text: `a=b,c in (d,e)`. A plain map is one of equalities.
fn selector_text(selector: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let structured = selector.get("matchLabels").is_some() || selector.get("matchExpressions").is_some();
    let labels = if structured { &selector["matchLabels"] } else { selector };
    let mut terms: Vec<(String, String)> = labels
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.clone(), format!("{key}={}", text(value))))
        .collect();
    for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
        let key = text(&expression["key"]);
        let mut values: Vec<String> = expression["values"]
            .as_array()
            .into_iter()
            .flatten()
            .map(text)
            .collect();
        values.sort();
        let values = values.join(",");
        let term = match expression["operator"].as_str() {
            Some("In") => format!("{key} in ({values})"),
            Some("NotIn") => format!("{key} notin ({values})"),
            Some("DoesNotExist") => format!("!{key}"),
            _ => key.clone(),
        };
        terms.push((key, term));
    }
    terms.sort_by(|a, b| a.0.cmp(&b.0));
    terms.into_iter().map(|(_, term)| term).collect::<Vec<_>>().join(",")
}

/// The scope with Scale in the place of its resource.
fn view(scope: &Scope) -> Scope {
    Scope {
        resource: Arc::clone(&SCALE),
        ..scope.clone()
    }
}

fn manager<'a>(view: &'a Scope, options: &'a WriteOptions, applies: bool) -> Manager<'a> {
    Manager {
        name: options.field_manager.as_deref().unwrap_or(&view.agent),
        operation: if applies {
            apply::Operation::Apply
        } else {
            apply::Operation::Update
        },
        subresource: "scale",
        api_version: "autoscaling/v1",
        // Entries made through a Scale carry no time.
        time: "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_written_sorted_by_key() {
        let selector = json!({
            "matchLabels": { "b": "1" },
            "matchExpressions": [{ "key": "a", "operator": "In", "values": ["y", "x"] }, { "key": "c", "operator": "Exists" }],
        });
        assert_eq!(selector_text(&selector), "a in (x,y),b=1,c");
        assert_eq!(selector_text(&json!({ "app": "x" })), "app=x");
    }
}
