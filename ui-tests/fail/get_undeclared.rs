use kubewright::prelude::*;
use kubewright_ui_tests::*;

#[controller(for = App, updates = Secret)]
struct C;

impl Reconciler for C {
    async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        let _ = cx.get::<Secret>("token").await?;
        Ok(Action::await_change())
    }
}

fn main() {}
