//! What was: as the history has it, and as far as a horizon shows it.

use std::sync::{Arc, Weak};

use super::history::Expired;
use super::horizon::{self, Horizon};
use super::hub::{Interest, Overflow, Subscription};
use super::state::{State, Store, View};

impl Store {
    /// The objects of a resource as they were at `revision`.
    ///
    /// # Errors
    /// When the history does not reach back that far.
    pub fn view_at(&self, resource: &str, namespace: Option<&str>, revision: u64) -> Result<View, Expired> {
        let state = self.0.lock();
        state.history.check_view(revision)?;
        Ok(state.past(resource, namespace, revision))
    }

    /// The objects of a resource as far as a horizon shows them.
    ///
    /// # Errors
    /// When the history does not reach back that far: the horizon came after the revision that it shows was forgotten.
    pub fn view_within(&self, resource: &str, namespace: Option<&str>, horizon: &Horizon) -> Result<View, Expired> {
        self.0.lock().within(resource, namespace, horizon)
    }

    /// As [`Store::view_and_subscribe`], as far as a horizon shows it: the changes after the view include those that
    /// it does not show yet.
    ///
    /// # Errors
    /// As [`Store::view_within`].
    pub fn view_within_and_subscribe(
        &self,
        resource: &str,
        namespace: Option<&str>,
        horizon: &Horizon,
        interest: Interest,
        overflow: Overflow,
    ) -> Result<(View, Subscription), Expired> {
        let mut state = self.0.lock();
        let view = state.within(resource, namespace, horizon)?;
        let backlog = state.history.since(view.revision, |object| interest.covers(object));
        let queue = state.hub.add(interest, overflow, backlog);
        Ok((view, Subscription::new(queue, Arc::downgrade(&self.0))))
    }

    /// Keeps what lies behind a horizon for as long as the horizon lives.
    pub fn keep_for(&self, horizon: &Horizon) {
        self.0.lock().horizons.push(Arc::downgrade(horizon.inner()));
    }

    /// Follows the changes after `from` as a client's watch does: not from before the watches were last restarted, and
    /// under a horizon also from where the history is kept for that alone.
    ///
    /// # Errors
    /// When there is nothing to go on from.
    pub fn follow(
        &self,
        interest: Interest,
        from: u64,
        horizon: Option<&Horizon>,
        overflow: Overflow,
    ) -> Result<Subscription, Expired> {
        let mut state = self.0.lock();
        let (asked, oldest) = (from, state.watchable);
        if asked < oldest {
            return Err(Expired { asked, oldest });
        }
        match horizon {
            Some(_) => state.history.check_kept(from)?,
            None => state.history.check(from)?,
        }
        let backlog = state.history.since(from, |object| interest.covers(object));
        let queue = state.hub.add(interest, overflow, backlog);
        Ok(Subscription::new(queue, Arc::downgrade(&self.0)))
    }

    /// Forgets what watches could go on from, as a watch cache does that starts anew: those from before now answer
    /// "expired". Lists of the past and their pages stay.
    pub fn restart_watches(&self) {
        let mut state = self.0.lock();
        state.watchable = state.revision;
    }
}

impl State {
    fn within(&self, resource: &str, namespace: Option<&str>, horizon: &Horizon) -> Result<View, Expired> {
        let revision = horizon.revision();
        if revision >= self.revision {
            let objects = self.present(resource, namespace);
            return Ok(View {
                revision: self.revision,
                objects,
            });
        }
        self.history.check_kept(revision)?;
        Ok(self.past(resource, namespace, revision))
    }

    /// The objects as they were at a revision that the history reaches back to.
    fn past(&self, resource: &str, namespace: Option<&str>, revision: u64) -> View {
        let then = self.history.undo(revision, resource);
        let objects = self.present(resource, namespace);
        if then.is_empty() {
            return View { revision, objects };
        }
        let unchanged = objects
            .into_iter()
            .filter(|object| !then.contains_key(&(Arc::clone(&object.key.namespace), Arc::clone(&object.key.name))));
        let undone = then
            .values()
            .flatten()
            .filter(|object| namespace.is_none_or(|n| *object.key.namespace == *n));
        let mut objects: Vec<_> = unchanged.chain(undone.cloned()).collect();
        objects.sort_by(|a, b| a.key.cmp(&b.key));
        View { revision, objects }
    }
}

/// The oldest revision that a horizon shows; those that nobody holds are forgotten.
pub(super) fn needed(horizons: &mut Vec<Weak<horizon::Inner>>) -> u64 {
    let mut oldest = u64::MAX;
    horizons.retain(|horizon| match horizon.upgrade() {
        Some(horizon) => {
            oldest = oldest.min(horizon.revision());
            true
        }
        None => false,
    });
    oldest
}
