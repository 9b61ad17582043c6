use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::LeaderElection;
use super::store::{LeaseError, LeaseStore};
use super::{Elector, LeaderStatus, Lost, Part};
use crate::client::WriteFence;
use crate::env::Env;
use crate::metrics::Metrics;

/// One Lease in memory, as the server keeps it.
#[derive(Clone, Default)]
struct Server {
    lease: Arc<Mutex<Option<Value>>>,
    version: Arc<AtomicU64>,
    writes: Arc<AtomicU64>,
}

/// One replica's way to it.
#[derive(Clone, Default)]
struct Link {
    server: Server,
    down: Arc<AtomicBool>,
    /// The request arrives, the answer does not.
    deaf: Arc<AtomicBool>,
}

impl Link {
    async fn pass(&self) -> Result<(), LeaseError> {
        sleep(Duration::from_millis(5)).await;
        if self.down.load(Ordering::SeqCst) {
            return Err(LeaseError::Other("the server cannot be reached".into()));
        }
        Ok(())
    }

    async fn answer(&self, lease: Value) -> Result<Value, LeaseError> {
        if self.deaf.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        Ok(lease)
    }

    fn store(&self, mut lease: Value) -> Value {
        let version = self.server.version.fetch_add(1, Ordering::SeqCst) + 1;
        self.server.writes.fetch_add(1, Ordering::SeqCst);
        lease["metadata"]["resourceVersion"] = json!(version.to_string());
        *self.server.lease.lock().expect("no panic") = Some(lease.clone());
        lease
    }
}

impl LeaseStore for Link {
    fn get(&self) -> BoxFuture<'_, Result<Value, LeaseError>> {
        Box::pin(async move {
            self.pass().await?;
            let lease = self.server.lease.lock().expect("no panic").clone();
            self.answer(lease.ok_or(LeaseError::Missing)?).await
        })
    }

    fn create(&self, lease: Value) -> BoxFuture<'_, Result<Value, LeaseError>> {
        Box::pin(async move {
            self.pass().await?;
            if self.server.lease.lock().expect("no panic").is_some() {
                return Err(LeaseError::Conflict);
            }
            self.answer(self.store(lease)).await
        })
    }

    fn replace(&self, lease: Value) -> BoxFuture<'_, Result<Value, LeaseError>> {
        Box::pin(async move {
            self.pass().await?;
            let current = self.server.lease.lock().expect("no panic").clone();
            let current = current.ok_or(LeaseError::Missing)?;
            if current["metadata"]["resourceVersion"] != lease["metadata"]["resourceVersion"] {
                return Err(LeaseError::Conflict);
            }
            self.answer(self.store(lease)).await
        })
    }
}

struct Replica {
    elector: Elector,
    link: Link,
    fence: WriteFence,
    status: LeaderStatus,
}

fn replica(server: &Server, identity: &str) -> Replica {
    let env = Env::seeded("2026-01-01T00:00:00Z".parse().expect("a time"), 7);
    let election = LeaderElection::new("op", "ns", identity);
    let link = Link {
        server: server.clone(),
        ..Link::default()
    };
    let fence = WriteFence::closed(env.clone());
    let status = LeaderStatus::new("ns/op".into(), identity.into(), Metrics::new(), Vec::new());
    Replica {
        elector: Elector::new(link.clone(), env, election, fence.clone(), status.clone()),
        link,
        fence,
        status,
    }
}

