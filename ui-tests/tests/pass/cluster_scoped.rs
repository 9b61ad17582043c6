//! A cluster-scoped primary owns children of either scope.

use kubewright::prelude::*;
use kubewright_ui_tests::*;

#[controller(for = Fleet, owns = [Namespace, ConfigMap], watches(Secret, map = fleets_of))]
struct FleetController;

impl Reconciler for FleetController {
    async fn reconcile(&self, _: Arc<Fleet>, _: &Context<Self>) -> Result<Action> {
        Ok(Action::await_change())
    }
}

fn fleets_of(secret: &Secret) -> Vec<String> {
    secret.metadata.name.clone().into_iter().collect()
}

#[tokio::test]
async fn a_bare_name_from_a_map_function_is_cluster_scoped_where_the_primary_is() {
    use kubewright::declaration::{MapInput, Role};

    let declaration = Declaration::<FleetController>::of();
    let watch = declaration
        .declared()
        .watches
        .iter()
        .find(|w| w.kind.kind() == "Secret")
        .expect("watched");
    let Role::Watched(mapper) = &watch.role else {
        panic!("a watch with a map function")
    };
    let input = MapInput {
        kind: watch.kind.clone(),
        key: ObjectKey::new("web", "north"),
        body: r#"{"metadata":{"namespace":"web","name":"north"}}"#.into(),
    };
    let keys = mapper.map(input).await.expect("a Secret decodes");
    assert_eq!(keys, [ObjectKey::cluster_scoped("north")]);
}
