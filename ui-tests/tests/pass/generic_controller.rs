//! A controller may have parameters; each set of arguments is a controller of its own.

use std::marker::PhantomData;

use kubewright::prelude::*;
use kubewright_ui_tests::*;

#[controller(for = App, owns = ConfigMap)]
pub(crate) struct Generic<T>(PhantomData<T>)
where
    T: Send + Sync + 'static;

impl<T: Send + Sync + 'static> Reconciler for Generic<T> {
    async fn reconcile(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
        Ok(Action::await_change())
    }
}

#[controller(for = App)]
enum Kind<const N: usize, T: Clone + Send + Sync + 'static = u8> {
    One(T),
}

impl<const N: usize, T: Clone + Send + Sync + 'static> Reconciler for Kind<N, T> {
    async fn reconcile(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
        let Self::One(_) = self;
        Ok(Action::await_change())
    }
}

#[test]
fn a_generic_controller_is_named_after_its_struct() {
    assert_eq!(Declaration::<Generic<u8>>::of().declared().name, "generic");
    assert_eq!(Declaration::<Kind<3>>::of().declared().name, "kind");
    let _ = (Generic::<u8>(PhantomData), Kind::<3>::One(1));
}
