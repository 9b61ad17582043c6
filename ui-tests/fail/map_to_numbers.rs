use kubewright::prelude::*;
use kubewright_ui_tests::*;

#[controller(for = App, watches(Secret, map = numbers))]
struct C;

impl Reconciler for C {
    async fn reconcile(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
        Ok(Action::await_change())
    }
}

fn main() {}

fn numbers(_: &Secret) -> Vec<u32> {
    Vec::new()
}
