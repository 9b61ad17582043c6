//! A standby with warm caches, and the setting that is the default, said aloud.

use kubewright::declaration::OwnEvents;
use kubewright::prelude::*;
use kubewright_ui_tests::*;

#[controller(for = App, warmup, own_events = wake)]
struct Standby;

impl Reconciler for Standby {
    async fn reconcile(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
        Ok(Action::await_change())
    }
}

#[test]
fn it_is_declared_as_it_reads() {
    let declaration = Declaration::<Standby>::of();
    let declared = declaration.declared();
    assert!(declared.warmup && declared.needs_leader);
    assert_eq!(declared.own_events, OwnEvents::Wake);
}
