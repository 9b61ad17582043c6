//! Faults: what goes wrong between an operator and its cluster, by rule or by hand.
//!
//! A [`Fault`] says what goes wrong, and for which requests or watch events; [`TestCluster::inject`] puts it into force
//! and answers a handle that counts how often it fired and ends it. Faults act in the server, behind the client's real
//! code, and each time that one fires is a line of the story.
//!
//! [`TestCluster::inject`]: crate::TestCluster::inject

mod active;
mod by_hand;
mod definition;
mod director;
mod effect;
mod handle;
mod rights;
mod rule;
mod view;

use std::fmt;
use std::time::Duration;

pub(crate) use director::Faults;
pub(crate) use effect::Effect;
pub(crate) use rule::who;

pub use definition::RemovedKind;
pub use effect::{OnRequest, OnWatch};
pub use handle::FaultHandle;
pub use rights::Withdrawn;
pub use rule::Verb;
pub use view::{Delay, Events};

use effect::{Answer, Happening};
use rule::Rule;

/// Something that goes wrong, and when.
///
/// Made by what goes wrong ([`Fault::status`], [`Fault::timeout`], [`Fault::watch_frozen`], …), then narrowed by rule:
///
/// ```
/// use kubewright_testkit::{Fault, Verb};
/// // The first two patches of the Deployment `hello` fail.
/// let fault = Fault::status(500).on(Verb::Patch).of("deployments").named("hello").times(2);
/// // The second write to any App takes effect, and its answer is lost.
/// let fault = Fault::timeout().after_effect().of("apps").nth(2);
/// // Whoever watches Deployments sees each change only once three more have followed.
/// let fault = Fault::watch_delayed(kubewright_testkit::Events(3)).of("deployments");
/// # drop(fault);
/// ```
///
/// Unless narrowed, it hits every request (or every event of every watch) of every replica, and of every client that
/// [`TestCluster::client`] made, again and again until it is healed. The test's own helpers and actors are hit only
/// where [`Fault::by`] names them. A rule that makes no sense panics where it is written or injected.
///
/// `E` tells faults of requests from those of watches, so that what fits only one of them does not compile for the
/// other.
///
/// [`TestCluster::client`]: crate::TestCluster::client
#[derive(Clone, Debug)]
#[must_use = "a fault does nothing until it is injected"]
pub struct Fault<E> {
    effect: E,
    rule: Rule,
}

impl Fault<OnRequest> {
    /// The server answers with this code instead of serving the request, as overloaded, failing or half-started servers
    /// and the proxies before them do. The client sees a `Status` with the reason that belongs to the code.
    ///
    /// With [`Fault::after_effect`] the write takes effect all the same, as with `etcdserver: request timed out` (500)
    /// or a proxy's 504: the client cannot know.
    ///
    /// # Panics
    ///
    /// When the code is no error: less than 400 or more than 599.
    pub fn status(code: u16) -> Self {
        assert!(
            (400..600).contains(&code),
            "Fault::status({code}): an error has a code from 400 to 599"
        );
        Self::of_request(Happening::Answer(Answer::Status(code)))
    }

    /// 409 Conflict: somebody else changed the object between the client's read and its write. The client sees
    /// `Operation cannot be fulfilled on …: the object has been modified`.
    pub fn conflict() -> Self {
        Self::of_request(Happening::Answer(Answer::Status(409)))
    }

    /// 429 Too Many Requests, with `Retry-After` in whole seconds (rounded up): the server's priority and fairness
    /// turns the request away before it has any effect.
    pub fn throttled(retry_after: Duration) -> Self {
        Self::of_request(Happening::Answer(Answer::Throttled(retry_after)))
    }

    /// 410 Gone (reason `Expired`): history was compacted. Hits what history can be gone for: watches that go on from a
    /// version, answered so instead of being opened, and all pages of a list but the first. See
    /// [`Fault::watch_expired`] for a watch that is open, and [`TestCluster::compact`](crate::TestCluster::compact) for
    /// the event itself.
    pub fn expired() -> Self {
        Self::of_request(Happening::Answer(Answer::Expired))
    }

