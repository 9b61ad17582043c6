//! Tests as users write them, wrong in ways that no seed decides, and what their authors are told.
//!
//! Each fixture is a test that passes on its own; asked by the environment, it does what it should not. The tests run
//! the fixtures as Cargo runs a test and read what comes out.

use std::process::Command;
use std::time::Duration;

use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright_testkit::TestCluster;

/// Which fixture misbehaves.
const MISBEHAVES: &str = "KUBEWRIGHT_TESTKIT_FIXTURE";

fn misbehaves(fixture: &str) -> bool {
    std::env::var(MISBEHAVES).is_ok_and(|name| name == fixture)
}

/// Runs a fixture with these variables set. Answers whether it passed, and all that it printed.
fn run(fixture: &str, variables: &[(&str, &str)]) -> (bool, String) {
    let mut command = Command::new(std::env::current_exe().expect("the test is a file"));
    for variable in [
        "KUBEWRIGHT_RUN",
        "KUBEWRIGHT_SEED",
        "KUBEWRIGHT_SEEDS",
        "KUBEWRIGHT_REPEAT",
    ] {
        command.env_remove(variable);
    }
    let output = command
        .args([&format!("differences::{fixture}"), "--exact"])
        .env(MISBEHAVES, fixture)
        .envs(variables.iter().copied())
        .output()
        .expect("a process starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("running 1 test"), "{text}");
    (output.status.success(), text)
}

fn fails(fixture: &str, variables: &[(&str, &str)]) -> String {
    let (passed, text) = run(fixture, variables);
    assert!(!passed, "{fixture} passed:\n{text}");
    text
}

/// Says something in the story.
async fn say(cluster: &TestCluster, what: impl std::fmt::Display) {
    cluster
        .apply(&serde_json::json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": what.to_string(), "namespace": "default" },
        }))
        .await;
}

#[kubewright_testkit::test]
async fn takes_a_process_id(cluster: TestCluster) {
    say(&cluster, "before").await;
    if misbehaves("takes_a_process_id") {
        say(&cluster, format!("id-{}", std::process::id())).await;
    }
}

#[test]
fn two_runs_that_differ_are_shown_where_they_part() {
    let text = fails("takes_a_process_id", &[]);
    assert!(
        text.contains("two runs of differences::takes_a_process_id with seed 1 differ, here:"),
        "{text}"
    );
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("id-")).collect();
    let [first, second, ..] = *lines else { panic!("{text}") };
    let number = |line: &str| line.split_whitespace().next().map(str::to_owned);
    assert_eq!(
        number(first),
        number(second),
        "both are the same line of their story:\n{text}"
    );
    assert!(
        first.contains(" 1 ") && second.contains(" 2 ") && first != second,
        "{text}"
    );
    let before = text.lines().position(|line| line.contains("before"));
    assert!(
        before < text.lines().position(|line| line == first),
        "what went before is shown:\n{text}"
    );
    assert!(text.contains("KUBEWRIGHT_SEED=1 cargo test -p kubewright-testkit differences::takes_a_process_id"));
}

#[test]
fn runs_are_not_compared_when_nobody_wants_it() {
    assert!(run("takes_a_process_id", &[("KUBEWRIGHT_REPEAT", "1")]).0);
}

#[kubewright_testkit::test]
async fn takes_the_monotonic_clock(cluster: TestCluster) {
    if misbehaves("takes_the_monotonic_clock") {
        #[expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "this is the mistake")]
        let now = std::time::Instant::now();
        say(&cluster, format!("{now:?}").replace(|c: char| !c.is_ascii_digit(), "")).await;
    }
}

#[kubewright_testkit::test]
async fn takes_an_address(cluster: TestCluster) {
    if misbehaves("takes_an_address") {
        let value = Box::new(1);
        say(&cluster, format!("{value:p}")).await;
    }
}

