//! The framework under another path: `crate = path`.

mod vendored {
    pub(crate) mod framework {
        pub(crate) use kubewright::*;
    }
}

use vendored::framework::prelude::*;

#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kubewright(crate = vendored::framework)]
#[kube(group = "demo.dev", version = "v1", kind = "Thing")]
struct ThingSpec {
    size: u32,
}

#[controller(crate = vendored::framework, for = Thing, owns(ConfigMap, predicate = generation_changed))]
struct ThingController;

impl Reconciler for ThingController {
    async fn reconcile(&self, thing: Arc<Thing>, _: &Context<Self>) -> Result<Action> {
        let _ = thing.spec.size;
        Ok(Action::await_change())
    }
}

#[test]
fn a_framework_under_another_path_is_found() {
    assert_eq!(
        Declaration::<ThingController>::of().declared().primary.plural(),
        "things"
    );
}