    /// Neither an answer comes nor does the connection break: packets are lost, or a server hangs. The client's own
    /// timeout is all it has.
    pub fn timeout() -> Self {
        Self::of_request(Happening::Lose)
    }

    /// The connection breaks: the server died, a load balancer gave up. The client gets an error of the connection
    /// (`ConnectionReset`); without [`Fault::after_effect`] the server never saw the request, which the client cannot
    /// know.
    pub fn cut() -> Self {
        Self::of_request(Happening::Cut)
    }

    /// No connection comes about: the client gets `ConnectionRefused` and knows that nothing was sent. See
    /// [`TestCluster::take_server_down`](crate::TestCluster::take_server_down) for a whole outage.
    pub fn unreachable() -> Self {
        Self::of_request(Happening::Refuse)
    }

    /// The request is late by this much: carried out only then, or with [`Fault::after_effect`] carried out at once and
    /// answered only then. Reads may be late in both ways; one that is answered late is an old answer when it comes.
    ///
    /// Other faults that hit the same request act after the wait.
    pub fn slow(by: Duration) -> Self {
        Self::of_request(Happening::Slow(by))
    }

    /// Narrows to requests with this verb; several calls widen again. Default: every verb.
    pub fn on(mut self, verb: Verb) -> Self {
        self.rule.verbs.push(verb);
        self
    }

    /// Narrows to one subresource, such as `status`; `""` is the object itself. Default: the object and all its
    /// subresources.
    pub fn subresource(mut self, name: impl Into<String>) -> Self {
        self.rule.subresource = Some(name.into());
        self
    }

    /// It happens once the request has had its effect. Hits only writes that the server carried out (and, with
    /// [`Fault::slow`], reads). Default: before, so that the request has no effect.
    ///
    /// # Panics
    ///
    /// With [`Fault::throttled`], [`Fault::expired`] and [`Fault::unreachable`], which never come after an effect.
    pub fn after_effect(mut self) -> Self {
        let never = match self.effect.happening {
            Happening::Answer(Answer::Throttled(_)) => Some("throttled"),
            Happening::Answer(Answer::Expired) => Some("expired"),
            Happening::Refuse => Some("unreachable"),
            _ => None,
        };
        if let Some(name) = never {
            panic!("Fault::{name}() happens before a request has any effect: leave `after_effect()` out");
        }
        self.effect.after = true;
        self
    }

    fn of_request(happening: Happening) -> Self {
        Self {
            effect: OnRequest {
                happening,
                after: false,
            },
            rule: Rule::default(),
        }
    }
}

impl Fault<OnWatch> {
    /// The connection of a watch breaks before an event is delivered. The client sees an error of the connection, and
    /// gets the event when it goes on from where it was. Mostly wanted with [`Fault::times`]: without, no event of
    /// that kind ever comes through.
    pub fn watch_cut_before_event() -> Self {
        Self::of_watch(OnWatch::CutBefore)
    }

    /// The connection of a watch breaks right after an event was delivered. The client sees an error of the connection.
    pub fn watch_cut_after_event() -> Self {
        Self::of_watch(OnWatch::CutAfter)
    }

    /// An event is delivered twice in a row, as when a watch goes on from a little before where it was.
    pub fn watch_duplicated() -> Self {
        Self::of_watch(OnWatch::Twice)
    }

    /// Instead of an event comes an ERROR event with code 410 (reason `Expired`), and the watch ends: history was
    /// compacted while the watch lagged. The client has to list anew.
    pub fn watch_expired() -> Self {
        Self::of_watch(OnWatch::Expired)
    }

    /// From now on watches show nothing new, those that are open included: the watch cache of the server behind them
    /// is stuck. Bookmarks still come, and name the old version; lists at resourceVersion 0 are as old. Gets and lists
    /// of the newest state (resourceVersion unset) are current, and lists not older than a newer version wait three
    /// seconds and are refused with 504 `Too large resource version`. [`FaultHandle::heal`] lets everything through.
    ///
    /// It fires for each change that is held back from somebody.
    pub fn watch_frozen() -> Self {
        Self::of_watch(OnWatch::View(None))
    }

