//! One admission review: decoded for the author's function, and its answer encoded.

use std::sync::Arc;

use futures::future::BoxFuture;
use kube::ResourceExt as _;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::patch;
use super::request::{Operation, Request};
use super::review::Status;
use super::traits::{Mutate, Validate, Webhooks};
use super::verdict::{Denied, Verdict};
use crate::error::{Error, Result};
use crate::object::Object;

/// What is answered to an admission review.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// Why the request is refused; none where it is allowed.
    pub(super) refused: Option<Status>,
    pub(super) warnings: Vec<String>,
    /// A JSON patch as text; none where nothing changes.
    pub(super) patch: Option<Vec<u8>>,
}

/// The author's function behind its type.
pub(super) type Admit<W> = fn(Arc<W>, Request) -> BoxFuture<'static, Result<Answer>>;

/// Lets a validating webhook judge.
pub(super) fn validate<W>(webhooks: Arc<W>, request: Request) -> BoxFuture<'static, Result<Answer>>
where
    W: Webhooks<Kind: Object> + Validate<W::Kind> + 'static,
{
    Box::pin(async move {
        match judge(&*webhooks, &request).await {
            Ok(verdict) => Ok(answer::<W::Kind>(verdict, &request)),
            Err(error) => denied(error),
        }
    })
}

async fn judge<W, K>(webhooks: &W, request: &Request) -> Result<Verdict>
where
    W: Validate<K>,
    K: Object,
{
    match request.operation {
        Operation::Create => webhooks.create(&new::<K>(request)?, request).await,
        Operation::Update => {
            if only_lets_go(request) {
                return Ok(Verdict::allowed());
            }
            let new = new::<K>(request)?;
            match request.old::<K>() {
                Some(old) => webhooks.update(&new, &old, request).await,
                // Written under another schema: it must be possible to put it right.
                None => webhooks.create(&new, request).await,
            }
        }
        Operation::Delete => match request.old::<K>() {
            Some(old) => webhooks.delete(&old, request).await,
            // An object that cannot be read must be possible to delete.
            None => Ok(Verdict::allowed()),
        },
        Operation::Connect => Ok(Verdict::allowed()),
    }
}

/// Lets a mutating webhook change the object.
pub(super) fn mutate<W>(webhooks: Arc<W>, request: Request) -> BoxFuture<'static, Result<Answer>>
where
    W: Webhooks<Kind: Object> + Mutate<W::Kind> + 'static,
{
    Box::pin(async move {
        if !matches!(request.operation, Operation::Create | Operation::Update) || only_lets_go(&request) {
            return Ok(Answer::default());
        }
        match change(&*webhooks, &request).await {
            Ok(patch) => Ok(Answer {
                patch,
                ..Answer::default()
            }),
            Err(error) => denied(error),
        }
    })
}

async fn change<W, K>(webhooks: &W, request: &Request) -> Result<Option<Vec<u8>>>
where
    W: Mutate<K>,
    K: Object,
{
    let object = new::<K>(request)?;
    let before = serde_json::to_value(&object)?;
    let after = serde_json::to_value(webhooks.mutate(object, request).await?)?;
    if before == after {
        return Ok(None);
    }
    let sent: Value = serde_json::from_slice(request.object.as_deref().unwrap_or_default())?;
    let operations = patch::operations(&sent, &patch::merged(&sent, &before, &after));
    Ok(Some(serde_json::to_vec(&operations)?).filter(|_| !operations.is_empty()))
}

/// The object of the request.
fn new<K: DeserializeOwned>(request: &Request) -> Result<K, Denied> {
    let Some(object) = request.object.as_deref() else {
        return Err(Denied::bad_request("the review holds no object"));
    };
    serde_json::from_slice(object).map_err(|error| {
        Denied::bad_request(format!(
            "the object cannot be read as the operator knows the kind: {error}: the definition in the cluster and the \
             operator are of different versions, apply the operator's manifests again"
        ))
    })
}

/// Whether the request changes no more than metadata of an object that is being deleted.
fn only_lets_go(request: &Request) -> bool {
    let read = |bytes: &Option<bytes::Bytes>| -> Option<Value> { serde_json::from_slice(bytes.as_deref()?).ok() };
    let deleting = |bytes: &[u8]| memchr::memmem::find(bytes, b"deletionTimestamp").is_some();
    if request.operation != Operation::Update || !request.object.as_deref().is_some_and(deleting) {
        return false;
    }
    let (Some(mut new), Some(mut old)) = (read(&request.object), read(&request.old_object)) else {
        return false;
    };
    if new["metadata"]["deletionTimestamp"].is_null() {
        return false;
    }
    for object in [&mut new, &mut old] {
        object.as_object_mut().map(|fields| fields.remove("metadata"));
    }
    new == old
}

fn answer<K: Object>(verdict: Verdict, request: &Request) -> Answer {
    // A name that is still to be generated is told as the server tells it: by its prefix.
    let name = if request.name.is_empty() && !verdict.errors.is_empty() {
        let object = new::<K>(request).ok();
        object.map_or_else(String::new, |object| object.name_any())
    } else {
        request.name.clone()
    };
    Answer {
        refused: verdict.status(&K::group(&()), &K::kind(&()), &name),
        warnings: verdict.warnings,
        patch: None,
    }
}

/// A refusal that came as an error; every other error is a failure.
fn denied(error: Error) -> Result<Answer> {
    match error.into_boxed().downcast::<Denied>() {
        Ok(denied) => Ok(Answer {
            refused: Some(denied.status()),
            ..Answer::default()
        }),
        Err(other) => Err(other.into()),
    }
}
