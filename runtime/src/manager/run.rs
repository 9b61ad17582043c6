//! The life of a manager: start in order, work, stop in reverse.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::builder::Manager;
use super::error::ManagerError;
use super::group::Group;
use super::listen::listen;
use super::options::Options;
use super::publish;
use super::runnable::{RunContext, Runnable};
use super::webhooks::{Parts, Webhooks};
use crate::cache::{Informer, Informers, KeepManagers};
use crate::client::{DeleteCap, Origin, Transport, WriteFence};
use crate::controller::{AnyController, CatchUps, Services, planned};
use crate::events::{Publisher, Recorder};
use crate::leader::LeaderElection;
use crate::leader::{Elector, LeaderStatus, Lost, ServerLease};
use crate::pause::PausedKinds;
use crate::shutdown::Shutdown;

/// How long the last events may take to be sent.
const LAST_EVENTS_WITHIN: Duration = Duration::from_millis(500);
/// How long informers and servers may take to end.
const REST_WITHIN: Duration = Duration::from_millis(300);

/// Runs a checked manager.
pub(super) async fn run(
    manager: Manager,
    client: kube::Client,
    options: Options,
    stop: Shutdown,
) -> Result<(), ManagerError> {
    options.check()?;
    let mut life = Life::begin(manager, client, options).await?;
    let end = life.work(&stop).await;
    match &end {
        End::Asked => tracing::info!("stopping"),
        End::Lost(lost) => tracing::error!("leadership was lost: {lost}"),
        End::Failed(error) => tracing::error!(%error, "stopping"),
    }
    let lease = life.lease();
    life.finish(&end).await;
    match end {
        End::Asked => Ok(()),
        End::Failed(error) => Err(error),
        End::Lost(lost) => Err(ManagerError::LeadershipLost {
            lease,
            reason: lost.to_string(),
        }),
    }
}

/// Why a manager ends.
enum End {
    Asked,
    Lost(Lost),
    Failed(ManagerError),
}

/// A manager that has started.
struct Life {
    options: Options,
    services: Services,
    /// Servers, informers, events: what the rest depends on.
    base: Group,
    webhooks: Option<Webhooks>,
    publisher: Group,
    /// What needs no leader.
    always: Group,
    /// What does.
    leading: Group,
    waiting: Members,
    /// Caches that are filled for the time when this replica leads.
    warm: Vec<Informer>,
    elector: Option<Elector>,
}

/// Controllers and runnables that start together.
#[derive(Default)]
struct Members {
    controllers: Vec<Box<dyn AnyController>>,
    runnables: Vec<Arc<dyn Runnable>>,
    /// The way to the server for those that need the leader: behind the fence.
    transport: Option<Transport>,
}

