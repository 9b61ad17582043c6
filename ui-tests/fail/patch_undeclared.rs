use kubewright::prelude::*;
use kubewright_ui_tests::*;

#[controller(for = App, watches(Secret, map = users_of))]
struct C;

impl Reconciler for C {
    async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        cx.patch::<Secret>("token", Patch::merge(&())?).await?;
        Ok(Action::await_change())
    }
}

fn main() {}
