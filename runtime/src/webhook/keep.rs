//! What an older version has no field for, kept in an annotation on the way there and back.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Writes a value into an annotation, for the way back. `None`s and what JSON cannot say are left out.
///
/// ```
/// use kubewright::webhook::{keep, take_kept};
///
/// let mut metadata = kubewright::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta::default();
/// keep(&mut metadata, "demo.dev/strategy", &Some("Rolling"));
/// assert_eq!(take_kept::<String>(&mut metadata, "demo.dev/strategy"), Some("Rolling".to_owned()));
/// assert_eq!(metadata.annotations, None);
/// ```
pub fn keep<T: Serialize>(metadata: &mut ObjectMeta, annotation: &str, value: &T) {
    match serde_json::to_string(value) {
        Ok(text) if text != "null" => {
            let annotations = metadata.annotations.get_or_insert_default();
            annotations.insert(annotation.to_owned(), text);
        }
        _ => {}
    }
}

/// Takes a value back that [`keep`] wrote. `None` where there is none, or one that somebody spoilt.
pub fn take_kept<T: DeserializeOwned>(metadata: &mut ObjectMeta, annotation: &str) -> Option<T> {
    let annotations = metadata.annotations.as_mut()?;
    let text = annotations.remove(annotation)?;
    if annotations.is_empty() {
        metadata.annotations = None;
    }
    serde_json::from_str(&text).ok()
}
