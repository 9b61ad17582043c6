//! What goes wrong by hand: the test says when.

use super::handle::FaultHandle;
use super::{Fault, OnRequest, who};
use crate::cluster::TestCluster;

#[allow(private_bounds, reason = "the two kinds of effects are all there are")]
impl TestCluster {
    /// Puts a fault into force from now on. Watches that are open are hit as well.
    ///
    /// # Panics
    ///
    /// When the fault contradicts itself, and when its resource is named by its kind, singular or short name.
    pub fn inject<E: super::effect::Effect>(&self, fault: Fault<E>) -> FaultHandle {
        self.check_plural(fault.rule.resource.as_deref());
        self.faults_in_force().inject(fault, self.server().store())
    }

    /// The faults in force, in the order of their injection: those of the builder first.
    #[must_use]
    pub fn faults(&self) -> Vec<FaultHandle> {
        self.faults_in_force().handles()
    }

    /// The API server dies and is back at once, with all that it had stored: every connection breaks, requests under
    /// way end where they stand, carried out or not, and its watch cache starts anew, so that a watch that goes on from
    /// before is answered 410. The controllers of the cluster, which are other processes, live on.
    pub async fn restart_server(&self) {
        self.story().fault("API server", "restarts");
        self.server().restart();
        // Those who noticed it act before the test goes on.
        tokio::task::yield_now().await;
    }

    /// The API server dies and stays away until the fault is healed: every connection breaks, and nobody but the test's
    /// own helpers can connect.
    pub async fn take_server_down(&self) -> FaultHandle {
        let down = self.inject(Fault::<OnRequest>::unreachable());
        self.restart_server().await;
        down
    }

    /// etcd compacts its history up to now: pages and watches from before answer 410. Watches that are open go on.
    pub fn compact(&self) {
        self.story().fault("etcd", "compacts its history");
        self.server().compact();
    }

    /// Breaks the connection of every watch that is open on a resource, by its plural; tells how many there were.
    pub fn cut_watches(&self, plural: &str) -> usize {
        self.check_plural(Some(plural));
        let replica = |request: &crate::RequestRecord| self.story().is_replica(who(request));
        let cut = self
            .faults_in_force()
            .cut_watches(|request| request.resource == plural && replica(request));
        self.story()
            .fault("network", &format!("breaks {cut} watches of {plural}"));
        cut
    }

    /// A plural that cannot be one is a mistake that would only show as a fault that never fires.
    fn check_plural(&self, plural: Option<&str>) {
        let Some(given) = plural else { return };
        let name = given.split_once('.').map_or(given, |(name, _)| name);
        let catalog = self.server().catalog();
        if catalog.iter().any(|resource| resource.plural == name) {
            return;
        }
        let meant = catalog.iter().find(|resource| {
            resource.kind == name || resource.singular == name || resource.short_names.iter().any(|short| short == name)
        });
        if let Some(resource) = meant {
            panic!(
                "a fault names its resource by the plural: write `{}` instead of `{given}`",
                resource.plural
            );
        }
    }
}
