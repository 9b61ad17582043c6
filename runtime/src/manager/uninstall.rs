//! Uninstalling: nothing new is done, what is being deleted is cleaned up, and the operator's finalizers go.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use tokio::time::{Instant, sleep};

use super::builder::Manager;
use super::error::ManagerError;
use super::options::Options;
use crate::client::{ClientError, ListParams, Origin, Transport};
use crate::declaration::Declared;
use crate::diagnostics::{Leadership, Observer, Outcome, Phase, Report};
use crate::finalizer::Leftovers;
use crate::key::ObjectKey;
use crate::kind::Kind;
use crate::shutdown::Shutdown;

/// How often it is looked at what is left.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How to uninstall.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Uninstall {
    /// What becomes of objects.
    pub leftovers: Leftovers,
    /// How long clean-ups, and the wait for the Lease, may take. Default: 5 minutes.
    pub within: Duration,
}

impl Uninstall {
    /// With five minutes to do it.
    #[must_use]
    pub fn new(leftovers: Leftovers) -> Self {
        Self {
            leftovers,
            within: Duration::from_secs(300),
        }
    }
}

/// What an uninstall came to.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Uninstalled {
    /// Objects that no longer wait for the operator, or are gone.
    pub done: usize,
    /// Objects that still do, or linger for another reason.
    pub stuck: Vec<Stuck>,
    /// What kept it from beginning: another replica that leads, and what to do about it.
    pub waits_for: Option<String>,
}

/// An object that did not go, or still carries a finalizer of the operator's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Its kind.
    pub kind: Kind,
    /// The object.
    pub key: ObjectKey,
    /// Why, for people.
    pub reason: String,
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.kind.kind(), self.key, self.reason)
    }
}

impl Manager {
    /// Takes the operator out of the cluster: no object is reconciled any more, those being deleted are cleaned up, and
    /// the finalizers of the controllers, retired ones included, go from all others. What is still left after
    /// [`Uninstall::within`], or when `stop` is triggered, is reported. Doing it again goes on where it ended.
    ///
    /// Runnables, endpoints and webhooks are not started: take webhook configurations away first, or the server refuses
    /// writes that it can ask nobody about. With leader election it waits for the Lease, so that no running replica
    /// puts a finalizer back: scale those to zero first.
    ///
    /// The client needs the operator's own rights, and for [`Leftovers::Delete`] the right to delete the primary kinds,
    /// which the operator's own account does not have.
    ///
    /// # Errors
    ///
    /// What kept it from starting, or a kind that cannot be listed.
    ///
    /// # Cancel safety
    ///
    /// As [`Manager::run`]; trigger `stop` instead.
    pub async fn uninstall(
        mut self,
        client: kube::Client,
        mut options: Options,
        uninstall: Uninstall,
        stop: Shutdown,
    ) -> Result<Uninstalled, ManagerError> {
        self.check()?;
        options.leaving = Some(uninstall.leftovers);
        (options.metrics_addr, options.health_addr) = (None, None);
        self.runnables.clear();
        self.webhooks.clear();
        let witness = Arc::new(Witness::default());
        self.observers.push(Arc::clone(&witness) as Arc<dyn Observer>);
        let survey = Survey {
            transport: Transport::builder(client.clone(), self.env.clone())
                .operator(&self.name, &self.version)
                .build(),
            declared: self.declarations().into_iter().cloned().collect(),
            namespaces: options.namespaces.clone(),
            leftovers: uninstall.leftovers,
        };
        let before = survey.left().await?;
        if before.is_empty() {
            return Ok(Uninstalled::default());
        }
        let ended = Shutdown::new();
        let mut running = Box::pin(super::run::run(self, client, options, ended.clone()));
        let watching = watch(&survey, &stop, uninstall.within);
        let left = tokio::select! {
            biased;
            early = &mut running => {
                early?;
                survey.left().await
            }
            left = watching => {
                ended.trigger();
                running.await?;
                left
            }
        }?;
        Ok(witness.verdict(&before, left))
    }
}

/// Looks until nothing is left, or nobody wants to wait any longer.
async fn watch(survey: &Survey, stop: &Shutdown, within: Duration) -> Result<Vec<Left>, ManagerError> {
    let deadline = Instant::now() + within;
    loop {
        let left = survey.left().await;
        let over = stop.is_triggered() || Instant::now() >= deadline;
        match left {
            Ok(left) if left.is_empty() || over => return Ok(left),
            Err(error) if over => return Err(error),
            // What still runs goes on meanwhile, and an outage may end.
            _ => {}
        }
        tokio::select! {
            biased;
            () = stop.wait() => {}
            () = sleep(LOOK_EVERY) => {}
        }
    }
}

/// An object that has not gone, or carries a finalizer of the operator's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Left {
    kind: Kind,
    key: ObjectKey,
    /// Finalizers of others that keep it.
    others: Vec<String>,
    deleting: bool,
    /// Whether one of ours is there.
    ours: bool,
}

