//! Map functions of every shape.

use kubewright::declaration::{MapInput, Mapper};
use kubewright::prelude::*;
use kubewright_ui_tests::*;

#[controller(
    for = App,
    watches(Secret, map = keys),
    watches(Secret, map = pairs),
    watches(Secret, map = names),
    watches(Secret, map = borrowed_names),
    watches(Secret, map = owned),
    watches(Secret, map = later),
    watches(Secret, map = later_owned),
    watches(Secret, map = made(2)),
    watches(ConfigMap, map = of_metadata, metadata_only),
)]
struct Watcher;

impl Reconciler for Watcher {
    async fn reconcile(&self, _: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        // Of a kind watched by its metadata, the cache answers the metadata and the server the rest.
        let _ = cx.get::<PartialObjectMeta<ConfigMap>>("settings").await?;
        let _ = cx.live().get::<ConfigMap>("settings").await?;
        Ok(Action::await_change())
    }
}

fn keys(_: &Secret) -> Vec<ObjectKey> {
    vec![ObjectKey::new("a", "b")]
}

fn pairs(_: &Secret) -> Option<(String, &'static str)> {
    Some(("a".to_owned(), "b"))
}

fn names(secret: &Secret) -> Option<String> {
    secret.metadata.name.clone()
}

fn borrowed_names(_: &Secret) -> [&'static str; 2] {
    ["a", "b"]
}

fn owned(_: Arc<Secret>) -> Vec<ObjectKey> {
    Vec::new()
}

async fn later(secret: &Secret) -> Vec<String> {
    std::future::ready(()).await;
    secret.metadata.name.iter().cloned().collect()
}

async fn later_owned(secret: Arc<Secret>) -> Vec<String> {
    std::future::ready(()).await;
    secret.metadata.name.iter().cloned().collect()
}

fn made(times: usize) -> impl Fn(&Secret) -> Vec<String> {
    move |secret| vec![secret.metadata.name.clone().unwrap_or_default(); times]
}

fn of_metadata(config: &PartialObjectMeta<ConfigMap>) -> Vec<String> {
    config.metadata.name.iter().cloned().collect()
}

#[tokio::test]
async fn map_functions_of_every_shape_answer_keys() {
    let declaration = Declaration::<Watcher>::of();
    let mut answers = Vec::new();
    for watch in &declaration.declared().watches[1..] {
        let kubewright::declaration::Role::Watched(mapper) = &watch.role else {
            panic!("a watch")
        };
        answers.push(ask(mapper, &watch.kind).await);
    }
    assert_eq!(
        answers,
        [
            "a/b",
            "a/b",
            "ns/x",
            "ns/a ns/b",
            "",
            "ns/x",
            "ns/x",
            "ns/x ns/x",
            "ns/x"
        ]
    );
}

async fn ask(mapper: &Mapper, kind: &kubewright::Kind) -> String {
    let input = MapInput {
        kind: kind.clone(),
        key: ObjectKey::new("ns", "x"),
        body: r#"{"apiVersion":"v1","metadata":{"namespace":"ns","name":"x"}}"#.into(),
    };
    let keys = mapper.map(input).await.expect("the object decodes");
    keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn an_object_that_does_not_decode_is_an_error_that_names_it() {
    let mapper = Mapper::new::<Secret, _, _>(keys, true);
    let input = MapInput {
        kind: kubewright::Kind::of::<Secret>(),
        key: ObjectKey::new("ns", "x"),
        body: r#"{"data":5}"#.into(),
    };
    let error = mapper.map(input).await.expect_err("5 is no map").to_string();
    assert!(error.starts_with("Secret ns/x does not decode"), "{error}");
}
