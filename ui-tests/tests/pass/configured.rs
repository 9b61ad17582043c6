//! Keys under `#[cfg(…)]`: what is compiled out grants nothing and is not declared; what overlaps is granted once.

use kubewright::prelude::*;
use kubewright_ui_tests::*;

#[controller(
    for = App,
    #[cfg(test)] owns = [Secret, ConfigMap],
    #[cfg(not(test))] writes = Secret,
    #[cfg(test)] watches(Secret, map = users_of),
    #[cfg(not(test))] owns = Service,
    live = ConfigMap,
    #[cfg(test)] workers = 4,
    #[cfg(not(test))] workers = 2,
    resync = "1h",
)]
struct Configured;

impl Reconciler for Configured {
    async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        cx.apply(Secret::default()).await?;
        let _ = cx.get::<ConfigMap>("settings").await?;
        Ok(Action::await_change())
    }
}

#[test]
fn keys_that_are_compiled_out_are_not_declared() {
    let declaration = Declaration::<Configured>::of();
    declaration.check().expect("the declaration makes sense");
    let declared = declaration.declared();
    let kinds: Vec<&str> = declared.watches.iter().map(|w| w.kind.kind()).collect();
    assert_eq!(kinds, ["App", "Secret", "ConfigMap", "Secret"]);
    assert_eq!((declared.workers, declared.writes.len()), (4, 0));
    assert_eq!(declared.resync, Some(Duration::from_secs(3600)));
}
