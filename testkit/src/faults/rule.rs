//! Which requests and events a fault hits.

use std::fmt;

use kubewright::dev::apiserver::http::log::EventRecord;

use crate::RequestRecord;

/// A verb of the API, as RBAC names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// Reads one object.
    Get,
    /// Reads a collection.
    List,
    /// Follows a collection.
    Watch,
    /// POST.
    Create,
    /// PUT.
    Update,
    /// PATCH, server-side apply included.
    Patch,
    /// Deletes one object.
    Delete,
    /// Deletes a collection.
    DeleteCollection,
}

impl Verb {
    /// As RBAC and the story write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }

    /// Whether it asks for a change.
    #[must_use]
    pub fn is_write(self) -> bool {
        !matches!(self, Self::Get | Self::List | Self::Watch)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Which requests or events, and which of these.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    /// Empty: every verb.
    pub(super) verbs: Vec<Verb>,
    pub(super) resource: Option<String>,
    pub(super) subresource: Option<String>,
    pub(super) namespace: Option<String>,
    pub(super) name: Option<String>,
    pub(super) by: Option<String>,
    /// Type of watch events.
    pub(super) event: Option<&'static str>,
    pub(super) nth: Option<u64>,
    pub(super) times: Option<u64>,
    pub(super) every: Option<u64>,
    pub(super) probability: f64,
}

impl Default for Rule {
    fn default() -> Self {
        Self {
            verbs: Vec::new(),
            resource: None,
            subresource: None,
            namespace: None,
            name: None,
            by: None,
            event: None,
            nth: None,
            times: None,
            every: None,
            probability: 1.0,
        }
    }
}

impl Rule {
    /// Whether it fits a request. `hit_by_default` says whether its sender is hit where the rule names nobody.
    pub(super) fn fits(&self, request: &RequestRecord, hit_by_default: bool) -> bool {
        let verb = self.verbs.is_empty() || self.verbs.iter().any(|verb| verb.as_str() == request.verb);
        let subresource = self.subresource.as_ref().is_none_or(|own| *own == request.subresource);
        verb && subresource
            && self.fits_place(request, &request.namespace, &request.name)
            && self.fits_sender(request, hit_by_default)
    }

    /// Whether it fits a watch as a whole: its resource, the namespace where it is of one, and who watches.
    pub(super) fn fits_watch(&self, request: &RequestRecord, hit_by_default: bool) -> bool {
        let namespace = self.namespace.as_ref().is_none_or(|own| {
            // A watch of all namespaces has this one's events too.
            *own == request.namespace || request.namespace.is_empty()
        });
        self.fits_resource(&request.group, &request.resource) && namespace && self.fits_sender(request, hit_by_default)
    }

    /// Whether it fits an event of a watch that it fits.
    pub(super) fn fits_event(&self, event: &EventRecord<'_>) -> bool {
        let Some(key) = event.key else { return false };
        self.event.is_none_or(|own| own == event.kind)
            && self.namespace.as_ref().is_none_or(|own| **own == *key.namespace)
            && self.name.as_ref().is_none_or(|own| **own == *key.name)
    }

    /// Whether a key of the store, such as `deployments.apps`, is of the rule's resource.
    pub(super) fn fits_stored(&self, stored_under: &str) -> bool {
        let (plural, group) = stored_under.split_once('.').unwrap_or((stored_under, ""));
        self.fits_resource(group, plural)
    }

    /// Whether the one that fits, the `count`-th, is one of those to be hit after `fired` others.
    pub(super) fn chooses(&self, count: u64, fired: u64, draw: impl FnOnce() -> f64) -> bool {
        let times = self.times.or(if self.nth.is_some() && self.every.is_none() {
            Some(1)
        } else {
            None
        });
        if times.is_some_and(|times| fired >= times) {
            return false;
        }
        let every = self.every.unwrap_or(1);
        let first = self.nth.unwrap_or(every);
        if count < first || !(count - first).is_multiple_of(every) {
            return false;
        }
        self.probability >= 1.0 || draw() < self.probability
    }

    fn fits_place(&self, request: &RequestRecord, namespace: &str, name: &str) -> bool {
        self.fits_resource(&request.group, &request.resource)
            && self.namespace.as_ref().is_none_or(|own| own == namespace)
            && self.name.as_ref().is_none_or(|own| own == name)
    }

