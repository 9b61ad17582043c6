//! Which form of a discovery document a client accepts.

use crate::error::ApiError;

/// The form of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `APIVersions`, `APIGroupList`, `APIGroup`, `APIResourceList`.
    Plain,
    /// `APIGroupDiscoveryList`.
    Aggregated,
}

/// The first form in an `Accept` header that can be served.
pub(super) fn choose(accept: &str, may_aggregate: bool) -> Result<Form, ApiError> {
    if accept.trim().is_empty() {
        return Ok(Form::Plain);
    }
    for clause in accept.split(',') {
        let mut parts = clause.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        let parameters: Vec<(&str, &str)> = parts.filter_map(|p| p.split_once('=')).collect();
        let parameter = |name: &str| parameters.iter().find(|(k, _)| *k == name).map(|(_, v)| *v);
        if !matches!(media, "application/json" | "*/*") {
            continue;
        }
        match parameter("as") {
            None => return Ok(Form::Plain),
            Some("APIGroupDiscoveryList")
                if may_aggregate && parameter("g") == Some("apidiscovery.k8s.io") && parameter("v") == Some("v2") =>
            {
                return Ok(Form::Aggregated);
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

#[cfg(test)]
mod tests {
    use super::*;

    const V2: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

    #[test]
    fn the_first_form_that_fits_wins() {
        assert_eq!(choose("", true).unwrap(), Form::Plain);
        assert_eq!(choose("*/*", true).unwrap(), Form::Plain);
        assert_eq!(
            choose(&format!("{V2},application/json"), true).unwrap(),
            Form::Aggregated
        );
        assert_eq!(choose(&format!("{V2},application/json"), false).unwrap(), Form::Plain);
        let beta = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
        assert_eq!(choose(&format!("{beta}, application/json"), true).unwrap(), Form::Plain);
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
