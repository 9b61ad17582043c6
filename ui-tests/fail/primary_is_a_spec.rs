use kubewright::prelude::*;
use kubewright_ui_tests::*;

#[controller(for = AppSpec)]
struct C;

impl Reconciler for C {
    async fn reconcile(&self, _: Arc<AppSpec>, _: &Context<Self>) -> Result<Action> {
        Ok(Action::await_change())
    }
}

fn main() {}
