use kubewright::prelude::*;
use kubewright_ui_tests::*;

#[controller(for = App, own_events = "skip")]
struct C;

impl Reconciler for C {
    async fn reconcile(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
        Ok(Action::await_change())
    }
}

fn main() {}
