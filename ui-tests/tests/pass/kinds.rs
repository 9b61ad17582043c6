//! Kinds by any path, and the same kind under keys that do not contradict each other.

use kubewright::k8s_openapi::api::core::v1 as core;
use kubewright::prelude::*;
use kubewright_ui_tests::App;

#[controller(
    for = App,
    owns = core::ConfigMap,
    watches(core::ConfigMap, map = nobody),
    watches(App, map = nobody_else),
    live = core::ConfigMap,
    writes = kubewright::k8s_openapi::api::core::v1::Pod,
    updates = core::ConfigMap,
)]
pub(crate) struct Paths {
    _state: u8,
}

impl Reconciler for Paths {
    async fn reconcile(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
        Ok(Action::await_change())
    }
}

fn nobody(_: &ConfigMap) -> [ObjectKey; 0] {
    []
}

fn nobody_else(_: &App) -> Option<ObjectKey> {
    None
}

#[test]
fn one_kind_may_stand_under_several_keys() {
    let declaration = Declaration::<Paths>::of();
    assert!(declaration.check().is_ok());
    assert_eq!(declaration.declared().watches.len(), 4);
}