/// Tells what is left.
struct Survey {
    transport: Transport,
    declared: Vec<Declared>,
    namespaces: Vec<String>,
    leftovers: Leftovers,
}

/// As much of an object as the survey looks at.
#[derive(Deserialize)]
struct Seen {
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    finalizers: Vec<String>,
    deletion_timestamp: Option<String>,
}

impl Survey {
    /// What is left now, in order, each object once.
    async fn left(&self) -> Result<Vec<Left>, ManagerError> {
        let mut left = BTreeMap::new();
        for declared in &self.declared {
            let deleted = self.leftovers == Leftovers::Delete && declared.crd.is_some();
            if !deleted && declared.finalizer.is_none() && declared.retired_finalizers.is_empty() {
                continue;
            }
            for object in self.objects(&declared.primary).await? {
                let Some(found) = found(declared, object, deleted) else {
                    continue;
                };
                // Two controllers of one kind: where one still has a finalizer there, the object waits for us.
                let place = (found.kind.clone(), found.key.clone());
                let ours = left.get(&place).is_some_and(|before: &Left| before.ours);
                let ours = ours || found.ours;
                left.insert(place, Left { ours, ..found });
            }
        }
        Ok(left.into_values().collect())
    }

    async fn objects(&self, kind: &Kind) -> Result<Vec<Seen>, ClientError> {
        let origin = Origin::part("uninstall");
        let everywhere = self.namespaces.is_empty() || !kind.namespaced();
        let places: Vec<Option<&str>> = if everywhere {
            vec![None]
        } else {
            self.namespaces.iter().map(|namespace| Some(&**namespace)).collect()
        };
        let mut objects = Vec::new();
        for place in places {
            let params = ListParams {
                metadata_only: true,
                ..ListParams::default()
            };
            match self.transport.list_all(&origin, kind, place, params).await {
                Ok(items) => objects.extend(items.iter().filter_map(|item| serde_json::from_slice(item).ok())),
                // The definition is gone, and all objects with it.
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(objects)
    }
}

fn found(declared: &Declared, object: Seen, deleted: bool) -> Option<Left> {
    let Metadata {
        name,
        namespace,
        finalizers,
        deletion_timestamp,
    } = object.metadata;
    let is_ours = |finalizer: &String| {
        declared.finalizer.as_ref() == Some(finalizer) || declared.retired_finalizers.contains(finalizer)
    };
    let (ours, others): (Vec<String>, Vec<String>) = finalizers.into_iter().partition(is_ours);
    (deleted || !ours.is_empty()).then(|| Left {
        kind: declared.primary.clone(),
        key: ObjectKey::new(namespace, name),
        ours: !ours.is_empty(),
        others,
        deleting: deletion_timestamp.is_some(),
    })
}

/// Remembers why things are stuck.
#[derive(Default)]
struct Witness {
    failures: Mutex<BTreeMap<(Kind, ObjectKey), String>>,
    leader: Mutex<Option<String>>,
}

impl Observer for Witness {
    fn reconciled(&self, report: &Report) {
        let place = (report.kind.clone(), report.key.clone());
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        match &report.outcome {
            Outcome::Done if report.phase == Phase::Paused => {
                failures.insert(place, "it is paused: take the annotation off".to_owned());
            }
            Outcome::Done => {
                failures.remove(&place);
            }
            outcome => {
                failures.insert(place, outcome.to_string());
            }
        }
    }

    fn leadership(&self, leadership: &Leadership) {
        let other = match leadership {
            Leadership::Following(holder) => Some(holder.clone()),
            _ => None,
        };
        *self.leader.lock().unwrap_or_else(PoisonError::into_inner) = other;
    }
}

impl Witness {
    fn verdict(&self, before: &[Left], left: Vec<Left>) -> Uninstalled {
        let leader = self.leader.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let stuck: Vec<Stuck> = left
            .into_iter()
            .map(|left| {
                let failure = failures.get(&(left.kind.clone(), left.key.clone())).cloned();
                Stuck {
                    reason: failure.unwrap_or_else(|| why(&left)),
                    kind: left.kind,
                    key: left.key,
                }
            })
            .collect();
        Uninstalled {
            done: before.len().saturating_sub(stuck.len()),
            waits_for: leader.filter(|_| !stuck.is_empty()).map(|holder| {
                format!("`{holder}` holds the Lease: stop the operator first (`kubectl scale --replicas=0`)")
            }),
            stuck,
        }
    }
}

/// Why an object is left for which no run failed.
fn why(left: &Left) -> String {
    if left.ours {
        "the operator's finalizer is still there".to_owned()
    } else if left.others.is_empty() {
        let what = if left.deleting {
            "is being deleted"
        } else {
            "is still there"
        };
        what.to_owned()
    } else {
        format!("waits for finalizers of others: {}", left.others.join(", "))
    }
}
