//! Kubewright: informers alone, or a manager with controllers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kubewright::cache::{Informer, InformerSpec, Informers, KeepManagers};
use kubewright::client::Transport;
use kubewright::delta::DeltaCause;
use kubewright::k8s_openapi::api::core::v1::Pod;
use kubewright::kube::Client;
use kubewright::manager::{Options as ManagerOptions, Shutdown};
use kubewright::{
    Action, Context, Declaration, Declare, Env, Kind, Manager, Predicate, Reads, Reconciler, Result, predicates,
};
use tokio::time::sleep;

use super::objects::{GROUP, PLURAL};
use super::reads;
use super::work::{Cache, EVENTS, Options, RECONCILES, Side, What};
use crate::Failure;

/// A cache of ours; its task runs until the process ends.
pub(crate) struct Ours {
    /// An informer alone, and the way to the server.
    informer: Option<(Informer, Transport)>,
    what: What,
    objects: u64,
}

/// First deltas that came through, where nothing is reconciled.
static HEARD: AtomicU64 = AtomicU64::new(0);

macro_rules! twenty {
    ($manager:ident: $($number:literal)*) => { $manager$(.controller(Hears::<$number>))* };
}

/// Starts caching.
pub(crate) fn start(client: Client, options: &Options) -> Ours {
    match options.what {
        What::Store => store(client, options),
        What::Reconcile => run(client, options, |manager| manager.controller(Once)),
        What::Hold => run(client, options, |manager| manager.controller(Hold)),
        What::Twenty => run(
            client,
            options,
            |manager| twenty!(manager: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19),
        ),
    }
}

fn store(client: Client, options: &Options) -> Ours {
    let env = Env::system();
    let transport = Transport::new(client, env.clone());
    let compress = options.side == Side::Ours;
    let keep = KeepManagers::of("bench", &[]);
    let informers = Informers::with_compression(transport.clone(), env, keep, compress);
    let informer = informers.informer(&InformerSpec::all(&kind(&options.plural)));
    tokio::spawn(async move { informers.run(std::future::pending()).await });
    Ours {
        informer: Some((informer, transport)),
        what: options.what,
        objects: options.count,
    }
}

/// The kind of a plural that the server serves.
pub(crate) fn kind(plural: &str) -> Kind {
    match plural {
        "pods" => Kind::of::<Pod>(),
        PLURAL => Kind::new(GROUP, "v1", "Database", PLURAL, true),
        _ => Kind::new("", "v1", "Secret", "secrets", true),
    }
}

fn run(client: Client, options: &Options, with: impl FnOnce(Manager) -> Manager) -> Ours {
    let manager = with(Manager::new("bench"));
    tokio::spawn(async move {
        if let Err(error) = manager.run(client, ManagerOptions::default(), Shutdown::new()).await {
            eprintln!("error: {error}");
            std::process::exit(1);
        }
    });
    Ours {
        informer: None,
        what: options.what,
        objects: options.count,
    }
}

/// Reads each Pod once, and again when its generation changes.
pub(super) struct Once;

impl Declare for Once {
    type Primary = Pod;

    fn declare(d: Declaration<Self>) -> Declaration<Self> {
        d.for_::<Pod>().name("once").event_filter(changed())
    }
}

impl Reads<Pod> for Once {}

impl Reconciler for Once {
    async fn reconcile(&self, pod: Arc<Pod>, _: &Context<Self>) -> Result<Action> {
        if pod.spec.is_some() {
            RECONCILES.fetch_add(1, Ordering::Relaxed);
        }
        Ok(Action::await_change())
    }
}

/// Never finishes with any Pod.
struct Hold;

/// As many reconciles as may be in flight.
const IN_FLIGHT: usize = 50_000;

impl Declare for Hold {
    type Primary = Pod;

    fn declare(d: Declaration<Self>) -> Declaration<Self> {
        d.for_::<Pod>().name("hold").workers(IN_FLIGHT).event_filter(changed())
    }
}

impl Reconciler for Hold {
    async fn reconcile(&self, pod: Arc<Pod>, _: &Context<Self>) -> Result<Action> {
        drop(pod);
        RECONCILES.fetch_add(1, Ordering::Relaxed);
        std::future::pending().await
    }
}

/// One of many controllers of Pods, which reconciles where a generation changes after the first list.
struct Hears<const NUMBER: usize>;

impl<const NUMBER: usize> Declare for Hears<NUMBER> {
    type Primary = Pod;

    fn declare(d: Declaration<Self>) -> Declaration<Self> {
        let later = Predicate::new(|delta| {
            let first = delta.cause == DeltaCause::FirstList;
            if first && NUMBER == 19 {
                HEARD.fetch_add(1, Ordering::Relaxed);
            }
            !first
        });
        let filter = if NUMBER == 0 {
            changed()
        } else {
            predicates::generation_changed()
        };
        d.for_::<Pod>()
            .name(format!("hears-{NUMBER}"))
            .event_filter(later & filter)
    }
}

impl<const NUMBER: usize> Reconciler for Hears<NUMBER> {
    async fn reconcile(&self, _: Arc<Pod>, _: &Context<Self>) -> Result<Action> {
        Ok(Action::await_change())
    }
}

/// The predicate that most controllers have; it counts what it is asked.
fn changed() -> Predicate {
    let changed = predicates::generation_changed();
    Predicate::new(move |delta| {
        if delta.cause == DeltaCause::Event {
            EVENTS.fetch_add(1, Ordering::Relaxed);
        }
        changed.passes(delta)
    })
}

impl Cache for Ours {
    async fn synced(&self) {
        if let Some((informer, _)) = &self.informer {
            return informer.synced().await;
        }
        let counted = if self.what == What::Twenty { &HEARD } else { &RECONCILES };
        while counted.load(Ordering::Relaxed) < self.objects {
            sleep(Duration::from_millis(5)).await;
        }
    }

    fn lists(&self) -> u64 {
        let status = self.informer.as_ref().map(|(informer, _)| informer.status());
        // One that has begun is not done.
        status.map_or(0, |status| status.lists - u64::from(!status.healthy))
    }

    async fn reads(&self) -> std::result::Result<Vec<f64>, Failure> {
        let alone = self.informer.as_ref();
        let (informer, transport) = alone.ok_or("reads are measured on an informer alone")?;
        reads::measure(informer, transport)
    }
}