impl Life {
    /// Everything up to the election.
    async fn begin(manager: Manager, client: kube::Client, options: Options) -> Result<Self, ManagerError> {
        let Manager {
            name: operator,
            version,
            env,
            metrics,
            health,
            controllers,
            runnables,
            observers,
            webhooks,
            ..
        } = manager;
        let mut transport = Transport::builder(client, env.clone())
            .operator(&operator, &version)
            .rate(options.client_rate)
            .recorder(publish::request_counter(&metrics, "kubernetes"));
        if let Some(most) = options.deletes_per_minute {
            let cap = DeleteCap::new(most);
            publish::deletes(&cap, &metrics);
            transport = transport.deletes(cap);
        }
        let transport = transport.build();
        let servers = listen(&options, &health, &metrics, &transport).await?;
        let parts = Parts {
            operator: &operator,
            transport: &transport,
            env: &env,
            metrics: &metrics,
            health: &health,
        };
        let webhooks = Webhooks::open(&webhooks, options.webhooks.as_ref(), &parts).await?;
        let managers: Vec<String> = controllers
            .iter()
            .flat_map(|controller| {
                let declared = controller.declared();
                declared
                    .field_manager
                    .iter()
                    .chain(&declared.previous_managers)
                    .cloned()
            })
            .collect();
        let keep = KeepManagers::of(&operator, &managers);
        let informers = Informers::with_compression(transport.clone(), env.clone(), keep, options.cache_compression);
        for controller in &controllers {
            informers.plan(planned(controller.declared(), &options.namespaces));
        }
        publish::informers(&informers, &metrics, &health, &env);
        let (recorder, publisher) = Recorder::pair(operator.clone(), metrics.clone());
        let mut services = Services {
            operator,
            transport: transport.clone(),
            informers,
            env: env.clone(),
            recorder,
            metrics,
            health,
            observers,
            namespaces: options.namespaces.clone(),
            catch_ups: CatchUps::default(),
            paused: PausedKinds::default(),
            workers: options.workers.clone(),
            leaving: options.leaving,
        };
        let mut behind_fence = transport;
        let elector = options.leader_election.as_ref().map(|election| {
            let (elector, fenced, paused) = candidate(election, &services);
            behind_fence = fenced;
            services.paused = paused;
            elector
        });
        let mut base = Group::new(&env);
        for server in servers {
            let stop = base.stop.clone();
            base.spawn("an HTTP server", "http", async move {
                server.run(async move { stop.wait().await }).await;
                Ok(())
            });
        }
        let (informers, stop) = (services.informers.clone(), base.stop.clone());
        base.spawn("the informers", "informers", async move {
            informers.run(stop.wait()).await;
            Ok(())
        });
        let mut life = Self {
            publisher: publish_events(publisher, &services, &behind_fence, &options),
            always: Group::new(&env),
            leading: Group::new(&env),
            base,
            webhooks,
            services,
            options,
            waiting: Members::default(),
            warm: Vec::new(),
            elector,
        };
        let (needs, needs_not) = split(controllers, runnables, behind_fence);
        start(&mut life.always, needs_not, &life.services);
        if life.elector.is_some() {
            let warm = needs
                .controllers
                .iter()
                .filter(|controller| controller.declared().warmup);
            life.warm = warm.flat_map(|controller| controller.warm(&life.services)).collect();
        }
        life.waiting = needs;
        Ok(life)
    }

    /// Leads, or waits to, until something ends it.
    async fn work(&mut self, stop: &Shutdown) -> End {
        if let Some(elector) = &mut self.elector {
            tokio::select! {
                biased;
                () = stop.wait() => return End::Asked,
                error = self.base.failed() => return End::Failed(error),
                error = failed(self.webhooks.as_mut()) => return End::Failed(error),
                error = self.always.failed() => return End::Failed(error),
                () = elector.acquire() => {}
            }
            self.services.catch_ups = CatchUps::of(&self.services.informers);
        }
        start(&mut self.leading, std::mem::take(&mut self.waiting), &self.services);
        // The controllers hold them now.
        self.warm.clear();
        self.services.catch_ups = CatchUps::default();
        tokio::select! {
            biased;
            () = stop.wait() => End::Asked,
            error = self.base.failed() => End::Failed(error),
            error = failed(self.webhooks.as_mut()) => End::Failed(error),
            error = self.always.failed() => End::Failed(error),
            error = self.leading.failed() => End::Failed(error),
            lost = hold(self.elector.as_mut()) => End::Lost(lost),
        }
    }

    /// Stops in reverse.
    async fn finish(self, end: &End) {
        let Self {
            options,
            services,
            mut base,
            webhooks,
            mut publisher,
            mut always,
            mut leading,
            mut elector,
            ..
        } = self;
        let within = options.stop_within;
        let stop_leading = async {
            if matches!(end, End::Lost(_)) {
                // Nothing that it does can be written any more.
                leading.drop_work().await;
                return;
            }
            let lost = tokio::select! {
                biased;
                _ = leading.finish(within) => None,
                lost = hold(elector.as_mut()) => Some(lost),
            };
            if let Some(lost) = lost {
                tracing::error!("leadership was lost while stopping: {lost}");
                leading.drop_work().await;
            }
        };
        let drained = async {
            if let Some(webhooks) = &webhooks {
                webhooks.drained().await;
            }
        };
        tokio::join!(stop_leading, always.finish(within), drained);
        drop((leading, always));
        // The recorders are gone with the services, so the publisher ends when it has sent what waits.
        drop(services);
        if timeout(LAST_EVENTS_WITHIN, publisher.finish(LAST_EVENTS_WITHIN))
            .await
            .is_err()
        {
            tracing::debug!("the last events were not sent in time");
        }
        if let Some(elector) = &mut elector
            && !matches!(end, End::Lost(_))
        {
            elector.release().await;
        }
        if let Some(webhooks) = webhooks {
            webhooks.close().await;
        }
        base.stop.trigger();
        let _ = timeout(REST_WITHIN, base.finish(REST_WITHIN)).await;
    }

