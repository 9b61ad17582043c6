//! Who writes the story: the server for requests and watch events, each replica for what goes on inside it.

use std::sync::Arc;

use kubewright::dev::apiserver::http::log::{EventRecord, Observer as ServerObserver, WriteRecord};
use kubewright::diagnostics::{Leadership, Observer, Report};
use tokio::time::Instant;

use super::entry::{Effect, Entry, EventSeen, RequestMade, What};
use super::{Role, Story};
use crate::RequestRecord;

impl Story {
    /// An observer that writes down what one replica does.
    pub(crate) fn of_replica(&self, replica: &str) -> Arc<dyn Observer> {
        self.introduce(replica, Role::Replica);
        Arc::new(Scribe {
            story: self.clone(),
            replica: replica.into(),
        })
    }

    /// An observer that writes down what the server answers.
    pub(crate) fn of_server(&self) -> Arc<dyn ServerObserver> {
        Arc::new(self.clone())
    }
}

/// Whether a request is one that a converged operator does not send.
pub(super) fn is_busy(request: &RequestMade) -> bool {
    request.verb != "watch" && request.resource != "leases"
}

struct Scribe {
    story: Story,
    replica: Arc<str>,
}

impl Observer for Scribe {
    fn reconciled(&self, report: &Report) {
        self.story
            .push(&self.replica, What::Reconcile(Arc::new(report.clone())));
    }

    fn leadership(&self, leadership: &Leadership) {
        self.story.push(&self.replica, What::Leadership(leadership.clone()));
    }

    fn started(&self, controller: &str) {
        self.story.push(&self.replica, What::Started(controller.into()));
    }
}

impl ServerObserver for Story {
    fn wrote(&self, write: &WriteRecord) {
        if write.request == 0 {
            // The server's own controllers: what they do is seen by the watch events that follow.
            let mut state = self.state();
            if !state.controllers.contains(&write.agent) {
                state.controllers.insert(write.agent.clone());
            }
            return;
        }
        let effect = Effect {
            revision: write.revision,
            old: write.old.clone(),
            new: write.new.clone(),
        };
        let mut state = self.state();
        match state.effects.iter_mut().find(|(id, _)| *id == write.request) {
            Some((_, effects)) => effects.push(effect),
            None => state.effects.push((write.request, vec![effect])),
        }
    }

    fn answered(&self, record: &RequestRecord) {
        let at = self.0.env.now();
        let mut state = self.state();
        let effects = match state.effects.iter().position(|(id, _)| *id == record.id) {
            Some(place) => state.effects.swap_remove(place).1,
            None => Vec::new(),
        };
        let mut record = record.clone();
        if record.name.is_empty()
            && let [effect] = &*effects
            && let Some(object) = effect.new.as_ref().or(effect.old.as_ref())
        {
            record.name = object.key.name.to_string();
        }
        let replica = match &record.caller {
            Some(caller) => Arc::clone(caller.name()),
            None => state.name(record.user.rsplit(':').next().unwrap_or_default()),
        };
        let role = state.role(&replica);
        let request = Arc::new(RequestMade { record, effects });
        state.requests.push(Arc::clone(&request));
        if role == Role::Test && !request.is_write() {
            return;
        }
        if role == Role::Replica && is_busy(&request) {
            state.busy = Some(Instant::now());
        }
        let what = What::Request(request);
        state.add(Entry { at, replica, what });
    }

    fn delivered(&self, event: &EventRecord<'_>) {
        let mut state = self.state();
        let replica = match event.caller {
            Some(caller) => Arc::clone(caller.name()),
            None => state.name(event.user.rsplit(':').next().unwrap_or_default()),
        };
        if state.role(&replica) == Role::Test {
            return;
        }
        let seen = EventSeen {
            kind: event.kind,
            resource: event.resource.plural.as_str().into(),
            key: event.key.map(|key| (Arc::clone(&key.namespace), Arc::clone(&key.name))),
            revision: event.revision,
        };
        let (at, what) = (self.0.env.now(), What::Event(Arc::new(seen)));
        state.add(Entry { at, replica, what });
    }
}
