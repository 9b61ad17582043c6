use kubewright::prelude::*;
use kubewright_ui_tests::*;

#[controller(for = App)]
struct C<T>(T);

impl<T> Reconciler for C<T> {
    async fn reconcile(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
        Ok(Action::await_change())
    }
}

fn main() {}
