//! What workloads are told to do from outside, beside the annotations of their pods.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::script::Script;
use crate::controllers::object::Key;

/// Scripts by workload: what stands here for a pod, its owner or its owner's owner goes before the pod's own
/// annotations. Clones share them.
#[derive(Clone, Default)]
pub struct Scripts(Arc<Inner>);

#[derive(Default)]
struct Inner {
    settings: Mutex<BTreeMap<Key, Settings>>,
    changed: Notify,
}

type Settings = BTreeMap<&'static str, String>;

impl Scripts {
    /// Tells the pods of a workload what to do, those that run and those to come. `settings` are names and values as
    /// the annotations `simulate.kubewright.dev/…` have them; they replace what the workload was told before.
    pub fn set(&self, namespace: &str, name: &str, settings: impl IntoIterator<Item = (&'static str, String)>) {
        self.lock()
            .insert(Key::new(namespace, name), settings.into_iter().collect());
        self.0.changed.notify_one();
    }

    /// Lets the pods of a workload go by their annotations again.
    pub fn clear(&self, namespace: &str, name: &str) {
        self.lock().remove(&Key::new(namespace, name));
        self.0.changed.notify_one();
    }

    /// Waits until something was told since the last call.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub(super) async fn changed(&self) {
        self.0.changed.notified().await;
    }

    /// Overrides a pod's script by what its workload was told; `chain` is the pod and its owners, the pod first.
    pub(super) fn direct(&self, script: &mut Script, chain: &[Key]) {
        let settings = self.lock();
        // What is nearer to the pod goes before.
        for (name, value) in chain.iter().rev().filter_map(|key| settings.get(key)).flatten() {
            script.tell(name, value);
        }
    }

    /// Whether nothing was told to anybody.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Settings>> {
        self.0.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Scripts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Scripts").field(&*self.lock()).finish()
    }
}