    fn lease(&self) -> String {
        let election = self.options.leader_election.as_ref();
        election.map_or_else(String::new, LeaderElection::lease_name)
    }
}

/// The elector of this replica, the way to the server for those that need the leader, and the kinds that the Lease pauses.
fn candidate(election: &LeaderElection, services: &Services) -> (Elector, Transport, PausedKinds) {
    let fence = WriteFence::closed(services.env.clone());
    publish::fence(&fence, &services.metrics);
    let status = LeaderStatus::new(
        election.lease_name(),
        election.identity.clone(),
        services.metrics.clone(),
        services.observers.clone(),
    );
    let shown = status.clone();
    services.health.section("leader", move || shown.to_json());
    let lease = ServerLease::new(
        services.transport.clone(),
        &election.namespace,
        &election.lease,
        services.operator.clone(),
    );
    let fenced = services.transport.fenced(fence.clone());
    let paused = status.paused().clone();
    let elector = Elector::new(lease, services.env.clone(), election.clone(), fence, status);
    (elector, fenced, paused)
}

fn publish_events(publisher: Publisher, services: &Services, behind_fence: &Transport, options: &Options) -> Group {
    let mut group = Group::new(&services.env);
    let election = options.leader_election.as_ref();
    let instance = election.map_or_else(|| services.operator.clone(), |election| election.identity.clone());
    let publishing = publisher.run(
        services.transport.clone(),
        behind_fence.clone(),
        services.env.clone(),
        instance,
        services.operator.clone(),
    );
    group.spawn("the event publisher", "events", async move {
        publishing.await;
        Ok(())
    });
    group
}

/// Those that need the leader, and those that do not.
fn split(
    controllers: Vec<Box<dyn AnyController>>,
    runnables: Vec<Arc<dyn Runnable>>,
    behind_fence: Transport,
) -> (Members, Members) {
    let mut needs = Members {
        transport: Some(behind_fence),
        ..Members::default()
    };
    let mut needs_not = Members::default();
    for controller in controllers {
        let needs_leader = controller.declared().needs_leader;
        let members = if needs_leader { &mut needs } else { &mut needs_not };
        members.controllers.push(controller);
    }
    for runnable in runnables {
        let members = if runnable.needs_leader() {
            &mut needs
        } else {
            &mut needs_not
        };
        members.runnables.push(runnable);
    }
    (needs, needs_not)
}

fn start(group: &mut Group, members: Members, services: &Services) {
    let mut services = services.clone();
    if let Some(transport) = members.transport {
        services.transport = transport;
    }
    for controller in members.controllers {
        let running = controller.prepare(&services);
        let (stop, abort) = (group.stop.clone(), group.abort.clone());
        group.spawn(format!("controller `{}`", running.name), "controller", async move {
            (running.run)(stop, abort).await;
            Ok(())
        });
    }
    for runnable in members.runnables {
        let name = runnable.name().to_owned();
        let context = RunContext {
            client: services.transport.client(&Origin::part(&name)),
            env: services.env.clone(),
            stop: group.stop.clone(),
        };
        let abort = group.abort.clone();
        group.spawn(format!("runnable `{name}`"), "runnable", async move {
            let ran = tokio::select! {
                biased;
                () = abort.wait() => return Ok(()),
                ran = runnable.run(context) => ran,
            };
            ran.map_err(|error| ManagerError::Runnable {
                name,
                error: error.to_string(),
            })
        });
    }
}

/// Returns when a part of the webhooks failed; never where there are none.
async fn failed(webhooks: Option<&mut Webhooks>) -> ManagerError {
    match webhooks {
        Some(webhooks) => webhooks.failed().await,
        None => std::future::pending().await,
    }
}

/// Holds the Lease until it is lost; for ever where there is no election.
async fn hold(elector: Option<&mut Elector>) -> Lost {
    match elector {
        Some(elector) => elector.hold().await,
        None => std::future::pending().await,
    }
}
