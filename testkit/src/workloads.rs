//! What the simulated pods of a workload do: become ready late or never, fail, crash, finish.

use std::fmt;
use std::time::Duration;

use kubewright::dev::apiserver::simulate::kubelet::Scripts;

use crate::cluster::TestCluster;

/// Directs the simulated pods of a cluster; see [`TestCluster::workloads`].
///
/// A workload is named `namespace/name`, or `name` in `default`: a Deployment, StatefulSet, DaemonSet, ReplicaSet, Job,
/// CronJob, or a single Pod, which goes before its owners. What it is told holds for the pods that run, within some tens
/// of milliseconds, and for those to come, until it is told something else. It may be told before it exists.
///
/// Needs [`crate::Simulate::Full`], which is the default.
///
/// ```
/// # use kubewright::k8s_openapi::api::apps::v1::Deployment;
/// # use kubewright_testkit::TestCluster;
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// # const WEB: &str = "
/// # apiVersion: apps/v1
/// # kind: Deployment
/// # metadata: { name: web }
/// # spec:
/// #   selector: { matchLabels: { app: web } }
/// #   template: { metadata: { labels: { app: web } }, spec: { containers: [{ name: web, image: nginx }] } }
/// # ";
/// let ready = |d: &Deployment| d.status.as_ref().and_then(|s| s.ready_replicas).unwrap_or(0);
/// let cluster = TestCluster::start();
/// cluster.workloads().hold("default/web");
/// cluster.apply_yaml(WEB).await;
/// cluster.wait_for::<Deployment>("web", |d| d.status.as_ref().is_some_and(|s| s.replicas == Some(1))).await;
/// assert_eq!(ready(&cluster.get::<Deployment>("web").await.expect("applied")), 0);
/// cluster.workloads().release("default/web");
/// cluster.wait_for::<Deployment>("web", |d| ready(d) == 1).await;
/// # }
/// ```
#[derive(Clone)]
pub struct Workloads(Scripts);

impl TestCluster {
    /// Directs the simulated pods.
    #[must_use]
    pub fn workloads(&self) -> Workloads {
        Workloads(self.server().scripts().clone())
    }
}

impl Workloads {
    /// Pods run and are not ready; those of a Job run on. Pods that are ready already become unready.
    pub fn hold(&self, workload: &str) {
        self.tell(
            workload,
            &[("ready", "never"), ("finish-after", "never"), ("fail", "no")],
        );
    }

    /// Pods become ready this long after their start.
    pub fn ready_after(&self, workload: &str, delay: Duration) {
        self.tell(workload, &[("ready", &milliseconds(delay)), ("fail", "no")]);
    }

    /// Containers exit with code 1 and this reason (`Error`, `OOMKilled`, …) soon after their start, and those that run
    /// exit now. Pods of a Job fail by it; others are started again, with back-off, and exit again.
    pub fn fail(&self, workload: &str, reason: &str) {
        let settings = [
            ("finish-after", "1ms"),
            ("exit-code", "1"),
            ("exit-reason", reason),
            ("fail", "no"),
        ];
        self.tell(workload, &settings);
    }

    /// Containers wait in `CrashLoopBackOff` and stay there.
    pub fn crash_loop(&self, workload: &str) {
        self.tell(workload, &[("fail", "crash")]);
    }

    /// The image of pods to come cannot be pulled. Pods that run keep running.
    pub fn fail_to_pull(&self, workload: &str) {
        self.tell(workload, &[("fail", "image")]);
    }

    /// Containers exit with code 0 now: the pods of a Job succeed.
    pub fn finish(&self, workload: &str) {
        self.tell(workload, &[("finish-after", "1ms"), ("exit-code", "0"), ("fail", "no")]);
    }

    /// Pods do again what their annotations say, which by default is to become ready at once, or for a Job to finish.
    pub fn release(&self, workload: &str) {
        let (namespace, name) = parts(workload);
        self.0.clear(namespace, name);
    }

    fn tell(&self, workload: &str, settings: &[(&'static str, &str)]) {
        let (namespace, name) = parts(workload);
        let settings = settings.iter().map(|(name, value)| (*name, (*value).to_owned()));
        self.0.set(namespace, name, settings);
    }
}

impl fmt::Debug for Workloads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Workloads").field(&self.0).finish()
    }
}

fn parts(workload: &str) -> (&str, &str) {
    workload.split_once('/').unwrap_or(("default", workload))
}

fn milliseconds(delay: Duration) -> String {
    format!("{}ms", delay.as_millis())
}
