use kubewright::prelude::*;
use kubewright_ui_tests::*;

#[controller(for = App, owns = Secret)]
struct C;

impl Reconciler for C {
    async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        let _ = cx.ungranted_client();
        Ok(Action::await_change())
    }
}

fn main() {}
