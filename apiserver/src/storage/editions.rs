use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::sync::OnceCell;

use super::stored::Stored;

type Cell = Arc<OnceCell<Arc<Stored>>>;

/// One version of an object as the other versions of its kind show it, once a webhook has converted it. Lives as long
/// as the version that is stored.
#[derive(Default)]
pub struct Editions(OnceLock<Box<Mutex<Vec<Edition>>>>);

struct Edition {
    /// The state of the definition that the conversion was made under.
    state: u64,
    version: String,
    cell: Cell,
}

impl Editions {
    /// The object in a version under a state of its definition: kept, or as `convert` makes it. Whoever asks while it
    /// is made waits for that.
    ///
    /// # Errors
    /// Those of `convert`, which are not kept.
    ///
    /// # Cancel safety
    /// Dropping the future lets the next one that asks convert the object.
    pub async fn get<E, F>(&self, state: u64, version: &str, convert: impl FnOnce() -> F) -> Result<Arc<Stored>, E>
    where
        F: Future<Output = Result<Arc<Stored>, E>>,
    {
        let cell = self.cell(state, version);
        cell.get_or_try_init(convert).await.cloned()
    }

    fn cell(&self, state: u64, version: &str) -> Cell {
        let editions = self.0.get_or_init(Box::default);
        let mut editions = editions.lock().unwrap_or_else(PoisonError::into_inner);
        editions.retain(|edition| edition.state >= state);
        let known = editions.iter().find(|e| e.state == state && e.version == version);
        if let Some(known) = known {
            return Arc::clone(&known.cell);
        }
        let cell = Cell::default();
        editions.push(Edition {
            state,
            version: version.to_owned(),
            cell: Arc::clone(&cell),
        });
        cell
    }
}

impl fmt::Debug for Editions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Editions").finish_non_exhaustive()
    }
}