    fn fits_resource(&self, group: &str, plural: &str) -> bool {
        let Some(own) = &self.resource else { return true };
        match own.split_once('.') {
            Some((own, of)) => own == plural && of == group,
            None => own == plural,
        }
    }

    fn fits_sender(&self, request: &RequestRecord, hit_by_default: bool) -> bool {
        match &self.by {
            Some(name) => who(request) == name || request.user == *name,
            None => hit_by_default,
        }
    }
}

/// Who makes a request, as the story names it.
pub(crate) fn who(request: &RequestRecord) -> &str {
    match &request.caller {
        Some(caller) => caller.name(),
        None => request.user.rsplit(':').next().unwrap_or_default(),
    }
}

/// ` on patch of deployments named hello, 2 times`.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((first, rest)) = self.verbs.split_first() {
            write!(f, " on {first}")?;
            rest.iter().try_for_each(|verb| write!(f, " or {verb}"))?;
        }
        if let Some(kind) = self.event {
            write!(f, " at {kind}")?;
        }
        match (&self.resource, self.subresource.as_deref()) {
            (Some(resource), Some("")) => write!(f, " of {resource} themselves")?,
            (Some(resource), Some(subresource)) => write!(f, " of {resource}/{subresource}")?,
            (Some(resource), None) => write!(f, " of {resource}")?,
            (None, Some(subresource)) => write!(f, " of {subresource:?}")?,
            (None, None) => {}
        }
        if let Some(name) = &self.name {
            write!(f, " named {name}")?;
        }
        if let Some(namespace) = &self.namespace {
            write!(f, " in {namespace}")?;
        }
        if let Some(by) = &self.by {
            write!(f, " by {by}")?;
        }
        if let Some(nth) = self.nth {
            write!(f, ", from number {nth} on")?;
        }
        if let Some(every) = self.every {
            write!(f, ", each {every}.")?;
        }
        if let Some(times) = self.times {
            write!(f, ", {times} times")?;
        }
        if self.probability < 1.0 {
            write!(f, ", with probability {}", self.probability)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(rule: &Rule) -> Vec<u64> {
        let mut fired = 0;
        let choose = |count: &u64| {
            let hit = rule.chooses(*count, fired, || 0.5);
            fired += u64::from(hit);
            hit
        };
        (1..=12).filter(choose).collect()
    }

    #[test]
    fn nth_times_and_every_say_which_ones_are_hit() {
        let rule = |nth, times, every| Rule {
            nth,
            times,
            every,
            ..Rule::default()
        };
        assert_eq!(chosen(&rule(None, None, None)), (1..=12).collect::<Vec<_>>());
        assert_eq!(chosen(&rule(None, Some(2), None)), [1, 2]);
        assert_eq!(chosen(&rule(Some(3), None, None)), [3]);
        assert_eq!(chosen(&rule(Some(3), Some(2), None)), [3, 4]);
        assert_eq!(chosen(&rule(None, None, Some(5))), [5, 10]);
        assert_eq!(chosen(&rule(Some(2), None, Some(5))), [2, 7, 12]);
        assert_eq!(chosen(&rule(Some(2), Some(2), Some(5))), [2, 7]);
    }

    #[test]
    fn what_is_drawn_decides_where_there_is_a_probability() {
        let rule = |probability| Rule {
            probability,
            ..Rule::default()
        };
        assert!(rule(0.6).chooses(1, 0, || 0.5));
        assert!(!rule(0.4).chooses(1, 0, || 0.5));
        assert!(rule(1.0).chooses(1, 0, || unreachable!("nothing is drawn where all are hit")));
    }

    #[test]
    fn a_resource_may_be_named_with_its_group_or_without() {
        let rule = |resource: &str| Rule {
            resource: Some(resource.to_owned()),
            ..Rule::default()
        };
        assert!(rule("deployments").fits_stored("deployments.apps"));
        assert!(rule("deployments.apps").fits_stored("deployments.apps"));
        assert!(!rule("deployments.extensions").fits_stored("deployments.apps"));
        assert!(rule("pods").fits_stored("pods"));
        assert!(rule("apps.demo.dev").fits_stored("apps.demo.dev"));
        assert!(!rule("pods.apps").fits_stored("pods"));
    }
}
