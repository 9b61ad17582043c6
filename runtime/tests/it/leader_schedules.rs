//! Random schedules of writes, faults and changes of leadership, with a warm standby, under both settings of
//! `own_events`: the last version of everything is answered, no read goes behind an own write, nobody writes beside the
//! leader.

use std::time::Duration;

use kubewright::prelude::*;
use kubewright_testkit::{Fault, Operator, TestCluster, Verb, oracles};
use serde_json::json;
use tokio::time::sleep;

use crate::support::{App, AppStatus, Notes, config_map, holds, put};

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
const STEPS: usize = 90;

/// Applies a ConfigMap and the status, and checks that what it reads is what it wrote.
async fn apply_both<C>(notes: &Notes, app: &App, cx: &Context<C>) -> Result<Action>
where
    C: Declare<Primary = App> + Owns<ConfigMap>,
{
    let written = cx.apply(config_map(app)).await?;
    let read = cx.get::<ConfigMap>(app.name_any()).await?;
    let version = |map: &ConfigMap| map.resource_version().and_then(|version| version.parse::<u64>().ok());
    if let Some(read) = read
        && read.uid() == written.uid()
        && version(&read) < version(&written)
    {
        notes.add(format!(
            "{}: read {:?} after {:?}",
            app.name_any(),
            version(&read),
            version(&written)
        ));
    }
    let seen = app.spec.value.clone();
    cx.apply_status(AppStatus { seen }).await?;
    Ok(Action::await_change())
}

#[controller(for = App, owns = ConfigMap, workers = 2, warmup, backoff(min = "100ms", max = "5s"))]
struct Waking(Notes);

impl Reconciler for Waking {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        apply_both(&self.0, &app, cx).await
    }
}

#[controller(
    for = App,
    owns = ConfigMap,
    workers = 2,
    warmup,
    own_events = skip,
    backoff(min = "100ms", max = "5s")
)]
struct Skipping(Notes);

impl Reconciler for Skipping {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        apply_both(&self.0, &app, cx).await
    }
}

struct Schedule {
    cluster: TestCluster,
    skips: bool,
    behind: Notes,
    replicas: Vec<Operator>,
    started: usize,
    values: u64,
}

impl Schedule {
    async fn start(skips: bool) -> Self {
        let mut schedule = Self {
            cluster: TestCluster::start(),
            skips,
            behind: Notes::default(),
            replicas: Vec::new(),
            started: 0,
            values: 0,
        };
        schedule.fill().await;
        schedule
    }

    /// Two replicas run, whatever became of those before.
    async fn fill(&mut self) {
        self.replicas.retain(Operator::is_running);
        while self.replicas.len() < 2 {
            self.started += 1;
            let manager = Manager::new("random");
            let manager = if self.skips {
                manager.controller(Skipping(self.behind.clone()))
            } else {
                manager.controller(Waking(self.behind.clone()))
            };
            let operator = self.cluster.operator(manager).replica(format!("r{}", self.started));
            self.replicas.push(operator.leader_election().start().await);
        }
    }

    async fn step(&mut self) {
        let name = NAMES[self.below(NAMES.len())];
        let replica = self.below(self.replicas.len());
        match self.below(20) {
            0..=5 => {
                self.values += 1;
                put(&self.cluster, name, &self.values.to_string()).await;
            }
            6 | 7 => {
                if self.cluster.get::<ConfigMap>(name).await.is_some() {
                    let wrong = json!({ "data": { "value": "wrong" } });
                    self.cluster.patch::<ConfigMap>(name, wrong).await;
                }
            }
            8 => {
                if self.cluster.get::<ConfigMap>(name).await.is_some() {
                    self.cluster.delete::<ConfigMap>(name).await;
                }
            }
            9 => {
                if self.cluster.get::<App>(name).await.is_some() {
                    self.cluster.delete::<App>(name).await;
                }
            }
            10 => {
                let kind = ["apps", "configmaps"][self.below(2)];
                self.cluster.cut_watches(kind);
            }
            11 => {
                self.cluster.compact();
                self.cluster.cut_watches("apps");
            }
            12 => drop(
                self.cluster
                    .inject(Fault::cut().after_effect().on(Verb::Patch).times(1)),
            ),
            13 => drop(self.cluster.inject(Fault::status(500).on(Verb::Patch).times(2))),
            14 => self.replicas[replica].crash(),
            15 => self.replicas.remove(replica).stop().await,
            16 => {
                self.replicas[replica].partition();
                let wait = self.below(25) as u64;
                sleep(Duration::from_secs(wait)).await;
                self.replicas[replica].reconnect();
            }
            _ => {
                let wait = self.below(3_000) as u64;
                sleep(Duration::from_millis(wait)).await;
            }
        }
        self.fill().await;
    }

    async fn check_end(&self) {
        for fault in self.cluster.faults() {
            fault.heal();
        }
        sleep(Duration::from_secs(120)).await;
        for app in self.cluster.list::<App>().await {
            let name = app.name_any();
            let map = self.cluster.get::<ConfigMap>(&name).await;
            assert!(
                map.as_ref().is_some_and(|map| holds(map, &app.spec.value)),
                "{name} is {} and its ConfigMap {:?}\n{}",
                app.spec.value,
                map.and_then(|map| map.data),
                self.cluster.story().tail(80)
            );
            let seen = app.status.map(|status| status.seen);
            assert_eq!(seen.as_deref(), Some(&*app.spec.value), "{name}");
        }
        assert_eq!(self.behind.all(), Vec::<String>::new(), "reads went behind own writes");
        oracles::one_writer_per_lease(&self.cluster).expect("nobody writes beside the leader");
        oracles::no_duplicates(&self.cluster).expect("one child for each");
    }

    fn below(&self, bound: usize) -> usize {
        usize::try_from(self.cluster.env().next_u64() % bound as u64).expect("small")
    }
}

async fn run(skips: bool) {
    let mut schedule = Schedule::start(skips).await;
    for _ in 0..STEPS {
        schedule.step().await;
    }
    schedule.check_end().await;
}

#[kubewright_testkit::test]
async fn whoever_leads_the_last_version_of_everything_is_answered() {
    run(false).await;
}

#[kubewright_testkit::test]
async fn whoever_leads_the_last_version_of_everything_is_answered_though_own_events_are_skipped() {
    run(true).await;
}
