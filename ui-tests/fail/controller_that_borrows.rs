use kubewright::prelude::*;
use kubewright_ui_tests::*;

#[controller(for = App)]
struct C<'a>(&'a str);

impl<'a> Reconciler for C<'a> {
    async fn reconcile(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
        Ok(Action::await_change())
    }
}

fn main() {}
