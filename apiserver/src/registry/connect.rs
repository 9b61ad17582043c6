//! Subresources that open a connection: admission judges what was asked for, then there is nobody to connect to.

use serde_json::{Map, Value, json};

use super::{Outcome, Scope, read, update};
use crate::admission::Operation;
use crate::error::ApiError;
use crate::http::incoming::Incoming;

/// What a field of the options is made of.
#[derive(Clone, Copy)]
enum Part {
    /// A query parameter that is true or false.
    Flag,
    /// A query parameter.
    Text,
    /// All query parameters of that name.
    Texts,
    /// All query parameters of that name, as numbers.
    Numbers,
    /// The rest of the path.
    Rest,
}

/// Kinds of options and their fields.
const OPTIONS: &[(&str, &[(&str, Part)])] = &[
    ("NodeProxyOptions", &[("path", Part::Rest)]),
    (
        "PodAttachOptions",
        &[
            ("stdin", Part::Flag),
            ("stdout", Part::Flag),
            ("stderr", Part::Flag),
            ("tty", Part::Flag),
            ("container", Part::Text),
        ],
    ),
    (
        "PodExecOptions",
        &[
            ("stdin", Part::Flag),
            ("stdout", Part::Flag),
            ("stderr", Part::Flag),
            ("tty", Part::Flag),
            ("container", Part::Text),
            ("command", Part::Texts),
        ],
    ),
    ("PodPortForwardOptions", &[("ports", Part::Numbers)]),
    ("PodProxyOptions", &[("path", Part::Rest)]),
    ("ServiceProxyOptions", &[("path", Part::Rest)]),
];

/// Refuses a connection: first as admission does, then because nothing runs behind the object.
///
/// # Errors
/// Always: what admission says, 404 for a missing object, else 400 or 503.
pub(crate) async fn serve(scope: &Scope, incoming: &Incoming) -> Result<Outcome, ApiError> {
    let mut options = options(scope, incoming);
    let nothing = super::options::WriteOptions::default();
    update::admit(scope, &nothing, Operation::Connect, &mut options, None).await?;
    update::validate(scope, &nothing, Operation::Connect, &mut options, None).await?;
    let object = read::find(scope)?.value();
    if scope.resource.plural == "services" {
        let message = format!("no endpoints available for service {:?}", scope.name);
        return Err(ApiError::new(503, "ServiceUnavailable", message));
    }
    let node = object["spec"]["nodeName"].as_str().unwrap_or_default();
    let message = if scope.resource.plural == "pods" && node.is_empty() {
        format!("pod {} does not have a host assigned", scope.name)
    } else {
        let node = if node.is_empty() { &scope.name } else { node };
        format!("node {node} is simulated, nothing listens there")
    };
    Err(ApiError::bad_request(message))
}

/// What was asked for, as the object of the request.
fn options(scope: &Scope, incoming: &Incoming) -> Value {
    let kind = scope
        .resource
        .subresource(&scope.subresource)
        .map_or("", |subresource| &subresource.kind);
    let fields = OPTIONS
        .iter()
        .find(|(name, _)| *name == kind)
        .map(|(_, fields)| *fields);
    let mut options = Map::new();
    options.insert("kind".to_owned(), kind.into());
    options.insert("apiVersion".to_owned(), scope.resource.api_version().into());
    for (name, part) in fields.unwrap_or_default() {
        if let Some(value) = value(incoming, name, *part) {
            options.insert((*name).to_owned(), value);
        }
    }
    Value::Object(options)
}

fn value(incoming: &Incoming, name: &str, part: Part) -> Option<Value> {
    let query = &incoming.query;
    match part {
        Part::Flag => query.flag(name).filter(|on| *on).map(Value::from),
        Part::Text => query.given(name).map(Value::from),
        Part::Texts => Some(query.all(name))
            .filter(|all| !all.is_empty())
            .map(|all| json!(all)),
        Part::Numbers => {
            let all = query.all(name);
            let numbers: Vec<i64> = all
                .iter()
                .flat_map(|text| text.split(','))
                .filter_map(|n| n.parse().ok())
                .collect();
            Some(numbers).filter(|all| !all.is_empty()).map(|all| json!(all))
        }
        Part::Rest => {
            let (_, rest) = incoming.path.split_once("/proxy")?;
            (!rest.is_empty()).then(|| rest.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(OPTIONS.is_sorted_by_key(|(kind, _)| *kind));
    }
}
