//! Brings each directory in line with its object, and removes it before the object goes.

use kubewright::conditions::Conditions;
use kubewright::events::EventType;
use kubewright::prelude::*;

use crate::store::{Place, Store, StoreError};
use crate::{Directory, DirectoryStatus};

/// The controller of Directories.
#[controller(for = Directory, finalizer = "demo.dev/directory")]
#[derive(Clone, Debug)]
pub struct DirectoryController {
    store: Store,
}

impl DirectoryController {
    /// A controller whose directories lie in `store`.
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { store }
    }
}

impl Reconciler for DirectoryController {
    async fn reconcile(&self, directory: Arc<Directory>, cx: &Context<Self>) -> Result<Action> {
        let place = place(&directory);
        match self.store.write(&place, &directory.spec.files) {
            Ok(path) => {
                let path = path.display().to_string();
                cx.apply_status(status(&directory, cx, Ok(path))).await?;
                Ok(Action::await_change())
            }
            // A wrong spec or a stranger's directory: only a change of the object helps, so the disk is left alone.
            Err(error @ (StoreError::Name(_) | StoreError::Foreign(_))) => {
                cx.event(EventType::Warning, "NotWritten", error.to_string());
                cx.apply_status(status(&directory, cx, Err(&error))).await?;
                Err(Error::terminal(error))
            }
            // A full or read-only disk may mend: tried again with backoff.
            Err(error) => Err(error.into()),
        }
    }
}

impl Cleanup for DirectoryController {
    async fn cleanup(&self, directory: Arc<Directory>, _: &Context<Self>) -> Result<Action> {
        self.store.remove(&place(&directory))?;
        Ok(Action::await_change())
    }
}

fn place(directory: &Directory) -> Place {
    Place {
        namespace: directory.namespace().unwrap_or_default(),
        name: directory.name_any(),
        uid: directory.uid().unwrap_or_default(),
    }
}

fn status(
    directory: &Directory,
    cx: &Context<DirectoryController>,
    written: std::result::Result<String, &StoreError>,
) -> DirectoryStatus {
    let before = directory.status.as_ref().map(|s| &*s.conditions).unwrap_or_default();
    let conditions = Conditions::new(before, directory.metadata.generation, cx.now());
    match written {
        Ok(path) => DirectoryStatus {
            path: Some(path),
            files: i64::try_from(directory.spec.files.len()).unwrap_or(i64::MAX),
            conditions: conditions.with("Ready", true, "Written", "").build(),
        },
        Err(error) => DirectoryStatus {
            conditions: conditions.with("Ready", false, "NotWritten", error.to_string()).build(),
            ..DirectoryStatus::default()
        },
    }
}
