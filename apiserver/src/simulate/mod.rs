//! Simulated workloads: the controllers that turn Deployments, Jobs and the like into pods, and a node that runs them.
//!
//! The controllers go through the states that a real controller manager shows. With [`Simulate::Full`] a scheduler and a
//! kubelet are played too, so that pods get a node, an address and become ready without anything running. What a pod
//! does can be scripted by annotations on it (usually on the pod template); see [`kubelet`].

use crate::controllers::Controllers;
use crate::controllers::kinds::{self, Kind};

pub mod autoscaler;
pub mod cronjob;
pub mod daemonset;
pub mod deployment;
pub mod disruption;
pub mod hash;
pub mod job;
pub mod kubelet;
pub mod nodes;
pub mod pods;
pub mod replicaset;
pub mod scheduler;
pub mod statefulset;
pub mod volumes;

mod claim;
mod revisions;

pub use crate::server::Simulate;

/// Adds the controllers that `simulate` asks for.
pub fn add(controllers: &mut Controllers, simulate: Simulate) {
    if simulate == Simulate::Off {
        return;
    }
    controllers.add(deployment::Deployments::new(controllers.cx("deployment-controller")));
    controllers.add(replicaset::ReplicaSets::new(controllers.cx("replicaset-controller")));
    controllers.add(statefulset::StatefulSets::new(controllers.cx("statefulset-controller")));
    controllers.add(daemonset::DaemonSets::new(controllers.cx("daemonset-controller")));
    controllers.add(job::Jobs::new(controllers.cx("job-controller")));
    controllers.add(cronjob::CronJobs::new(controllers.cx("cronjob-controller")));
    controllers.add(disruption::Budgets::new(controllers.cx("controllermanager")));
    controllers.add(autoscaler::Autoscalers::new(
        controllers.cx("horizontal-pod-autoscaler"),
    ));
    controllers.add(volumes::Claims::new(
        controllers.cx("persistentvolume-controller"),
        simulate,
    ));
    if simulate == Simulate::Full {
        controllers.add(scheduler::Scheduler::new(controllers.cx("default-scheduler")));
        controllers.add(kubelet::Kubelet::new(controllers.cx("kubelet")));
    }
}

/// The kinds that the simulation keeps in memory.
#[must_use]
pub fn cached(simulate: Simulate) -> Vec<&'static Kind> {
    if simulate == Simulate::Off {
        return Vec::new();
    }
    vec![
        &kinds::PODS,
        &kinds::NODES,
        &kinds::DEPLOYMENTS,
        &kinds::REPLICA_SETS,
        &kinds::STATEFUL_SETS,
        &kinds::DAEMON_SETS,
        &kinds::CONTROLLER_REVISIONS,
        &kinds::JOBS,
        &kinds::CRON_JOBS,
        &kinds::VOLUME_CLAIMS,
        &kinds::DISRUPTION_BUDGETS,
        &kinds::AUTOSCALERS,
        &kinds::RESOURCE_QUOTAS,
    ]
}
