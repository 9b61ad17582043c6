use kubewright::prelude::*;
use kubewright_ui_tests::*;

struct C;

#[controller(for = App)]
impl Reconciler for C {
    async fn reconcile(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
        Ok(Action::await_change())
    }
}

fn main() {}
