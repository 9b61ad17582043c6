use kubewright::prelude::*;
use kubewright_ui_tests::*;

#[controller(for = App, finalizer = "cleanup")]
struct C;

impl Reconciler for C {
    async fn reconcile(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
        Ok(Action::await_change())
    }
}

impl Cleanup for C {
    async fn cleanup(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
        Ok(Action::await_change())
    }
}

fn main() {}