#[tokio::test(start_paused = true)]
async fn a_single_replica_leads_at_once_and_renews_with_one_request_each_period() {
    let server = Server::default();
    let mut a = replica(&server, "a");
    let start = Instant::now();
    a.elector.acquire().await;
    assert!(start.elapsed() < Duration::from_secs(1));
    assert_eq!(a.status.part(), Part::Leading);
    let held = tokio::time::timeout(Duration::from_secs(100), a.elector.hold()).await;
    assert!(held.is_err(), "it holds");
    let writes = server.writes.load(Ordering::SeqCst);
    assert!((45..=56).contains(&writes), "{writes} writes in 100 s");
    assert!(a.fence.is_open());
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_dies_is_followed_within_twenty_seconds_and_not_before_its_lease_ends() {
    let server = Server::default();
    let (mut a, mut b) = (replica(&server, "a"), replica(&server, "b"));
    a.elector.acquire().await;
    let waits = tokio::spawn(async move {
        b.elector.acquire().await;
        b
    });
    let _ = tokio::time::timeout(Duration::from_secs(31), a.elector.hold()).await;
    let died = Instant::now();
    let fence = a.fence.clone();
    drop(a.elector);
    let b = waits.await.expect("b leads");
    assert!(
        !fence.is_open(),
        "the old leader's writes ended before the new one leads"
    );
    assert!(died.elapsed() > Duration::from_secs(12), "{:?}", died.elapsed());
    assert!(died.elapsed() < Duration::from_secs(20), "{:?}", died.elapsed());
    assert_eq!(b.status.part(), Part::Leading);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_stops_is_followed_within_three_seconds() {
    let server = Server::default();
    let (mut a, mut b) = (replica(&server, "a"), replica(&server, "b"));
    a.elector.acquire().await;
    let waits = tokio::spawn(async move {
        b.elector.acquire().await;
        b.status.part()
    });
    let _ = tokio::time::timeout(Duration::from_secs(30), a.elector.hold()).await;
    let stopped = Instant::now();
    a.elector.release().await;
    assert!(!a.fence.is_open());
    assert_eq!(waits.await.expect("b leads"), Part::Leading);
    assert!(stopped.elapsed() < Duration::from_secs(3), "{:?}", stopped.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_leader_cut_off_steps_down_before_another_can_lead() {
    let server = Server::default();
    let (mut a, mut b) = (replica(&server, "a"), replica(&server, "b"));
    a.elector.acquire().await;
    let fence = a.fence.clone();
    let waits = tokio::spawn(async move {
        b.elector.acquire().await;
        assert!(!fence.is_open(), "two leaders could write");
    });
    let _ = tokio::time::timeout(Duration::from_secs(20), a.elector.hold()).await;
    a.link.down.store(true, Ordering::SeqCst);
    let cut = Instant::now();
    let lost = a.elector.hold().await;
    assert!(
        matches!(&lost, Lost::NotRenewed { cause, .. } if cause.contains("cannot be reached")),
        "{lost}"
    );
    assert!(cut.elapsed() <= Duration::from_secs(10), "{:?}", cut.elapsed());
    waits.await.expect("b leads");
}

#[tokio::test(start_paused = true)]
async fn a_renewal_whose_answer_is_lost_costs_no_leadership() {
    let server = Server::default();
    let mut a = replica(&server, "a");
    a.elector.acquire().await;
    let _ = tokio::time::timeout(Duration::from_secs(10), a.elector.hold()).await;
    a.link.deaf.store(true, Ordering::SeqCst);
    let _ = tokio::time::timeout(Duration::from_secs(6), a.elector.hold()).await;
    a.link.deaf.store(false, Ordering::SeqCst);
    assert!(
        tokio::time::timeout(Duration::from_secs(60), a.elector.hold())
            .await
            .is_err()
    );
    assert_eq!(a.status.part(), Part::Leading);
}

#[tokio::test(start_paused = true)]
async fn a_leader_frozen_past_its_lease_leads_on_if_nobody_took_it_and_ends_if_somebody_did() {
    let server = Server::default();
    let mut a = replica(&server, "a");
    a.elector.acquire().await;
    // As under SIGSTOP: time passes, nothing of the process runs.
    tokio::time::advance(Duration::from_secs(60)).await;
    assert!(!a.fence.is_open());
    assert!(
        tokio::time::timeout(Duration::from_secs(5), a.elector.hold())
            .await
            .is_err()
    );
    assert!(a.fence.is_open());
    a.link
        .store(json!({ "metadata": {}, "spec": { "holderIdentity": "b", "leaseDurationSeconds": 15 } }));
    tokio::time::advance(Duration::from_secs(60)).await;
    assert!(!a.fence.is_open());
    assert!(matches!(a.elector.hold().await, Lost::Taken { holder } if holder == "b"));
    assert!(!a.fence.is_open());
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_a_controller_runtime_operator_left_is_taken_over_once_it_runs_out() {
    let server = Server::default();
    let mut b = replica(&server, "b");
    b.link.store(json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": { "name": "op", "namespace": "ns", "uid": "1" },
        "spec": {
            "holderIdentity": "pod-7c9_0b6f2b8e", "leaseDurationSeconds": 15, "leaseTransitions": 3,
            "acquireTime": "2019-01-01T00:00:00.000000Z", "renewTime": "2031-01-01T00:00:00.000000Z",
        },
    }));
    let start = Instant::now();
    b.elector.acquire().await;
    let waited = start.elapsed();
    assert!(
        (15..18).contains(&waited.as_secs()),
        "{waited:?}: the local clock decides, not the Lease's times"
    );
    let lease = server.lease.lock().expect("no panic").clone().expect("a Lease");
    assert_eq!(lease["spec"]["holderIdentity"], "b");
    assert_eq!(lease["spec"]["leaseTransitions"], 4);
    assert_eq!(lease["metadata"]["uid"], "1");
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_another_replica_took_and_gave_back_is_lost_all_the_same() {
    let server = Server::default();
    let mut a = replica(&server, "a");
    a.elector.acquire().await;
    a.link
        .store(json!({ "metadata": {}, "spec": { "holderIdentity": "" } }));
    assert!(matches!(a.elector.hold().await, Lost::Taken { .. }));
    assert!(!a.fence.is_open());
}