    /// Watches lag, those that are open included: each change is shown only once so many more
    /// ([`Events`]) have followed it, or after this [`Duration`]. Otherwise as [`Fault::watch_frozen`]: the whole view
    /// of a connection lags, bookmarks and lists at resourceVersion 0 included.
    ///
    /// # Panics
    ///
    /// When the delay is nothing, or longer than a year.
    pub fn watch_delayed(by: impl Into<Delay>) -> Self {
        let by = by.into();
        by.check();
        Self::of_watch(OnWatch::View(Some(by)))
    }

    /// Narrows to events of one type. Default: every event but bookmarks.
    ///
    /// # Panics
    ///
    /// When it is none of `ADDED`, `MODIFIED`, `DELETED`.
    pub fn event(mut self, kind: &str) -> Self {
        let known = ["ADDED", "MODIFIED", "DELETED"]
            .into_iter()
            .find(|known| *known == kind);
        let Some(known) = known else {
            panic!("Fault::event({kind:?}): the types are ADDED, MODIFIED and DELETED");
        };
        self.rule.event = Some(known);
        self
    }

    fn of_watch(effect: OnWatch) -> Self {
        Self {
            effect,
            rule: Rule::default(),
        }
    }
}

#[allow(private_bounds, reason = "the two kinds of effects are all there are")]
impl<E: Effect> Fault<E> {
    /// Narrows to one resource, by its plural: `deployments`, or `deployments.apps` where several groups have one.
    /// Default: every resource, Leases and events included.
    pub fn of(mut self, plural: impl Into<String>) -> Self {
        self.rule.resource = Some(plural.into());
        self
    }

    /// Narrows to one object: `name`, or `namespace/name`. Of watches, to the events about it. Default: every object,
    /// and collections.
    pub fn named(mut self, name: &str) -> Self {
        match name.split_once('/') {
            Some((namespace, name)) => {
                self.rule.namespace = Some(namespace.to_owned());
                self.rule.name = Some(name.to_owned());
            }
            None => self.rule.name = Some(name.to_owned()),
        }
        self
    }

    /// Narrows to one namespace. Default: all, and what lies in none.
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.rule.namespace = Some(namespace.into());
        self
    }

    /// Narrows to one replica, client or actor, by its name in the story, or to one user by its full name. `test` is
    /// the test's own helpers. Default: every replica and every client that is not the test's or an actor's.
    pub fn by(mut self, name: impl Into<String>) -> Self {
        self.rule.by = Some(name.into());
        self
    }

    /// Begins with the n-th request or event that the rest of the rule fits, counted from 1 since it was injected, and
    /// hits that one alone unless [`Fault::times`] or [`Fault::every`] say otherwise. Default: the first.
    ///
    /// # Panics
    ///
    /// When `n` is 0.
    pub fn nth(mut self, n: u64) -> Self {
        assert!(n > 0, "Fault::nth(0): the first is nth(1)");
        self.rule.nth = Some(n);
        self
    }

    /// Hits so many, then no more. Default: no end, or 1 with [`Fault::nth`].
    ///
    /// # Panics
    ///
    /// When `n` is 0.
    pub fn times(mut self, n: u64) -> Self {
        assert!(
            n > 0,
            "Fault::times(0): a fault that never happens need not be injected"
        );
        self.rule.times = Some(n);
        self
    }

    /// Hits every n-th that the rest of the rule fits, the n-th first; with [`Fault::nth`] that one first. Default:
    /// each.
    ///
    /// # Panics
    ///
    /// When `n` is 0.
    pub fn every(mut self, n: u64) -> Self {
        assert!(n > 0, "Fault::every(0): each one is every(1)");
        self.rule.every = Some(n);
        self
    }

    /// Hits with this probability, drawn from the cluster's seed; each fault draws for itself, so one more fault changes
    /// nothing for the others. Default: 1.
    ///
    /// # Panics
    ///
    /// When it is not more than 0 and at most 1.
    pub fn probability(mut self, probability: f64) -> Self {
        assert!(
            probability > 0.0 && probability <= 1.0,
            "Fault::probability({probability}): it must be more than 0 and at most 1"
        );
        self.rule.probability = probability;
        self
    }
}

/// What goes wrong and when, in one line.
impl<E: fmt::Display> fmt::Display for Fault<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.effect, self.rule)
    }
}
