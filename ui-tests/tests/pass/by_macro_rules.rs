//! Controllers written by `macro_rules`: keys and kinds from the macro and from its caller.

use kubewright::prelude::*;
use kubewright_ui_tests::App;

macro_rules! controllers {
    ($($name:ident: $kind:ty, $key:ident = $value:expr;)*) => {$(
        #[controller(for = App, owns = $kind, workers = 2, $key = $value)]
        struct $name;

        impl Reconciler for $name {
            async fn reconcile(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
                Ok(Action::await_change())
            }
        }
    )*};
}

controllers! {
    First: Deployment, name = "one";
    Second: Service, timeout = "5s";
}

#[test]
fn keys_may_come_from_a_macro_and_from_its_caller() {
    let (first, second) = (Declaration::<First>::of(), Declaration::<Second>::of());
    assert_eq!((&*first.declared().name, first.declared().workers), ("one", 2));
    assert_eq!(second.declared().timeout, Some(Duration::from_secs(5)));
}
