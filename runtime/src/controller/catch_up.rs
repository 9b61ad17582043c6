//! Caches that were filled before the Lease was held: no reconcile before they have what was written until then.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use tokio::time::{sleep, timeout};

use crate::cache::{Informer, InformerSpec, Informers, Listed};
use crate::client::{ClientError, ListParams, Origin, PAGE, Transport};

/// How long an informer may take to come to a list before another is taken.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time between lists that fail.
const RETRY: Duration = Duration::from_secs(2);

/// The way to the present of each informer that was there when the Lease was acquired. Clones share it: an informer
/// catches up once, however many controllers wait for it, and none waits for another's.
#[derive(Clone, Default)]
pub(crate) struct CatchUps(BTreeMap<InformerSpec, CatchUp>);

/// Ends when one informer has caught up.
pub(super) type CatchUp = Shared<BoxFuture<'static, ()>>;

impl CatchUps {
    /// Of all informers that there are. Call it once the Lease is held: what counts is what is written until then.
    pub(crate) fn of(informers: &Informers) -> Self {
        let each = informers.all().into_iter().map(|informer| {
            let spec = informer.spec().clone();
            let way = catch_up(informer, informers.transport().clone());
            (spec, way.boxed().shared())
        });
        Self(each.collect())
    }

    /// Of one informer; `None` where it was begun under the Lease and has nothing to catch up with.
    pub(super) fn of_informer(&self, informer: &Informer) -> Option<CatchUp> {
        self.0.get(informer.spec()).cloned()
    }
}

/// Takes a consistent list and waits until the informer has all of it; again, where that takes long.
async fn catch_up(informer: Informer, transport: Transport) {
    informer.synced().await;
    let mut told = false;
    loop {
        match list(&informer, &transport).await {
            Ok(listed) => {
                if timeout(PATIENCE, informer.reached(&listed)).await.is_ok() {
                    return;
                }
            }
            Err(error) => {
                if !std::mem::replace(&mut told, true) {
                    tracing::warn!(watch = %informer.spec(), "a new leader cannot tell whether its cache is up to date: {error}");
                }
                sleep(RETRY).await;
            }
        }
    }
}

/// Names and versions of all that the informer should hold.
async fn list(informer: &Informer, transport: &Transport) -> Result<Listed, ClientError> {
    let spec = informer.spec();
    let origin = Origin::part("informer");
    let mut params = ListParams {
        labels: spec.labels.clone(),
        fields: spec.fields.clone(),
        limit: Some(PAGE),
        metadata_only: true,
        ..ListParams::default()
    };
    let mut listed: Option<Listed> = None;
    loop {
        let page = transport
            .list(&origin, &spec.kind, spec.namespace.as_deref(), &params)
            .await?;
        let listed = listed.get_or_insert_with(|| Listed::of(page.version.clone()));
        for item in &page.items {
            informer.note(listed, item).map_err(|error| ClientError::Decode {
                target: Box::new(crate::client::Target::collection(
                    "list",
                    &spec.kind,
                    spec.namespace.as_deref(),
                )),
                cause: error.to_string(),
            })?;
        }
        match page.continue_token {
            Some(token) => params.continue_token = Some(token),
            None => break,
        }
    }
    Ok(listed.expect("the loop ends after a page"))
}

impl fmt::Debug for CatchUps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
