//! A kind in two versions. [`v1`] is the hub: it is stored, and the controller works with it; [`v1alpha1`] is served for
//! those who still write it. Objects that were stored before are rewritten.

pub mod v1;
pub mod v1alpha1;

use kubewright::prelude::*;
use kubewright::webhook::{keep, take_kept};

/// Where an object of the first version keeps what that has no field for.
const EVICTION: &str = "demo.dev/eviction";

impl From<v1alpha1::Cache> for v1::Cache {
    fn from(old: v1alpha1::Cache) -> Self {
        let mut metadata = old.metadata;
        let eviction = take_kept(&mut metadata, EVICTION).unwrap_or_default();
        let v1alpha1::CacheSpec { size_mb, replicas } = old.spec;
        let memory = v1::Memory { size_mb, eviction };
        Self {
            metadata,
            spec: v1::CacheSpec { memory, replicas },
        }
    }
}

impl From<v1::Cache> for v1alpha1::Cache {
    fn from(new: v1::Cache) -> Self {
        let mut metadata = new.metadata;
        let v1::CacheSpec { memory, replicas } = new.spec;
        if memory.eviction != v1::Eviction::default() {
            keep(&mut metadata, EVICTION, &memory.eviction);
        }
        Self {
            metadata,
            spec: v1alpha1::CacheSpec {
                size_mb: memory.size_mb,
                replicas,
            },
        }
    }
}

/// Serves both versions.
#[webhooks(for = v1::Cache, convert = v1alpha1::Cache)]
#[derive(Clone, Copy, Debug)]
pub struct CacheVersions;

/// The controller of caches, which knows one version.
#[controller(for = v1::Cache, owns = ConfigMap)]
#[derive(Clone, Copy, Debug)]
pub struct CacheController;

impl Reconciler for CacheController {
    async fn reconcile(&self, cache: Arc<v1::Cache>, cx: &Context<Self>) -> Result<Action> {
        let memory = &cache.spec.memory;
        let settings = format!(
            "maxmemory {}mb\nmaxmemory-policy {:?}\n",
            memory.size_mb, memory.eviction
        );
        let mut map = ConfigMap::default();
        map.metadata.name.clone_from(&cache.metadata.name);
        map.data = Some([("cache.conf".to_owned(), settings)].into());
        cx.apply(map).await?;
        Ok(Action::await_change())
    }
}

/// The operator, ready for `run_cli` or for a test.
#[must_use]
pub fn manager() -> Manager {
    Manager::new("versions")
        .controller(CacheController)
        .webhook(CacheVersions)
        .migrate_storage::<v1::Cache>()
}
