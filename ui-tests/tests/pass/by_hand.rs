//! The same declaration without the attribute, with what only the builder takes: closures.

use kubewright::predicates;
use kubewright::prelude::*;
use kubewright_ui_tests::App;

struct ByHand;

impl Declare for ByHand {
    type Primary = App;

    fn declare(d: Declaration<Self>) -> Declaration<Self> {
        let suffix = "-app";
        d.for_::<App>()
            .crd::<App>()
            .owns::<Deployment>()
            .owns_with::<Secret>(|w| w.metadata_only().predicate(!predicates::labels_changed()))
            .watches::<ConfigMap, _>(move |config: &ConfigMap| {
                config.metadata.name.as_ref().map(|n| format!("{n}{suffix}"))
            })
            .watches_with::<Service, _>(
                |service: Arc<Service>| async move { service.metadata.name.clone() },
                |w| {
                    w.labels("app=web")
                        .predicate(predicates::object(|s: &Service| s.spec.is_some()))
                },
            )
            .watches_metadata::<Pod, _>(|pod: &PartialObjectMeta<Pod>| pod.metadata.name.clone(), |w| w)
            .event_filter(predicates::generation_changed() | predicates::changed(|old, new| old.uid != new.uid))
            .workers(2)
    }
}

impl Owns<Deployment> for ByHand {}
impl Owns<Secret> for ByHand {}
impl Reads<App> for ByHand {}
impl Reads<ConfigMap> for ByHand {}
impl Reads<Service> for ByHand {}
impl kubewright::ReadsMetadata<Pod> for ByHand {}

impl Reconciler for ByHand {
    async fn reconcile(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
        Ok(Action::await_change())
    }
}

#[test]
fn the_builder_takes_closures() {
    let declaration = Declaration::<ByHand>::of();
    assert_eq!(declaration.check(), Ok(()));
    let kinds: Vec<&str> = declaration.declared().watches.iter().map(|w| w.kind.kind()).collect();
    assert_eq!(kinds, ["App", "Deployment", "Secret", "ConfigMap", "Service", "Pod"]);
    assert_eq!(declaration.declared().name, "by-hand");
}
