//! Every shape that a test of a cluster may have.

use kubewright::prelude::*;
use kubewright_testkit as another_name;
use kubewright_testkit::TestCluster;

const LONG: Duration = Duration::from_secs(3600);

#[kubewright_testkit::test]
async fn takes_nothing() {}

#[kubewright_testkit::test()]
async fn takes_the_cluster(mut cluster: TestCluster) {
    cluster = cluster.clone();
    assert!(cluster.get::<ConfigMap>("a").await.is_none());
}

#[kubewright_testkit::test]
async fn leaves_the_cluster_unused(_: kubewright_testkit::TestCluster) {}

#[kubewright_testkit::test(
    seed = 0x_ff,
    repeat = 3,
    latency = "1ms..20ms",
    now = "2026-03-01T12:00:00Z",
    timeout = "2h"
)]
async fn has_every_option(cluster: TestCluster) {
    assert!(cluster.now().to_string().starts_with("2026-03-01"));
}

#[kubewright_testkit::test(timeout = LONG, latency = "none",)]
async fn has_a_constant_for_an_option(_: TestCluster) {}

#[kubewright_testkit::test(latency = "5ms")]
pub(crate) async fn returns_a_result(cluster: TestCluster) -> Result<()> {
    let number: usize = "0".parse()?;
    assert_eq!(cluster.story().faults().count(), number);
    Ok(())
}

#[kubewright_testkit::test]
async fn returns_an_error_of_the_standard_library() -> std::result::Result<(), std::num::ParseIntError> {
    "1".parse::<u8>().map(drop)
}

#[another_name::test(crate = another_name)]
async fn finds_the_testkit_under_another_name(_: TestCluster) {}

#[cfg(any(unix, windows))]
#[kubewright_testkit::test]
#[should_panic(expected = "as it should")]
async fn has_attributes_on_both_sides() {
    panic!("as it should");
}

mod no_mention_of_the_prelude {
    #[kubewright_testkit::test]
    async fn needs_no_import() {
        assert_eq!(super::LONG.as_secs(), 3600);
    }
}

macro_rules! greets {
    ($($name:ident: $kind:ty),*) => { $(
        #[kubewright_testkit::test]
        async fn $name(cluster: $kind) {
            assert!(cluster.faults().is_empty());
        }
    )* };
}

greets!(made_by_a_macro: TestCluster, made_again: TestCluster);
