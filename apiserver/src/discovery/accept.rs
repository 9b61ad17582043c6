//! Which form of a discovery document a client accepts.

use crate::error::ApiError;
use crate::http::accept::Media;

/// The form of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `APIVersions`, `APIGroupList`, `APIGroup`, `APIResourceList`.
    Plain,
    /// `APIGroupDiscoveryList`.
    Aggregated,
}

/// The first media type and form in an `Accept` header that can be served.
pub(super) fn choose(accept: &str, may_aggregate: bool) -> Result<(Media, Form), ApiError> {
    if accept.trim().is_empty() {
        return Ok((Media::Json, Form::Plain));
    }
    for clause in accept.split(',') {
        let mut parts = clause.split(';').map(str::trim);
        let media = match parts.next().unwrap_or_default() {
            "application/json" | "application/*" | "*/*" => Media::Json,
            "application/yaml" => Media::Yaml,
            "application/vnd.kubernetes.protobuf" => Media::Protobuf,
            _ => continue,
        };
        let parameters: Vec<(&str, &str)> = parts.filter_map(|p| p.split_once('=')).collect();
        let parameter = |name: &str| parameters.iter().find(|(k, _)| *k == name).map(|(_, v)| *v);
        match parameter("as") {
            None => return Ok((media, Form::Plain)),
            Some("APIGroupDiscoveryList")
                if may_aggregate && parameter("g") == Some("apidiscovery.k8s.io") && parameter("v") == Some("v2") =>
            {
                return Ok((media, Form::Aggregated));
            }
            Some(_) => {}
        }
    }
    let forms = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
    Err(ApiError::new(
        406,
        "NotAcceptable",
        format!("only the following media types are accepted: {forms}"),
    ))
}

/// The content type of an answer.
pub(super) fn content_type(media: Media, form: Form) -> &'static str {
    match (media, form) {
        (Media::Json, Form::Plain) => "application/json",
        (Media::Yaml, Form::Plain) => "application/yaml",
        (Media::Protobuf, Form::Plain) => "application/vnd.kubernetes.protobuf",
        (Media::Json, Form::Aggregated) => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        (Media::Yaml, Form::Aggregated) => "application/yaml;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        (Media::Protobuf, Form::Aggregated) => {
            "application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

    #[test]
    fn the_first_form_that_fits_wins() {
        let form = |accept: &str, may_aggregate| choose(accept, may_aggregate).unwrap().1;
        assert_eq!(form("", true), Form::Plain);
        assert_eq!(form("*/*", true), Form::Plain);
        assert_eq!(form(&format!("{V2},application/json"), true), Form::Aggregated);
        assert_eq!(form(&format!("{V2},application/json"), false), Form::Plain);
        let beta = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
        assert_eq!(form(&format!("{beta}, application/json"), true), Form::Plain);
        let binary = choose("application/vnd.kubernetes.protobuf, application/json", true).unwrap();
        assert_eq!(binary, (Media::Protobuf, Form::Plain));
    }

    #[test]
    fn nothing_that_fits_is_not_acceptable() {
        assert_eq!(choose(V2, false).unwrap_err().code, 406);
        assert_eq!(
            choose(
                "application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList",
                true
            )
            .unwrap_err()
            .code,
            406
        );
    }
}
