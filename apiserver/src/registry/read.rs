//! Get and list.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::conversion::{all_arrived, anew};
use super::fields::FieldSelector;
use super::labels::LabelSelector;
use super::options::integer;
use super::page::Token;
use super::shape;
use super::{Outcome, Scope};
use crate::error::{ApiError, Cause};
use crate::http::query::Query;
use crate::storage::{self, Expired, Stored, View};

/// How long a read waits for a revision that is not reached yet.
const PATIENCE: Duration = Duration::from_secs(3);

/// One object.
///
/// # Errors
/// 404; 500 for a resourceVersion that is no number; 504 for one that is not reached in time.
pub(crate) async fn get(scope: &Scope, query: &Query) -> Result<Outcome, ApiError> {
    if let Some(text) = query.given("resourceVersion") {
        let revision = text.parse().map_err(|_| ApiError::new(500, "", not_a_number(text)))?;
        wait_for(scope, revision).await?;
    }
    let stored = anew(scope, find(scope)?).await?;
    shape::show(&scope.resource, &stored).map(Outcome::ok)
}

/// The stored object that the scope names.
///
/// # Errors
/// 404 if there is none.
pub(crate) fn find(scope: &Scope) -> Result<Arc<Stored>, ApiError> {
    scope
        .core
        .store
        .find(&scope.resource.stored_under, &scope.namespace, &scope.name)
        .ok_or_else(|| ApiError::not_found(&scope.resource, &scope.name))
}

/// A list: the objects and what its metadata says.
#[derive(Debug)]
pub(crate) struct List {
    pub(crate) objects: Vec<Arc<Stored>>,
    pub(crate) revision: u64,
    /// How to go on; absent on the last page.
    pub(crate) token: Option<Token>,
    /// How many objects follow, where the server knows.
    pub(crate) remaining: Option<usize>,
}

impl List {
    /// `metadata` of the list. Lists of custom resources always have `continue`.
    pub(crate) fn metadata(&self, custom: bool) -> Value {
        let mut metadata = json!({ "resourceVersion": self.revision.to_string() });
        match &self.token {
            Some(token) => metadata["continue"] = token.encode().into(),
            None if custom => metadata["continue"] = "".into(),
            None => {}
        }
        if let Some(remaining) = self.remaining {
            metadata["remainingItemCount"] = remaining.into();
        }
        metadata
    }
}

/// Which objects of a collection are asked for.
#[derive(Debug, Default)]
pub(crate) struct Selectors {
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
}

impl Selectors {
    /// Reads the selectors of a query; a name in the scope selects that object.
    ///
    /// # Errors
    /// 400 when one cannot be read or selects by an unknown field.
    pub(crate) fn parse(scope: &Scope, query: &Query) -> Result<Self, ApiError> {
        Ok(Self {
            labels: LabelSelector::parse(query.get("labelSelector").unwrap_or_default())?,
            fields: FieldSelector::parse(query.get("fieldSelector").unwrap_or_default(), &scope.resource)?,
        })
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything()
    }

    pub(crate) fn matches(&self, object: &Stored) -> bool {
        self.labels.matches(object) && self.fields.matches(object)
    }
}

