use kubewright::prelude::*;
use kubewright_ui_tests::*;

#[controller(primary = App, owns = Secret)]
struct C;

impl Reconciler for C {
    async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        cx.apply(Secret::default()).await?;
        cx.apply_status(AppStatus { ready: true }).await?;
        Ok(Action::await_change())
    }
}

fn main() {}
