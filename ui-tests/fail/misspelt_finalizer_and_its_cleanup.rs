use kubewright::prelude::*;
use kubewright_ui_tests::*;

#[controller(for = App, finaliser = "demo.dev/files")]
struct C;

impl Cleanup for C {
    async fn cleanup(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
        Ok(Action::await_change())
    }
}

impl Reconciler for C {
    async fn reconcile(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
        Ok(Action::await_change())
    }
}

fn main() {}
