//! Content negotiation: which media type and which form of the answer a client accepts.

use crate::error::ApiError;

/// The media types of answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Media {
    /// `application/json`.
    #[default]
    Json,
    /// `application/yaml`.
    Yaml,
    /// `application/vnd.kubernetes.protobuf`.
    Protobuf,
}

/// The forms in which an object or list can be shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Form {
    /// As it is.
    #[default]
    Object,
    /// `meta.k8s.io` Table, `v1` or `v1beta1`.
    Table(&'static str),
    /// PartialObjectMetadata of one object, `v1` or `v1beta1`.
    Partial(&'static str),
    /// PartialObjectMetadataList, `v1` or `v1beta1`.
    PartialList(&'static str),
}

/// What the client gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Accepted {
    pub(crate) media: Media,
    pub(crate) form: Form,
    /// Whether JSON is indented (`?pretty=true`).
    pub(crate) pretty: bool,
}

/// What an endpoint can answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    /// Whether it speaks protobuf: built-in kinds do, custom ones only in partial form.
    pub(crate) builtin: bool,
    /// Whether it can be shown as a Table or as metadata.
    pub(crate) forms: bool,
    /// Whether the answer is a stream of events.
    pub(crate) watch: bool,
}

struct Clause<'a> {
    media: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
    weight: f32,
}

/// Chooses by the Accept header: the heaviest clause that fits, the first of equals.
///
/// # Errors
/// 406 when no clause fits.
pub(crate) fn choose(accept: &str, offer: Offer) -> Result<Accepted, ApiError> {
    if accept.trim().is_empty() {
        return Ok(Accepted::default());
    }
    let mut clauses = clauses(accept);
    // A stable sort: equal weights keep the client's order.
    clauses.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    // The router in front of built-in kinds refuses what names no media type it knows, in words of its own.
    let routed = clauses.iter().any(|clause| routable(clause.media));
    if offer.builtin && !routed {
        return Err(unroutable());
    }
    clauses
        .iter()
        .find_map(|clause| fit(clause, offer))
        .ok_or_else(|| unacceptable(offer))
}

/// The media type for a Status when the answer itself could not be negotiated.
pub(crate) fn for_errors(accept: &str) -> Media {
    let mut clauses = clauses(accept);
    clauses.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    clauses
        .iter()
        .find_map(|clause| media(clause.media))
        .unwrap_or_default()
}

fn clauses(accept: &str) -> Vec<Clause<'_>> {
    accept
        .split(',')
        .filter_map(|text| {
            let mut parts = text.split(';').map(str::trim);
            let media = parts.next().filter(|media| !media.is_empty())?;
            let parameters: Vec<_> = parts
                .filter_map(|part| part.split_once('='))
                .map(|(n, v)| (n.trim(), v.trim().trim_matches('"')))
                .collect();
            let weight = parameters
                .iter()
                .find(|(n, _)| *n == "q")
                .and_then(|(_, v)| v.parse().ok())
                .unwrap_or(1.0);
            Some(Clause {
                media,
                parameters,
                weight,
            })
        })
        .collect()
}

fn media(name: &str) -> Option<Media> {
    match name {
        "*/*" | "application/json" => Some(Media::Json),
        "application/yaml" => Some(Media::Yaml),
        "application/vnd.kubernetes.protobuf" => Some(Media::Protobuf),
        _ => None,
    }
}

/// What the router lets through to negotiation; `application/*` passes it and fails later.
fn routable(name: &str) -> bool {
    name == "application/*" || media(name).is_some()
}

fn fit(clause: &Clause<'_>, offer: Offer) -> Option<Accepted> {
    let media = media(clause.media)?;
    let parameter = |name: &str| clause.parameters.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
    let form = match parameter("as") {
        None | Some("") => Form::Object,
        Some(wanted) => {
            if !offer.forms || parameter("g") != Some("meta.k8s.io") {
                return None;
            }
            let version = match parameter("v") {
                Some("v1") => "v1",
                Some("v1beta1") => "v1beta1",
                _ => return None,
            };
            match wanted {
                "Table" => Form::Table(version),
                "PartialObjectMetadata" => Form::Partial(version),
                "PartialObjectMetadataList" => Form::PartialList(version),
                _ => return None,
            }
        }
    };
    let partial = matches!(form, Form::Partial(_) | Form::PartialList(_));
    let table = matches!(form, Form::Table(_));
    if media == Media::Protobuf && (table || (!offer.builtin && !partial)) {
        return None;
    }
    if media == Media::Yaml && offer.watch {
        return None;
    }
    if matches!(parameter("stream"), Some(stream) if !offer.watch || stream != "watch") {
        return None;
    }
    let pretty = matches!(parameter("pretty"), Some("1" | "true"));
    Some(Accepted { media, form, pretty })
}

fn unroutable() -> ApiError {
    let mut error = ApiError::new(
        406,
        "NotAcceptable",
        "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, \
         application/vnd.kubernetes.protobuf, application/json;stream=watch, \
         application/vnd.kubernetes.protobuf;stream=watch",
    );
    error.details = Some(Box::new(serde_json::json!({})));
    error
}

fn unacceptable(offer: Offer) -> ApiError {
    let types = if offer.watch {
        "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
    } else {
        "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    };
    ApiError::new(
        406,
        "NotAcceptable",
        format!("only the following media types are accepted: {types}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUILTIN: Offer = Offer {
        builtin: true,
        forms: true,
        watch: false,
    };
    const CUSTOM: Offer = Offer {
        builtin: false,
        forms: true,
        watch: false,
    };

    fn form(accept: &str, offer: Offer) -> Result<(Media, Form), u16> {
        choose(accept, offer).map(|a| (a.media, a.form)).map_err(|e| e.code)
    }

    #[test]
    fn the_first_form_that_exists_wins() {
        let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,\
                       application/json";
        assert_eq!(form(kubectl, BUILTIN), Ok((Media::Json, Form::Table("v1"))));
        let unknown = "application/json;as=Sheet;g=meta.k8s.io;v=v1,application/json";
        assert_eq!(form(unknown, BUILTIN), Ok((Media::Json, Form::Object)));
        assert_eq!(form("application/json;as=Table;g=meta.k8s.io;v=v9", BUILTIN), Err(406));
    }

    #[test]
    fn weights_decide_before_order() {
        assert_eq!(
            form("application/foo, application/json;q=0.5", BUILTIN),
            Ok((Media::Json, Form::Object))
        );
        assert_eq!(
            form("application/json;q=0.5,application/yaml", BUILTIN),
            Ok((Media::Yaml, Form::Object))
        );
    }

    #[test]
    fn wildcards_take_json_but_a_half_wildcard_nothing() {
        assert_eq!(form("*/*", BUILTIN), Ok((Media::Json, Form::Object)));
        assert_eq!(form("", BUILTIN), Ok((Media::Json, Form::Object)));
        assert_eq!(form("application/*", BUILTIN), Err(406));
    }

    #[test]
    fn custom_resources_speak_protobuf_only_as_metadata() {
        assert_eq!(form("application/vnd.kubernetes.protobuf", CUSTOM), Err(406));
        let both = "application/vnd.kubernetes.protobuf,application/json";
        assert_eq!(form(both, CUSTOM), Ok((Media::Json, Form::Object)));
        let partial = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        assert_eq!(form(partial, CUSTOM), Ok((Media::Protobuf, Form::Partial("v1"))));
    }
}