#[kubewright_testkit::test]
async fn takes_a_file_of_the_run_before(cluster: TestCluster) {
    if misbehaves("takes_a_file_of_the_run_before") {
        let file = std::env::temp_dir().join(format!("kubewright-testkit-{}", std::os::unix::process::parent_id()));
        if file.exists() {
            say(&cluster, "found").await;
            std::fs::remove_file(file).expect("it is there");
        } else {
            std::fs::write(file, "").expect("there is room");
        }
    }
}

#[kubewright_testkit::test]
async fn ends_one_way_or_the_other(_cluster: TestCluster) {
    if misbehaves("ends_one_way_or_the_other") {
        assert!(
            std::process::id() == 0,
            "process {} does not end well",
            std::process::id()
        );
    }
}

#[test]
fn what_no_seed_decides_is_found_in_the_story() {
    for fixture in [
        "takes_the_monotonic_clock",
        "takes_an_address",
        "takes_a_file_of_the_run_before",
        "ends_one_way_or_the_other",
    ] {
        let text = fails(fixture, &[]);
        assert!(text.contains("with seed 1 differ, here:"), "{fixture}:\n{text}");
    }
}

#[kubewright_testkit::test]
async fn counts_in_a_static(cluster: TestCluster) {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    say(&cluster, COUNT.fetch_add(1, Ordering::SeqCst)).await;
}

