//! Expansions cause no lint in code that denies all of them (clippy's are seen when CI runs clippy).
#![deny(missing_docs, unused, unreachable_pub, clippy::all, clippy::pedantic)]

use kubewright::prelude::*;
use kubewright_ui_tests::App;

/// Uses every shape of expansion.
#[controller(
    for = App,
    owns = [Deployment, Service],
    owns(Secret, predicate = generation_changed & !labels_changed, metadata_only),
    watches(ConfigMap, map = nobody, labels = "a=b"),
    workers = 4,
    backoff(min = "5ms"),
    finalizer = "demo.dev/quiet"
)]
pub(crate) struct Quiet;

fn nobody(_: &ConfigMap) -> Vec<ObjectKey> {
    Vec::new()
}

impl Reconciler for Quiet {
    async fn reconcile(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
        Ok(Action::await_change())
    }
}

impl Cleanup for Quiet {
    async fn cleanup(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
        Ok(Action::await_change())
    }
}

#[test]
fn a_controller_of_every_shape_is_declared() {
    assert_eq!(Declaration::<Quiet>::of().declared().watches.len(), 5);
}
