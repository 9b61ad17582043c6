//! Kinds that hand out permissions, with the rule that they ask for; and one that only shares their name.

use kubewright::prelude::*;
use kubewright_ui_tests::*;

#[controller(
    for = App,
    owns = Role,
    owns(RoleBinding, metadata_only),
    rbac(group = "rbac.authorization.k8s.io", resources = ["roles"], verbs = ["bind", "escalate"]),
    ungranted_client = "asks for kinds that are known at run time only",
)]
struct Granter;

impl Reconciler for Granter {
    async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        cx.apply(Role::default()).await?;
        let _: kubewright::kube::Client = cx.ungranted_client();
        Ok(Action::await_change())
    }
}

mod acting {
    use kubewright::prelude::{CustomResource, Deserialize, JsonSchema, Serialize};

    #[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
    #[kube(group = "theatre.dev", version = "v1", kind = "Role", namespaced)]
    pub(super) struct RoleSpec {
        /// Who plays it.
        pub actor: String,
    }
}

#[controller(for = App, owns = acting::Role)]
struct Theatre;

impl Reconciler for Theatre {
    async fn reconcile(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
        Ok(Action::await_change())
    }
}

#[test]
fn rules_let_a_controller_hand_out_permissions() {
    Declaration::<Granter>::of().check().expect("the rule is there");
    Declaration::<Theatre>::of()
        .check()
        .expect("a role on a stage hands out nothing");
}
