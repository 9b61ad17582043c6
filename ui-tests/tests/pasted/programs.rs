// Written by the test in main.rs.

mod apply_a_cluster_scoped_kind_0 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = Fleet, owns = kubewright::prelude::Namespace)]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<Fleet>, cx: &Context<Self>) -> Result<Action> {
            cx.apply(Namespace::default()).await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod apply_a_cluster_scoped_kind_1 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = Fleet, writes = kubewright::prelude::Namespace)]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<Fleet>, cx: &Context<Self>) -> Result<Action> {
            cx.apply(Namespace::default()).await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod apply_part_undeclared_0 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, updates = Secret, owns = kubewright::prelude::Secret)]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            cx.apply_part("keys", Secret::default()).await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod apply_part_undeclared_1 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, updates = Secret, writes = kubewright::prelude::Secret)]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            cx.apply_part("keys", Secret::default()).await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod apply_undeclared_0 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, owns = Deployment, owns = kubewright::prelude::Secret)]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            cx.apply(Secret::default()).await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod apply_undeclared_1 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, owns = Deployment, writes = kubewright::prelude::Secret)]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            cx.apply(Secret::default()).await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod binding_without_rule_0 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, writes = ClusterRoleBinding, rbac(group = "rbac.authorization.k8s.io", resources = ["roles", "clusterroles"], verbs = ["bind", "escalate"]))]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod body_of_metadata_only_0 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, watches(Secret, map = names, metadata_only), owns = kubewright::prelude::Secret)]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            let _ = cx.get::<Secret>("token").await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}

    fn names(_: &PartialObjectMeta<Secret>) -> Option<String> {
        None
    }
}

mod body_of_metadata_only_1 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, watches(Secret, map = names, metadata_only), watches(kubewright::prelude::Secret, map = crate::nobody))]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            let _ = cx.get::<Secret>("token").await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}

    fn names(_: &PartialObjectMeta<Secret>) -> Option<String> {
        None
    }
}

mod body_of_metadata_only_2 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, watches(Secret, map = names, metadata_only), live = kubewright::prelude::Secret)]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            let _ = cx.get::<Secret>("token").await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}

    fn names(_: &PartialObjectMeta<Secret>) -> Option<String> {
        None
    }
}

mod children_gone_of_unowned_0 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, watches(Secret, map = users_of), owns = kubewright::prelude::Secret)]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            cx.children_gone::<Secret>().await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod children_of_unowned_0 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, live = Secret, owns = kubewright::prelude::Secret)]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            let _ = cx.children::<Secret>()?;
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod cleanup_without_finalizer_0 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, finalizer = "example.com/cleanup")]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
            Ok(Action::await_change())
        }
    }

    impl Cleanup for C {
        async fn cleanup(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod create_undeclared_0 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, live = Secret, owns = kubewright::prelude::Secret)]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            cx.create(Secret::default()).await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod create_undeclared_1 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, live = Secret, writes = kubewright::prelude::Secret)]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            cx.create(Secret::default()).await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod delete_undeclared_0 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, live = Secret, owns = kubewright::prelude::Secret)]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            cx.delete::<Secret>("old").await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod delete_undeclared_1 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, live = Secret, writes = kubewright::prelude::Secret)]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            cx.delete::<Secret>("old").await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod get_undeclared_0 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, updates = Secret, owns = kubewright::prelude::Secret)]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            let _ = cx.get::<Secret>("token").await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod get_undeclared_1 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, updates = Secret, watches(kubewright::prelude::Secret, map = crate::nobody))]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            let _ = cx.get::<Secret>("token").await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod get_undeclared_2 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, updates = Secret, live = kubewright::prelude::Secret)]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            let _ = cx.get::<Secret>("token").await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod helper_without_grant_0 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, owns = Deployment, owns = kubewright::prelude::Secret)]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            ensure(cx);
            Ok(Action::await_change())
        }
    }

    fn ensure<C: Writes<Secret>>(_: &Context<C>) {}

    fn main() {}
}

mod helper_without_grant_1 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, owns = Deployment, writes = kubewright::prelude::Secret)]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            ensure(cx);
            Ok(Action::await_change())
        }
    }

    fn ensure<C: Writes<Secret>>(_: &Context<C>) {}

    fn main() {}
}

mod key_under_another_configuration_0 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, #[cfg(windows)] owns = Secret, owns = kubewright::prelude::Secret)]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            cx.apply(Secret::default()).await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod key_under_another_configuration_1 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, #[cfg(windows)] owns = Secret, writes = kubewright::prelude::Secret)]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            cx.apply(Secret::default()).await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod list_undeclared_0 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, owns = kubewright::prelude::Pod)]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            let _ = cx.list::<Pod>(Default::default()).await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod list_undeclared_1 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, watches(kubewright::prelude::Pod, map = crate::nobody))]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            let _ = cx.list::<Pod>(Default::default()).await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod list_undeclared_2 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, live = kubewright::prelude::Pod)]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            let _ = cx.list::<Pod>(Default::default()).await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod live_get_undeclared_0 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, updates = Secret, owns = kubewright::prelude::Secret)]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            let _ = cx.live().get::<Secret>("token").await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod live_get_undeclared_1 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, updates = Secret, watches(kubewright::prelude::Secret, map = crate::nobody))]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            let _ = cx.live().get::<Secret>("token").await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod live_get_undeclared_2 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, updates = Secret, live = kubewright::prelude::Secret)]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            let _ = cx.live().get::<Secret>("token").await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod patch_undeclared_0 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, watches(Secret, map = users_of), owns = kubewright::prelude::Secret)]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            cx.patch::<Secret>("token", Patch::merge(&())?).await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod patch_undeclared_1 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, watches(Secret, map = users_of), writes = kubewright::prelude::Secret)]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            cx.patch::<Secret>("token", Patch::merge(&())?).await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod release_of_unowned_0 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, live = Secret, owns = kubewright::prelude::Secret)]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            cx.release::<Secret>("token").await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod role_without_rule_0 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, owns = Role, rbac(group = "rbac.authorization.k8s.io", resources = ["roles", "clusterroles"], verbs = ["bind", "escalate"]))]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, _: &Context<Self>) -> Result<Action> {
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod set_of_unowned_0 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, updates = Secret, owns = kubewright::prelude::Secret)]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            cx.apply_set([Secret::default()]).await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod ungranted_client_not_opened_0 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, owns = Secret, ungranted_client = "what the grants cannot cover")]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            let _ = cx.ungranted_client();
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod update_of_an_owned_0 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, owns = Secret, updates = kubewright::prelude::Secret)]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            cx.update(&mut Secret::default()).await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}
}

mod update_undeclared_0 {
    use kubewright::prelude::*;
    use kubewright_ui_tests::*;

    #[controller(for = App, owns = Deployment, updates = kubewright::prelude::Deployment)]
    struct C;

    impl Reconciler for C {
        async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
            cx.update(&mut Deployment::default()).await?;
            Ok(Action::await_change())
        }
    }

    fn main() {}
}
