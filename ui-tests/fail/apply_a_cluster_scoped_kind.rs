use kubewright::prelude::*;
use kubewright_ui_tests::*;

#[controller(for = Fleet)]
struct C;

impl Reconciler for C {
    async fn reconcile(&self, _: Arc<Fleet>, cx: &Context<Self>) -> Result<Action> {
        cx.apply(Namespace::default()).await?;
        Ok(Action::await_change())
    }
}

fn main() {}
