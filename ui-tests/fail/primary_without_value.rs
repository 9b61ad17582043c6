use kubewright::prelude::*;
use kubewright_ui_tests::*;

#[controller(for =)]
struct C;

impl Reconciler for C {
    async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        cx.apply_status(AppStatus { ready: true }).await?;
        Ok(Action::await_change())
    }
}

fn main() {}