/// The objects of a collection.
///
/// # Errors
/// 400 for options that cannot be read, 422 for those that contradict each other, 410 for a revision that history no
/// longer reaches, 504 for one that is not reached yet.
pub(crate) async fn list(scope: &Scope, query: &Query) -> Result<List, ApiError> {
    let limit = query
        .given("limit")
        .map(integer)
        .transpose()?
        .filter(|limit| *limit > 0);
    let limit = limit.and_then(|limit| usize::try_from(limit).ok());
    let selectors = Selectors::parse(scope, query)?;
    check_options(query)?;
    let resource_version = query.get("resourceVersion").unwrap_or_default();
    let namespace = (!scope.namespace.is_empty()).then_some(scope.namespace.as_str());
    if let Some(token) = query.given("continue") {
        let token = Token::parse(token)?;
        if !matches!(resource_version, "" | "0") {
            return Err(ApiError::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        return next_page(scope, &token, limit, &selectors).await;
    }
    let store = &scope.core.store;
    let name = &scope.resource.stored_under;
    if matches!(resource_version, "" | "0") {
        let view = if resource_version.is_empty() {
            store.view(name, namespace)
        } else {
            seen(scope, namespace)?
        };
        let limit = limit.filter(|_| resource_version.is_empty());
        let view = all_arrived(scope, view).await?;
        return Ok(page(view, None, limit, &selectors, namespace.is_none()));
    }
    let revision: u64 = resource_version
        .parse()
        .map_err(|_| ApiError::bad_request(format!("invalid resource version: {}", not_a_number(resource_version))))?;
    wait_for(scope, revision).await?;
    let exact = match query.get("resourceVersionMatch").unwrap_or_default() {
        "Exact" => true,
        "NotOlderThan" => false,
        _ => limit.is_some(),
    };
    let view = if exact {
        store.view_at(name, namespace, revision).map_err(|_| too_old_list())?
    } else {
        seen(scope, namespace)?
    };
    let view = all_arrived(scope, view).await?;
    Ok(page(view, None, limit, &selectors, namespace.is_none()))
}

/// The objects of a collection as far as the request is shown them.
fn seen(scope: &Scope, namespace: Option<&str>) -> Result<View, ApiError> {
    let (store, name) = (&scope.core.store, &scope.resource.stored_under);
    match &scope.sight.horizon {
        Some(horizon) => store.view_within(name, namespace, horizon).map_err(|_| too_old_list()),
        None => Ok(store.view(name, namespace)),
    }
}

/// Waits, for a while, until the request is shown a revision.
///
/// # Errors
/// 504 when it is not.
pub(crate) async fn wait_for(scope: &Scope, revision: u64) -> Result<(), ApiError> {
    if scope.shown() >= revision {
        return Ok(());
    }
    let reached = async {
        scope.core.store.reached(revision).await;
        if let Some(horizon) = &scope.sight.horizon {
            horizon.beyond(revision.saturating_sub(1)).await;
        }
    };
    tokio::time::timeout(PATIENCE, reached)
        .await
        .map_err(|_| ApiError::revision_too_large(revision, scope.shown()))
}

/// What Go says of a resourceVersion that is no number.
pub(crate) fn not_a_number(text: &str) -> String {
    format!("resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax")
}

async fn next_page(
    scope: &Scope,
    token: &Token,
    limit: Option<usize>,
    selectors: &Selectors,
) -> Result<List, ApiError> {
    let namespace = (!scope.namespace.is_empty()).then_some(scope.namespace.as_str());
    let (store, name) = (&scope.core.store, &scope.resource.stored_under);
    let view = match u64::try_from(token.revision) {
        Ok(revision) => store.view_at(name, namespace, revision).map_err(|_: Expired| {
            let fresh = Token {
                revision: -1,
                start: token.start.clone(),
            };
            let mut error = ApiError::new(
                410,
                "Expired",
                "The provided continue parameter is too old to display a consistent list result. You can start a new \
                 list without the continue parameter, or use the continue token in this response to retrieve the \
                 remainder of the results. Continuing with the provided token results in an inconsistent list - \
                 objects that were created, modified, or deleted between the time the first chunk was returned and now \
                 may show up in the list.",
            );
            error.metadata = Some(Box::new(json!({ "continue": fresh.encode() })));
            error
        })?,
        Err(_) => store.view(name, namespace),
    };
    let view = all_arrived(scope, view).await?;
    Ok(page(view, Some(token), limit, selectors, namespace.is_none()))
}

/// Cuts a page out of a view. Whether more follows is judged before the selectors, as the real server does.
fn page(view: View, from: Option<&Token>, limit: Option<usize>, selectors: &Selectors, all_namespaces: bool) -> List {
    let everything = selectors.is_everything();
    let View { revision, mut objects } = view;
    if let Some(token) = from {
        let first = objects.partition_point(|object| !token.reaches(object, all_namespaces));
        objects.drain(..first);
    }
    if everything && limit.is_none_or(|limit| objects.len() <= limit) {
        return List {
            objects,
            revision,
            token: None,
            remaining: None,
        };
    }
    let total = objects.len();
    let mut shown = Vec::new();
    for (index, object) in objects.into_iter().enumerate() {
        if !selectors.matches(&object) {
            continue;
        }
        shown.push(object);
        let seen = index + 1;
        if Some(shown.len()) == limit && seen < total {
            let at = i64::try_from(revision).unwrap_or(i64::MAX);
            let token = shown.last().map(|last| Token::after(last, all_namespaces, at));
            let remaining = everything.then(|| total - seen);
            return List {
                objects: shown,
                revision,
                token,
                remaining,
            };
        }
    }
    List {
        objects: shown,
        revision,
        token: None,
        remaining: None,
    }
}

fn check_options(query: &Query) -> Result<(), ApiError> {
    let field = "resourceVersionMatch";
    let mut causes = Vec::new();
    let resource_version = query.get("resourceVersion").unwrap_or_default();
    let matching = query.get(field).unwrap_or_default();
    if !matching.is_empty() {
        if resource_version.is_empty() {
            causes.push(Cause::forbidden(
                field,
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            ));
        }
        if query.given("continue").is_some() {
            causes.push(Cause::forbidden(
                field,
                "resourceVersionMatch is forbidden when continue is provided",
            ));
        }
        if !matches!(matching, "Exact" | "NotOlderThan") {
            causes.push(Cause::unsupported(
                field,
                &json!(matching),
                &["Exact", "NotOlderThan", ""],
            ));
        }
        if matching == "Exact" && resource_version == "0" {
            let detail = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            causes.push(Cause::forbidden(field, detail));
        }
    }
    if query.flag("sendInitialEvents").is_some() {
        causes.push(Cause::forbidden(
            "sendInitialEvents",
            "sendInitialEvents is forbidden for list",
        ));
    }
    if causes.is_empty() {
        Ok(())
    } else {
        Err(ApiError::invalid("meta.k8s.io", "ListOptions", "", &causes))
    }
}

fn too_old_list() -> ApiError {
    ApiError::new(410, "Expired", "The resourceVersion for the provided list is too old.")
}

/// The objects of a list as values in this version of the resource.
///
/// # Errors
/// 500 when a conversion fails.
pub(crate) fn values(scope: &Scope, list: &List) -> Result<Vec<Value>, ApiError> {
    list.objects
        .iter()
        .map(|object| shape::value(&scope.resource, object))
        .collect()
}

/// The list as one value.
///
/// # Errors
/// 500 when a conversion fails.
pub(crate) fn to_value(scope: &Scope, list: &List) -> Result<Value, ApiError> {
    let resource = &scope.resource;
    let custom = resource.custom.is_some();
    let mut items = values(scope, list)?;
    if !custom {
        for item in &mut items {
            if let Some(fields) = item.as_object_mut() {
                fields.remove("kind");
                fields.remove("apiVersion");
            }
        }
    }
    Ok(json!({
        "kind": resource.list_kind,
        "apiVersion": resource.api_version(),
        "metadata": list.metadata(custom),
        "items": items,
    }))
}

/// The text of one list item: items of built-in lists have neither kind nor apiVersion.
///
/// # Errors
/// 500 when its conversion fails.
pub(crate) fn item_text(scope: &Scope, object: &Stored) -> Result<bytes::Bytes, ApiError> {
    let resource = &scope.resource;
    if resource.custom.is_some() {
        return shape::show(resource, object).map(|shown| shown.into_json(resource));
    }
    if shape::is_verbatim(resource, object) {
        return Ok(object.tail());
    }
    let mut value = shape::value(resource, object)?;
    if let Some(fields) = value.as_object_mut() {
        fields.remove("kind");
        fields.remove("apiVersion");
    }
    let text = storage::text(&value, shape::layout(resource));
    Ok(bytes::Bytes::from(text).slice(1..))
}
