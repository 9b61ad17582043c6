//! What `#[kubewright_testkit::test]` promises of a run.

#![expect(clippy::disallowed_types, reason = "what users write")]

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright_testkit::TestCluster;
use tokio::time::Instant;

#[kubewright_testkit::test]
async fn a_test_may_return_a_result(cluster: TestCluster) -> kubewright::Result<()> {
    let number: i32 = "4".parse()?;
    assert_eq!(number, 4);
    assert!(cluster.get::<ConfigMap>("a").await.is_none());
    Ok(())
}

#[kubewright_testkit::test]
#[should_panic(expected = "four is not three")]
async fn a_panic_is_seen_as_it_was(_cluster: TestCluster) {
    panic!("four is not three");
}

#[kubewright_testkit::test]
#[should_panic(expected = "InvalidDigit")]
async fn an_error_that_is_returned_fails_the_test() -> kubewright::Result<()> {
    let _: i32 = "four".parse()?;
    Ok(())
}

#[kubewright_testkit::test(timeout = "2h")]
#[should_panic(expected = "2 h of the test's time have passed")]
async fn what_never_comes_fails_the_test_rather_than_hang_it(_cluster: TestCluster) {
    std::future::pending::<()>().await;
}

#[kubewright_testkit::test(now = "2026-03-01T12:00:00Z")]
async fn the_clusters_clock_begins_where_the_test_says(cluster: TestCluster) {
    assert_eq!(cluster.env().now().to_string(), "2026-03-01T12:00:00Z");
    tokio::time::sleep(Duration::from_secs(3600)).await;
    // A cluster that is started later starts at the test's time, not at its beginning.
    assert_eq!(TestCluster::start().env().now(), cluster.env().now());
}

#[kubewright_testkit::test(repeat = 3)]
async fn each_run_has_statics_of_its_own() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    assert_eq!(RUNS.fetch_add(1, Ordering::SeqCst), 0);
}

#[kubewright_testkit::test]
async fn requests_take_time(cluster: TestCluster) {
    let began = Instant::now();
    assert!(cluster.get::<ConfigMap>("a").await.is_none());
    let took = began.elapsed();
    assert!(
        took >= Duration::from_millis(2) && took < Duration::from_millis(20),
        "{took:?}"
    );
}

#[kubewright_testkit::test(latency = "none")]
async fn a_test_that_counts_on_exact_times_switches_latency_off(cluster: TestCluster) {
    let began = Instant::now();
    assert!(cluster.get::<ConfigMap>("a").await.is_none());
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test]
#[should_panic(expected = "needs paused time")]
async fn a_cluster_on_a_clock_that_runs_is_refused() {
    let _ = TestCluster::start();
}

/// Numbers in an order that a fresh `HashMap` gives them.
fn in_hash_order() -> Vec<u32> {
    (0..20).collect::<HashSet<_>>().into_iter().collect()
}

#[cfg(all(feature = "pinned", target_os = "linux"))]
#[expect(clippy::disallowed_methods, reason = "what users write")]
mod pinned {
    use std::time::SystemTime;

    use super::*;

    /// Says in the story what two runs must agree on.
    async fn say(cluster: &TestCluster, what: impl std::fmt::Display) {
        cluster
            .apply(&serde_json::json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": what.to_string(), "namespace": "default" },
            }))
            .await;
    }

    #[kubewright_testkit::test(repeat = 3)]
    async fn the_order_of_a_hash_map_follows_from_the_seed(cluster: TestCluster) {
        for number in in_hash_order() {
            say(&cluster, number).await;
        }
        let mut map = HashMap::new();
        map.extend((0..20).map(|n| (n, ())));
        assert_ne!(map.into_keys().collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
    }

    #[kubewright_testkit::test(repeat = 3)]
    async fn random_numbers_follow_from_the_seed(cluster: TestCluster) {
        say(&cluster, rand::random::<u64>()).await;
        say(&cluster, rand::random::<u64>()).await;
    }

    #[kubewright_testkit::test(repeat = 3)]
    async fn what_tokio_chooses_at_random_follows_from_the_seed(cluster: TestCluster) {
        for round in 0..20 {
            let winner = tokio::select! {
                () = std::future::ready(()) => 'a',
                () = std::future::ready(()) => 'b',
                () = std::future::ready(()) => 'c',
            };
            say(&cluster, format!("{round}-{winner}")).await;
        }
    }

    #[kubewright_testkit::test(now = "2026-03-01T12:00:00Z")]
    async fn the_machines_clock_shows_the_clusters_time(cluster: TestCluster) {
        let now = || jiff::Timestamp::try_from(SystemTime::now()).expect("a time of our age");
        assert_eq!(now(), cluster.env().now());
        tokio::time::sleep(Duration::from_secs(86_000)).await;
        assert_eq!(now(), cluster.env().now());
        assert_eq!(now().to_string(), "2026-03-02T11:53:20Z");
        // Another thread cannot ask the test's clock; it is told what the test looked at last.
        let elsewhere = std::thread::spawn(SystemTime::now).join().expect("it does not panic");
        assert_eq!(jiff::Timestamp::try_from(elsewhere).expect("a time"), now());
    }

    #[test]
    fn outside_of_a_seeded_run_the_machine_answers_as_always() {
        let age = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .expect("after 1970");
        // Files are stamped by the kernel, which no symbol of ours can tell another time.
        let file = std::env::temp_dir().join(format!("kubewright-testkit-clock-{}", std::process::id()));
        std::fs::write(&file, "").expect("there is room");
        let of_files = std::fs::metadata(&file)
            .and_then(|m| m.modified())
            .expect("it was just written");
        std::fs::remove_file(&file).expect("it is there");
        let apart = of_files
            .duration_since(SystemTime::UNIX_EPOCH)
            .expect("after 1970")
            .abs_diff(age);
        assert!(apart < Duration::from_secs(3600), "{apart:?}");
        // Two hashers of one machine agree on the order of twenty numbers once in 10¹⁸ times.
        let elsewhere = std::thread::spawn(in_hash_order).join().expect("it does not panic");
        assert_ne!(in_hash_order(), elsewhere);
    }
}
