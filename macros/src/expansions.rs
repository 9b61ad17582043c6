//! Expansions as readable text. `UPDATE_EXPECT=1 cargo test -p kubewright-macros` writes them anew.

use expect_test::{Expect, expect};
use proc_macro2::TokenStream;

fn controller(attr: &str, item: &str) -> String {
    let tokens = |text: &str| text.parse::<TokenStream>().expect("the test's input is tokens");
    pretty(crate::controller::controller(tokens(attr), &tokens(item)))
}

fn pretty(tokens: TokenStream) -> String {
    let file = syn::parse2(tokens).expect("an expansion is a list of items");
    prettyplease::unparse(&file)
}

/// Checks all but the item itself and the block for the editor, which has a test of its own.
fn check(attr: &str, expected: &Expect) {
    const EDITOR: &str = "#[allow(unexpected_cfgs)]";
    let text = controller(attr, "struct C;");
    let start = text.find(EDITOR).expect("the editor's block follows the item");
    let end = text[start..]
        .find("\n};\n")
        .map(|at| start + at + 4)
        .expect("the editor's block ends");
    assert_eq!(&text[..start], "struct C;\n");
    expected.assert_eq(&text[end..]);
}

#[test]
fn a_declaration_is_builder_calls_and_one_impl_per_grant() {
    check(
        "for = App, owns = [Deployment, Service], workers = 4",
        &expect![[r#"
            #[automatically_derived]
            impl ::kubewright::Declare for C {
                type Primary = App;
                fn declare(__d: ::kubewright::Declaration<Self>) -> ::kubewright::Declaration<Self> {
                    use ::kubewright::__private::NoDefinition as _;
                    let __d = ::kubewright::__private::Definition::<App>::of()
                        .declare(__d.for_::<App>());
                    __d.owns::<Deployment>().owns::<Service>().workers(4)
                }
            }
            #[automatically_derived]
            impl ::kubewright::Owns<Deployment> for C {}
            #[automatically_derived]
            impl ::kubewright::Owns<Service> for C {}
            #[automatically_derived]
            impl ::kubewright::Reads<App> for C {}
        "#]],
    );
}

#[test]
fn a_primary_kind_alone_is_read() {
    check(
        "for = App",
        &expect![[r#"
            #[automatically_derived]
            impl ::kubewright::Declare for C {
                type Primary = App;
                fn declare(__d: ::kubewright::Declaration<Self>) -> ::kubewright::Declaration<Self> {
                    use ::kubewright::__private::NoDefinition as _;
                    ::kubewright::__private::Definition::<App>::of().declare(__d.for_::<App>())
                }
            }
            #[automatically_derived]
            impl ::kubewright::Reads<App> for C {}
        "#]],
    );
}

#[test]
fn options_of_a_watch_are_a_closure() {
    check(
        r#"for = App,
           owns(Secret, predicate = generation_changed & !(labels_changed | object(is_big)), metadata_only),
           watches(ConfigMap, map = users_of, labels = "app=web", fields = "metadata.name=x"),
           owns(Pod, adopt = always), owns(Job, adopt = labels("app=web"))"#,
        &expect![[r##"
            #[automatically_derived]
            impl ::kubewright::Declare for C {
                type Primary = App;
                fn declare(__d: ::kubewright::Declaration<Self>) -> ::kubewright::Declaration<Self> {
                    use ::kubewright::__private::NoDefinition as _;
                    let __d = ::kubewright::__private::Definition::<App>::of()
                        .declare(__d.for_::<App>());
                    __d.owns_with::<
                            Secret,
                        >(|__w| {
                            __w
                                .metadata_only()
                                .predicate(
                                    ::kubewright::predicates::and(
                                        ::kubewright::predicates::generation_changed(),
                                        ::kubewright::predicates::not(
                                            ::kubewright::predicates::or(
                                                ::kubewright::predicates::labels_changed(),
                                                ::kubewright::predicates::object::<
                                                    ::kubewright::kube::core::PartialObjectMeta<Secret>,
                                                    _,
                                                >(is_big),
                                            ),
                                        ),
                                    ),
                                )
                        })
                        .watches_with::<
                            ConfigMap,
                            _,
                        >(users_of, |__w| __w.labels("app=web").fields("metadata.name=x"))
                        .owns_with::<Pod>(|__w| __w.adopt(::kubewright::declaration::Adopt::Always))
                        .owns_with::<
                            Job,
                        >(|__w| {
                            __w.adopt(::kubewright::declaration::Adopt::Labels("app=web".into()))
                        })
                }
            }
            #[automatically_derived]
            impl ::kubewright::Owns<Secret> for C {}
            #[automatically_derived]
            impl ::kubewright::Owns<Pod> for C {}
            #[automatically_derived]
            impl ::kubewright::Owns<Job> for C {}
            #[automatically_derived]
            impl ::kubewright::Reads<App> for C {}
            #[automatically_derived]
            impl ::kubewright::Reads<ConfigMap> for C {}
            #[automatically_derived]
            impl ::kubewright::Reads<::kubewright::kube::core::PartialObjectMeta<Secret>> for C {}
        "##]],
    );
}

#[test]
fn a_kind_is_granted_once_by_its_strongest_key() {
    check(
        "for = App, watches(Secret, map = f), live = Secret, owns = Secret, updates = Secret, writes = [Pod, Job]",
        &expect![[r#"
            #[automatically_derived]
            impl ::kubewright::Declare for C {
                type Primary = App;
                fn declare(__d: ::kubewright::Declaration<Self>) -> ::kubewright::Declaration<Self> {
                    use ::kubewright::__private::NoDefinition as _;
                    let __d = ::kubewright::__private::Definition::<App>::of()
                        .declare(__d.for_::<App>());
                    __d.watches::<Secret, _>(f)
                        .live::<Secret>()
                        .owns::<Secret>()
                        .updates::<Secret>()
                        .writes::<Pod>()
                        .writes::<Job>()
                }
            }
            #[automatically_derived]
            impl ::kubewright::Owns<Secret> for C {}
            #[automatically_derived]
            impl ::kubewright::Reads<App> for C {}
            #[automatically_derived]
            impl ::kubewright::Updates<Secret> for C {}
            #[automatically_derived]
            impl ::kubewright::Writes<Pod> for C {}
            #[automatically_derived]
            impl ::kubewright::Writes<Job> for C {}
        "#]],
    );
}

#[test]
fn metadata_is_a_grant_of_its_own() {
    check(
        "for = App, watches(Secret, map = map_by(1), metadata_only)",
        &expect![[r#"
            #[automatically_derived]
            impl ::kubewright::Declare for C {
                type Primary = App;
                fn declare(__d: ::kubewright::Declaration<Self>) -> ::kubewright::Declaration<Self> {
                    use ::kubewright::__private::NoDefinition as _;
                    let __d = ::kubewright::__private::Definition::<App>::of()
                        .declare(__d.for_::<App>());
                    __d.watches_metadata::<Secret, _>(map_by(1), |__w| __w)
                }
            }
            #[automatically_derived]
            impl ::kubewright::Reads<App> for C {}
            #[automatically_derived]
            impl ::kubewright::ReadsMetadata<Secret> for C {}
            #[automatically_derived]
            impl ::kubewright::Reads<::kubewright::kube::core::PartialObjectMeta<Secret>> for C {}
        "#]],
    );
}

#[test]
fn a_finalizer_is_called_first() {
    check(
        r#"for = App, workers = 2, finalizer = "demo.dev/cleanup""#,
        &expect![[r##"
            #[automatically_derived]
            impl ::kubewright::Declare for C {
                type Primary = App;
                fn declare(__d: ::kubewright::Declaration<Self>) -> ::kubewright::Declaration<Self> {
                    use ::kubewright::__private::NoDefinition as _;
                    let __d = ::kubewright::__private::Definition::<App>::of()
                        .declare(__d.for_::<App>());
                    __d.finalizer("demo.dev/cleanup").workers(2)
                }
            }
            #[automatically_derived]
            impl ::kubewright::Reads<App> for C {}
            #[automatically_derived]
            impl ::kubewright::Finalized for C {}
        "##]],
    );
}

#[test]
fn settings_are_the_methods_of_their_names() {
    check(
        r#"for = App, name = "app", field_manager = "demo", resync = "10h", timeout = "90s",
           backoff(min = "250us", max = "1m"), rate_limit(per_second = 10, burst = 100), needs_leader = false,
           own_events = skip, retired_finalizers = ["demo.dev/old", OLD], event_filter = my::filter(3), labels = "app=web", workers = WORKERS"#,
        &expect![[r##"
            #[automatically_derived]
            impl ::kubewright::Declare for C {
                type Primary = App;
                fn declare(__d: ::kubewright::Declaration<Self>) -> ::kubewright::Declaration<Self> {
                    use ::kubewright::__private::NoDefinition as _;
                    let __d = ::kubewright::__private::Definition::<App>::of()
                        .declare(__d.for_::<App>());
                    __d.name("app")
                        .field_manager("demo")
                        .resync(::core::time::Duration::from_secs(36000))
                        .timeout(::core::time::Duration::from_secs(90))
                        .backoff(
                            ::kubewright::declaration::Backoff::default()
                                .min(::core::time::Duration::from_micros(250))
                                .max(::core::time::Duration::from_secs(60)),
                        )
                        .rate_limit(10, 100)
                        .needs_leader(false)
                        .own_events(::kubewright::declaration::OwnEvents::Skip)
                        .retired_finalizer("demo.dev/old")
                        .retired_finalizer(OLD)
                        .event_filter(my::filter(3))
                        .labels("app=web")
                        .workers(WORKERS)
                }
            }
            #[automatically_derived]
            impl ::kubewright::Reads<App> for C {}
        "##]],
    );
}

#[test]
fn a_key_that_stands_alone_is_a_method_without_arguments() {
    check(
        "for = App, warmup",
        &expect![[r##"
            #[automatically_derived]
            impl ::kubewright::Declare for C {
                type Primary = App;
                fn declare(__d: ::kubewright::Declaration<Self>) -> ::kubewright::Declaration<Self> {
                    use ::kubewright::__private::NoDefinition as _;
                    let __d = ::kubewright::__private::Definition::<App>::of()
                        .declare(__d.for_::<App>());
                    __d.warmup()
                }
            }
            #[automatically_derived]
            impl ::kubewright::Reads<App> for C {}
        "##]],
    );
}

#[test]
fn rules_are_written_out() {
    check(
        r#"for = App,
           rbac(group = "apps", resources = ["deployments", "deployments/scale"], verbs = ["get", "patch"], names = ["web"]),
           rbac(resources = "pods", verbs = "get"), rbac(urls = ["/metrics"], verbs = ["get"])"#,
        &expect![[r##"
            #[automatically_derived]
            impl ::kubewright::Declare for C {
                type Primary = App;
                fn declare(__d: ::kubewright::Declaration<Self>) -> ::kubewright::Declaration<Self> {
                    use ::kubewright::__private::NoDefinition as _;
                    let __d = ::kubewright::__private::Definition::<App>::of()
                        .declare(__d.for_::<App>());
                    __d.rbac(
                            ::kubewright::rbac::PolicyRule::new(
                                    "apps",
                                    ["deployments", "deployments/scale"],
                                    ["get", "patch"],
                                )
                                .names(["web"]),
                        )
                        .rbac(::kubewright::rbac::PolicyRule::new("", ["pods"], ["get"]))
                        .rbac(::kubewright::rbac::PolicyRule::urls(["/metrics"], ["get"]))
                }
            }
            #[automatically_derived]
            impl ::kubewright::Reads<App> for C {}
        "##]],
    );
}

#[test]
fn the_framework_may_have_another_name() {
    check(
        "crate = other::kubewright, for = App",
        &expect![[r#"
            #[automatically_derived]
            impl other::kubewright::Declare for C {
                type Primary = App;
                fn declare(
                    __d: other::kubewright::Declaration<Self>,
                ) -> other::kubewright::Declaration<Self> {
                    use other::kubewright::__private::NoDefinition as _;
                    other::kubewright::__private::Definition::<App>::of().declare(__d.for_::<App>())
                }
            }
            #[automatically_derived]
            impl other::kubewright::Reads<App> for C {}
        "#]],
    );
}

#[test]
fn mistakes_leave_the_rest_standing() {
    check(
        r#"for = App, owns = Secret, workers = 0, timout = "1s""#,
        &expect![[r#"
            ::core::compile_error! {
                "0 lets nothing run: use 1 or more, as in `workers = 4`"
            }
            ::core::compile_error! {
                "there is no key `timout`: did you mean `timeout`, as in `timeout = \"1s\"`?"
            }
            #[automatically_derived]
            impl ::kubewright::Declare for C {
                type Primary = App;
                fn declare(__d: ::kubewright::Declaration<Self>) -> ::kubewright::Declaration<Self> {
                    use ::kubewright::__private::NoDefinition as _;
                    let __d = ::kubewright::__private::Definition::<App>::of()
                        .declare(__d.for_::<App>());
                    __d.owns::<Secret>().timeout(::core::time::Duration::from_secs(1))
                }
            }
            #[automatically_derived]
            impl ::kubewright::Owns<Secret> for C {}
            #[automatically_derived]
            impl ::kubewright::Reads<App> for C {}
        "#]],
    );
}

#[test]
fn the_editor_sees_each_key_as_a_field() {
    let text = controller(
        r#"for = App, work, owns(Secret, metadata_only, pred)"#,
        "pub(crate) struct C { a: u8 }",
    );
    let expected = expect![[r#"
        pub(crate) struct C {
            a: u8,
        }
        #[allow(unexpected_cfgs)]
        const _: () = {
            #[cfg(rust_analyzer)]
            const _: () = {
                fn __controller(__k: ::kubewright::__private::ControllerKeys) {
                    let _ = __k.r#for;
                    let _ = __k.work;
                    let _ = __k.owns;
                    let _ = __k.r#for;
                }
                const _: fn(::kubewright::__private::OwnsKeys) = |__k| {
                    let _ = __k.metadata_only;
                    let _ = __k.pred;
                    let _ = __k.predicate;
                };
            };
        };
        ::core::compile_error! {
            "there is no key `work`: did you mean `workers`, as in `workers = 4`?"
        }
        ::core::compile_error! {
            "`owns(…)` has no key `pred`: did you mean `predicate`?"
        }
        #[automatically_derived]
        impl ::kubewright::Declare for C {
            type Primary = App;
            fn declare(__d: ::kubewright::Declaration<Self>) -> ::kubewright::Declaration<Self> {
                use ::kubewright::__private::NoDefinition as _;
                let __d = ::kubewright::__private::Definition::<App>::of()
                    .declare(__d.for_::<App>());
                __d.owns_with::<Secret>(|__w| __w.metadata_only())
            }
        }
        #[automatically_derived]
        impl<__K> ::kubewright::Owns<__K> for C {}
        #[automatically_derived]
        impl<__K> ::kubewright::Updates<__K> for C {}
        #[automatically_derived]
        impl<__K> ::kubewright::HandsOut<__K> for C {}
        #[automatically_derived]
        impl ::kubewright::Finalized for C {}
        #[automatically_derived]
        impl ::kubewright::Ungranted for C {}
    "#]];
    expected.assert_eq(&text);
}

#[test]
fn a_custom_resource_is_derived_by_kube_from_a_twin_without_fields() {
    let input = r#"
        /// An app.
        #[kube(group = "demo.dev", version = "v1", kind = "App", namespaced)]
        #[kube(validation = "self.spec.replicas > 0")]
        pub(crate) struct AppSpec { image: String, replicas: i32 }
    "#;
    let tokens = input.parse().expect("the test's input is tokens");
    let expected = expect![[r##"
        #[derive(::kubewright::__private::CustomResource)]
        #[::kubewright::__private::discard]
        #[kube(group = "demo.dev", version = "v1", kind = "App", namespaced)]
        #[kube(validation = "self.spec.replicas > 0")]
        #[kube(
            crates(
                kube = "::kubewright::kube",
                kube_core = "::kubewright::kube::core",
                k8s_openapi = "::kubewright::k8s_openapi",
                schemars = "::kubewright::__private::schemars",
                serde = "::kubewright::__private::serde",
                serde_json = "::kubewright::__private::serde_json"
            )
        )]
        #[kube(
            attr = "x_kube (crates (kube_core = \"::kubewright::kube::core\" , schemars = \"::kubewright::__private::schemars\" , serde = \"::kubewright::__private::serde\" , serde_json = \"::kubewright::__private::serde_json\"))"
        )]
        pub(crate) struct AppSpec;
    "##]];
    expected.assert_eq(&pretty(crate::custom_resource::custom_resource(tokens)));
}

#[test]
fn a_resource_without_spec_keeps_the_names_of_its_fields() {
    let input = r#"
        #[kube(group = "demo.dev", version = "v1", kind = "App", no_spec, crates(kube_core = "kube::core"))]
        struct AppSpec { image: String, status: i32 }
    "#;
    let tokens = input.parse().expect("the test's input is tokens");
    let expected = expect![[r##"
        #[derive(::kubewright::__private::CustomResource)]
        #[::kubewright::__private::discard]
        #[kube(
            group = "demo.dev",
            version = "v1",
            kind = "App",
            no_spec,
            crates(kube_core = "kube::core")
        )]
        struct AppSpec {
            image: (),
            status: (),
        }
    "##]];
    expected.assert_eq(&pretty(crate::custom_resource::custom_resource(tokens)));
}

#[test]
fn a_schema_is_derived_by_kube_from_a_twin_with_fields() {
    let input = r#"
        #[derive(Clone)]
        #[serde(rename_all = "camelCase")]
        #[x_kube(validation = "self.min <= self.max")]
        struct Range { #[serde(default)] min: i32, max: i32 }
    "#;
    let tokens = input.parse().expect("the test's input is tokens");
    let expected = expect![[r##"
        #[derive(::kubewright::__private::KubeSchema)]
        #[::kubewright::__private::discard]
        #[x_kube(
            crates(
                kube_core = "::kubewright::kube::core",
                schemars = "::kubewright::__private::schemars",
                serde = "::kubewright::__private::serde",
                serde_json = "::kubewright::__private::serde_json"
            )
        )]
        #[serde(rename_all = "camelCase")]
        #[x_kube(validation = "self.min <= self.max")]
        struct Range {
            #[serde(default)]
            min: i32,
            max: i32,
        }
    "##]];
    expected.assert_eq(&pretty(crate::custom_resource::kube_schema(tokens)));
}

fn test(attr: &str, item: &str) -> String {
    let tokens = |text: &str| text.parse::<TokenStream>().expect("the test's input is tokens");
    pretty(crate::test::test(tokens(attr), &tokens(item)))
}

#[test]
fn a_test_holds_the_function_and_hands_it_to_the_testkit() {
    let expected = expect![[r#"
        /// Says so.
        #[should_panic(expected = "no")]
        #[::core::prelude::v1::test]
        pub(crate) fn it_works() {
            pub(crate) async fn it_works(mut cluster: TestCluster) -> Result<()> {
                body
            }
            ::kubewright_testkit::__private::Test::new(
                    ::core::module_path!(),
                    "it_works",
                    ::core::option_env!("CARGO_PKG_NAME"),
                )
                .seed(7)
                .repeat(3)
                .latency(
                    ::core::time::Duration::from_millis(1),
                    ::core::time::Duration::from_millis(20),
                )
                .now("2026-03-01T12:00:00Z")
                .timeout(::core::time::Duration::from_secs(7200))
                .should_panic()
                .run_with::<TestCluster, Result<()>, _, _>(it_works)
        }
        #[cfg(not(test))]
        const _: fn() = || {
            pub(crate) async fn it_works(mut cluster: TestCluster) -> Result<()> {
                body
            }
            ::kubewright_testkit::__private::Test::new(
                    ::core::module_path!(),
                    "it_works",
                    ::core::option_env!("CARGO_PKG_NAME"),
                )
                .seed(7)
                .repeat(3)
                .latency(
                    ::core::time::Duration::from_millis(1),
                    ::core::time::Duration::from_millis(20),
                )
                .now("2026-03-01T12:00:00Z")
                .timeout(::core::time::Duration::from_secs(7200))
                .should_panic()
                .run_with::<TestCluster, Result<()>, _, _>(it_works)
        };
        #[allow(unexpected_cfgs)]
        const _: () = {
            #[cfg(rust_analyzer)]
            const _: () = {
                fn __test(__k: ::kubewright_testkit::__private::TestKeys) {
                    let _ = __k.seed;
                    let _ = __k.repeat;
                    let _ = __k.latency;
                    let _ = __k.now;
                    let _ = __k.timeout;
                    let _ = __k.seed;
                }
            };
        };
    "#]];
    expected.assert_eq(&test(
        r#"seed = 7, repeat = 3, latency = "1ms..20ms", now = "2026-03-01T12:00:00Z", timeout = "2h""#,
        "/// Says so. \n #[should_panic(expected = \"no\")] pub(crate) async fn it_works(mut cluster: TestCluster) -> Result<()> { body }",
    ));
}

#[test]
fn a_test_may_take_nothing_and_the_testkit_may_have_another_name() {
    let expected = expect![[r##"
        #[::core::prelude::v1::test]
        fn it_works() {
            async fn it_works() {}
            my::testkit::__private::Test::new(
                    ::core::module_path!(),
                    "it_works",
                    ::core::option_env!("CARGO_PKG_NAME"),
                )
                .latency(::core::time::Duration::ZERO, ::core::time::Duration::ZERO)
                .run::<(), _, _>(it_works)
        }
        #[cfg(not(test))]
        const _: fn() = || {
            async fn it_works() {}
            my::testkit::__private::Test::new(
                    ::core::module_path!(),
                    "it_works",
                    ::core::option_env!("CARGO_PKG_NAME"),
                )
                .latency(::core::time::Duration::ZERO, ::core::time::Duration::ZERO)
                .run::<(), _, _>(it_works)
        };
        #[allow(unexpected_cfgs)]
        const _: () = {
            #[cfg(rust_analyzer)]
            const _: () = {
                fn __test(__k: my::testkit::__private::TestKeys) {
                    let _ = __k.latency;
                    let _ = __k.seed;
                }
            };
        };
    "##]];
    expected.assert_eq(&test(
        r#"latency = "none", crate = my::testkit"#,
        "async fn it_works() {}",
    ));
}

#[test]
fn what_is_no_test_is_left_as_it_is() {
    let expected = expect![[r##"
        #[allow(dead_code)]
        fn it_works(cluster: TestCluster) {}
        #[allow(unexpected_cfgs)]
        const _: () = {
            #[cfg(rust_analyzer)]
            const _: () = {
                fn __test(__k: ::kubewright_testkit::__private::TestKeys) {
                    let _ = __k.sed;
                    let _ = __k.seed;
                }
            };
        };
        ::core::compile_error! {
            "a test of a cluster awaits: write `async fn`"
        }
        ::core::compile_error! {
            "there is no option `sed`: did you mean `seed`?"
        }
    "##]];
    expected.assert_eq(&test("sed = 7", "fn it_works(cluster: TestCluster) {}"));
}

fn status(item: &str) -> String {
    let tokens = item.parse::<TokenStream>().expect("the test's input is tokens");
    pretty(crate::status_conditions::status_conditions(tokens))
}

#[test]
fn conditions_get_a_schema_by_a_twin_that_goes_again() {
    let expected = expect![[r##"
        #[derive(::kubewright::__private::schemars::JsonSchema)]
        #[::kubewright::__private::discard]
        #[schemars(crate = "::kubewright::__private::schemars")]
        #[serde(rename_all = "camelCase")]
        pub struct AppStatus<T> {
            size: T,
            #[serde(default)]
            #[schemars(schema_with = "::kubewright::conditions::schema")]
            conditions: Vec<Condition>,
        }
        #[automatically_derived]
        impl<T> ::kubewright::conditions::StatusConditions for AppStatus<T> {
            fn conditions(&self) -> &[::kubewright::conditions::Condition] {
                &self.conditions
            }
            fn conditions_mut(
                &mut self,
            ) -> &mut ::std::vec::Vec<::kubewright::conditions::Condition> {
                &mut self.conditions
            }
        }
    "##]];
    expected.assert_eq(&status(
        "#[derive(Clone)] #[serde(rename_all = \"camelCase\")] pub struct AppStatus<T> { size: T, #[serde(default)] conditions: Vec<Condition> }",
    ));
}

#[test]
fn what_has_no_conditions_says_what_to_add_and_still_has_a_schema() {
    let expected = expect![[r#"
        ::core::compile_error! {
            "there is no field for the conditions: add `#[serde(default)] conditions: Vec<Condition>`"
        }
        #[derive(::kubewright::__private::schemars::JsonSchema)]
        #[::kubewright::__private::discard]
        #[schemars(crate = "::kubewright::__private::schemars")]
        struct AppStatus {
            size: u32,
        }
    "#]];
    expected.assert_eq(&status("struct AppStatus { size: u32 }"));
}
