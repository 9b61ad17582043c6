//! How much of what was written a request is shown.

use std::fmt;
use std::future::pending;
use std::sync::Arc;

use crate::http::intercept::{Delivery, WatchInterceptor};
use crate::http::log::EventRecord;
use crate::storage::Horizon;

/// What lies between the store and one list or watch. The default shows everything and holds up nothing.
#[derive(Clone, Default)]
pub(crate) struct Sight {
    /// Where the view ends.
    pub(crate) horizon: Option<Horizon>,
    interceptor: Option<Arc<dyn WatchInterceptor>>,
}

impl Sight {
    pub(crate) fn of_list(horizon: Option<Horizon>) -> Self {
        Self {
            horizon,
            interceptor: None,
        }
    }

    pub(crate) fn of_watch(interceptor: Arc<dyn WatchInterceptor>) -> Self {
        Self {
            horizon: Some(interceptor.horizon()),
            interceptor: Some(interceptor),
        }
    }

    /// What becomes of an event.
    pub(crate) fn delivery(&self, event: &EventRecord<'_>) -> Delivery {
        match &self.interceptor {
            Some(interceptor) => interceptor.event(event),
            None => Delivery::Pass,
        }
    }

    /// Whether the connection is broken.
    pub(crate) fn is_cut(&self) -> bool {
        self.horizon.as_ref().is_some_and(Horizon::is_cut)
    }

    /// Returns once more is shown than now, or the connection breaks.
    pub(crate) async fn changed(&self) {
        match &self.horizon {
            Some(horizon) => horizon.beyond(horizon.revision()).await,
            None => pending().await,
        }
    }
}

impl fmt::Debug for Sight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sight")
            .field("horizon", &self.horizon)
            .finish_non_exhaustive()
    }
}
