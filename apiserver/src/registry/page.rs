//! Continue tokens: where a list goes on, and at which revision.

use base64::Engine as _;
use base64::engine::general_purpose::{URL_SAFE, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::error::ApiError;
use crate::storage::Stored;

/// A continue token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// The revision of the list; negative for "whatever is newest".
    pub(crate) revision: i64,
    /// The key, within the listed collection, that the page starts at; it ends in a NUL to exclude the last one shown.
    pub(crate) start: String,
}

impl Token {
    /// The token that goes on after `last`.
    pub(crate) fn after(last: &Stored, all_namespaces: bool, revision: i64) -> Self {
        Self {
            revision,
            start: format!("{}\0", position(last, all_namespaces)),
        }
    }

    /// Reads a `continue` parameter.
    ///
    /// # Errors
    /// 400 with the recorded words.
    pub(crate) fn parse(text: &str) -> Result<Self, ApiError> {
        let bad =
            |why: &str| ApiError::bad_request(format!("invalid continue token: continue key is not valid: {why}"));
        let bytes = URL_SAFE_NO_PAD
            .decode(text)
            .or_else(|_| URL_SAFE.decode(text))
            .map_err(|error| {
                let at = match error {
                    base64::DecodeError::InvalidByte(at, _) => at,
                    _ => text.len(),
                };
                bad(&format!("illegal base64 data at input byte {at}"))
            })?;
        let token: Value = serde_json::from_slice(&bytes).map_err(|_| bad(&crate::http::go_json::complaint(&bytes)))?;
        let version = token["v"].as_str().unwrap_or_default();
        if version != "meta.k8s.io/v1" {
            return Err(bad(&format!(
                "server does not recognize this encoded version {version}"
            )));
        }
        let start = token["start"].as_str().unwrap_or_default();
        let revision = token["rv"].as_i64().unwrap_or_default();
        if revision == 0 {
            return Err(bad("incorrect encoded start resourceVersion (version meta.k8s.io/v1)"));
        }
        if start.is_empty() {
            return Err(bad("encoded start key empty (version meta.k8s.io/v1)"));
        }
        if start.split('/').any(|part| part == "..") {
            return Err(bad(start));
        }
        Ok(Self {
            revision,
            start: start.to_owned(),
        })
    }

    /// The token as the wire has it.
    pub(crate) fn encode(&self) -> String {
        let token = json!({ "v": "meta.k8s.io/v1", "rv": self.revision, "start": self.start });
        URL_SAFE_NO_PAD.encode(token.to_string())
    }

    /// Whether the object comes at or after the token's start.
    pub(crate) fn reaches(&self, object: &Stored, all_namespaces: bool) -> bool {
        position(object, all_namespaces) >= self.start
    }
}

/// The key of an object within the listed collection.
fn position(object: &Stored, all_namespaces: bool) -> String {
    let key = &object.key;
    if all_namespaces && !key.namespace.is_empty() {
        format!("{}/{}", key.namespace, key.name)
    } else {
        key.name.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_survive_the_wire() {
        let token = Token {
            revision: -1,
            start: "x/a\0".into(),
        };
        assert_eq!(Token::parse(&token.encode()).unwrap(), token);
    }

    #[test]
    fn what_is_no_token_is_named() {
        let message = |text: &str| Token::parse(text).unwrap_err().message;
        assert_eq!(
            message("!!!"),
            "invalid continue token: continue key is not valid: illegal base64 data at input byte 0"
        );
        assert!(message("e30").ends_with("server does not recognize this encoded version "));
        assert!(message("abc").ends_with("invalid character 'i' looking for beginning of value"));
    }
}