#[kubewright_testkit::test(repeat = 3)]
async fn spawns_tasks_by_itself(cluster: TestCluster) {
    let tasks = (0..20).map(|n| {
        let cluster = cluster.clone();
        tokio::spawn(async move { say(&cluster, n).await })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.expect("it does not panic");
    }
}

/// Where the two symbols are not pinned, the comparison is what is left.
#[cfg(not(all(feature = "pinned", target_os = "linux")))]
mod unpinned {
    use std::time::SystemTime;

    use super::*;

    #[kubewright_testkit::test]
    async fn takes_the_order_of_a_hash_set(cluster: TestCluster) {
        if misbehaves("unpinned::takes_the_order_of_a_hash_set") {
            let numbers: std::collections::HashSet<u32> = (0..20).collect();
            for number in numbers {
                say(&cluster, number).await;
            }
        }
    }

    #[kubewright_testkit::test]
    async fn takes_a_random_number(cluster: TestCluster) {
        if misbehaves("unpinned::takes_a_random_number") {
            say(&cluster, rand::random::<u64>()).await;
        }
    }

    #[kubewright_testkit::test]
    async fn takes_the_wall_clock(cluster: TestCluster) {
        if misbehaves("unpinned::takes_the_wall_clock") {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            say(&cluster, now.map_or(0, |now| now.as_nanos())).await;
        }
    }

    #[test]
    fn what_is_not_pinned_is_found_in_the_story() {
        for fixture in [
            "takes_the_order_of_a_hash_set",
            "takes_a_random_number",
            "takes_the_wall_clock",
        ] {
            let text = fails(&format!("unpinned::{fixture}"), &[]);
            assert!(text.contains("with seed 1 differ, here:"), "{fixture}:\n{text}");
        }
    }
}

#[kubewright_testkit::test]
async fn fails_with_seeds_that_four_divides(cluster: TestCluster) {
    println!("about to look");
    say(&cluster, "looked").await;
    if misbehaves("fails_with_seeds_that_four_divides") {
        // The latency's sequence is the seed's; so is this, and it is easier to count by.
        let seed: u64 = std::env::var("KUBEWRIGHT_RUN")
            .ok()
            .and_then(|run| run.split_once(' ')?.0.parse().ok())
            .expect("a run has a seed");
        assert!(!seed.is_multiple_of(4), "seed {seed} is one of those");
    }
}

#[test]
fn a_seed_that_fails_is_printed_and_fails_again() {
    let fixture = "fails_with_seeds_that_four_divides";
    assert!(run(fixture, &[("KUBEWRIGHT_SEEDS", "3")]).0);
    let text = fails(fixture, &[("KUBEWRIGHT_SEEDS", "9")]);
    assert!(text.contains("2 of 9 seeds failed: 4, 8"), "{text}");
    assert!(text.contains("seed 4 is one of those"), "{text}");
    assert!(
        text.contains("run it again: KUBEWRIGHT_SEED=4 cargo test -p kubewright-testkit"),
        "{text}"
    );
    let text = fails(fixture, &[("KUBEWRIGHT_SEED", "4")]);
    assert!(text.contains("about to look"), "what the run printed is shown:\n{text}");
    assert!(
        text.contains("configmaps") && text.contains("the story, seed 4:"),
        "the story is shown:\n{text}"
    );
    assert!(fails(fixture, &[("KUBEWRIGHT_SEEDS", "3..5")]).contains("1 of 2 seeds failed: 4"));
}

#[kubewright_testkit::test]
async fn ends_its_process(_cluster: TestCluster) {
    if misbehaves("ends_its_process") {
        println!("good bye");
        std::process::exit(0);
    }
}

#[test]
fn a_run_whose_process_ends_early_has_not_passed() {
    let text = fails("ends_its_process", &[]);
    assert!(
        text.contains("the run's process ended before the test did: exit status: 0"),
        "{text}"
    );
    assert!(text.contains("good bye"), "{text}");
}

#[kubewright_testkit::test]
#[should_panic(expected = "as it should")]
async fn panics_in_one_run_only(cluster: TestCluster) {
    if misbehaves("panics_in_one_run_only") {
        say(&cluster, format!("id-{}", std::process::id())).await;
    }
    panic!("as it should");
}

#[test]
fn a_difference_is_no_panic_that_was_meant() {
    let text = fails("panics_in_one_run_only", &[]);
    assert!(text.contains("with seed 1 differ, here:"), "{text}");
}

#[kubewright_testkit::test]
async fn opens_a_socket(_cluster: TestCluster) {
    if misbehaves("opens_a_socket") {
        let _ = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    }
}

#[test]
fn a_socket_on_paused_time_is_refused_with_its_reason() {
    let text = fails("opens_a_socket", &[]);
    assert!(text.contains("no real sockets on paused time"), "{text}");
}

#[kubewright_testkit::test]
async fn yields_for_ever(cluster: TestCluster) {
    say(&cluster, "before").await;
    while misbehaves("yields_for_ever") {
        tokio::task::yield_now().await;
    }
}

#[test]
fn a_loop_that_leaves_no_trace_ends_the_test_with_its_story() {
    let text = fails("yields_for_ever", &[("KUBEWRIGHT_PATIENCE", "1")]);
    assert!(
        text.contains("the test hangs: something in it has computed for 1 s"),
        "{text}"
    );
    assert!(
        text.contains("the story, seed 1:") && text.contains("configmaps default/before"),
        "{text}"
    );
}

#[kubewright_testkit::test]
async fn waits_for_a_thread(cluster: TestCluster) {
    say(&cluster, "before").await;
    if misbehaves("waits_for_a_thread") {
        let (_kept, never) = std::sync::mpsc::channel::<()>();
        let _ = never.recv();
    }
}

#[test]
fn a_test_that_stands_still_is_ended_with_its_story() {
    let text = fails("waits_for_a_thread", &[("KUBEWRIGHT_PATIENCE", "1")]);
    assert!(
        text.contains("the test hangs: nothing in it has moved for 2 s"),
        "{text}"
    );
    assert!(
        text.contains("the story, seed 1:") && text.contains("configmaps default/before"),
        "{text}"
    );
}

#[kubewright_testkit::test]
async fn works_in_the_tests_own_process(cluster: TestCluster) {
    assert!(cluster.get::<ConfigMap>("a").await.is_none());
    tokio::time::sleep(Duration::from_secs(60)).await;
}

#[test]
fn a_debugger_sees_the_run_in_the_tests_own_process() {
    assert!(run("works_in_the_tests_own_process", &[("KUBEWRIGHT_IN_PROCESS", "1")]).0);
    let text = fails("ends_one_way_or_the_other", &[("KUBEWRIGHT_IN_PROCESS", "1")]);
    assert!(text.contains("does not end well"), "{text}");
}
