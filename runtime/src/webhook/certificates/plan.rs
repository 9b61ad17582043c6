//! What is in force, and what comes next: a function of the state, the time and nothing else.
//!
//! An authority is replaced in three steps, each at least [`Policy::overlap`] after the one before it, so that whoever
//! checks a certificate always trusts who signed it, whichever of the two it has seen last:
//!
//! ```text
//! trusted:   old          old, new        new, old             new
//! signs:     old          old             new                  new
//!                 stage ↗       promote ↗          forget ↗
//! ```

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::authority::Issued;

/// How long certificates live, and how they overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// Life of an authority; it is replaced after two thirds of it. Default: 5 years.
    pub authority: Duration,
    /// Life of a server's certificate; it is replaced after two thirds of it. Default: 90 days.
    pub certificate: Duration,
    /// How long each step of a replacement lasts: longer than it takes a new bundle to reach every API server, and a new
    /// certificate every replica. Default: 10 minutes.
    pub overlap: Duration,
    /// How often replicas look whether something is due. Default: 1 minute.
    pub check: Duration,
    /// By how much clocks may differ. Default: 1 hour.
    pub skew: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        const DAY: Duration = Duration::from_secs(24 * 3600);
        Self {
            authority: 5 * 365 * DAY,
            certificate: 90 * DAY,
            overlap: Duration::from_secs(600),
            check: Duration::from_secs(60),
            skew: Duration::from_secs(3600),
        }
    }
}

/// What all replicas agree on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct State {
    /// The authority that signs.
    pub(super) authority: Issued,
    /// The one that will; trusted already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<Issued>,
    /// The certificate of the one that did; still trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) former: Option<String>,
    /// What servers show.
    pub(super) serving: Issued,
    /// The names that it is for.
    pub(super) names: Vec<String>,
    /// When an authority last came or went.
    pub(super) changed: Timestamp,
}

impl State {
    /// The certificates to trust: PEM.
    pub(super) fn bundle(&self) -> String {
        let next = self.next.as_ref().map(|next| next.certificate.as_str());
        let former = self.former.as_deref();
        [Some(self.authority.certificate.as_str()), next, former]
            .into_iter()
            .flatten()
            .map(|pem| format!("{}\n", pem.trim_end()))
            .collect()
    }
}

/// Makes certificates: for the plan, which decides when.
pub(super) struct Plan<'a> {
    pub(super) policy: Policy,
    pub(super) operator: &'a str,
    pub(super) names: &'a [String],
    /// Tells authorities apart; random.
    pub(super) mark: u64,
}

impl Plan<'_> {
    /// The state that should take the place of `state` now; `None` where it is right as it is. `injected`: whether
    /// everybody was given the bundle of `state`.
    ///
    /// # Errors
    ///
    /// When a certificate cannot be made.
    pub(super) fn next(
        &self,
        state: Option<&State>,
        injected: bool,
        now: Timestamp,
    ) -> Result<Option<State>, rcgen::Error> {
        let Some(state) = state.filter(|state| state.authority.until > now) else {
            return self.fresh(now).map(Some);
        };
        let settled = injected && since(state.changed, now) >= self.policy.overlap;
        let mut new = state.clone();
        if settled && state.former.is_some() {
            new.former = None;
            new.changed = now;
        } else if settled && let Some(next) = new.next.take() {
            new.former = Some(std::mem::replace(&mut new.authority, next).certificate);
            new.serving = self.serving(&new.authority, now)?;
            new.changed = now;
        } else if state.authority.renewal() <= now && state.next.is_none() && state.former.is_none() {
            new.next = Some(self.authority(now)?);
            new.changed = now;
        }
        if new.serving.renewal() <= now || new.names != self.names {
            new.serving = self.serving(&new.authority, now)?;
            new.names = self.names.to_vec();
        }
        Ok((new != *state).then_some(new))
    }

    fn fresh(&self, now: Timestamp) -> Result<State, rcgen::Error> {
        let authority = self.authority(now)?;
        Ok(State {
            serving: self.serving(&authority, now)?,
            authority,
            next: None,
            former: None,
            names: self.names.to_vec(),
            changed: now,
        })
    }

    fn authority(&self, now: Timestamp) -> Result<Issued, rcgen::Error> {
        let name = format!("{} webhooks {:016x}", self.operator, self.mark);
        Issued::authority(name, self.begin(now), later(now, self.policy.authority))
    }

    fn serving(&self, authority: &Issued, now: Timestamp) -> Result<Issued, rcgen::Error> {
        authority.sign(self.names, self.begin(now), later(now, self.policy.certificate))
    }

    /// A certificate is valid before it is made: a clock that is behind must take it too.
    fn begin(&self, now: Timestamp) -> Timestamp {
        let skew = SignedDuration::try_from(self.policy.skew).unwrap_or_default();
        now.checked_sub(skew).unwrap_or(now)
    }
}

fn later(now: Timestamp, by: Duration) -> Timestamp {
    now.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// How long ago something was; zero where a clock was set back.
fn since(then: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(then)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn plan(names: &[String]) -> Plan<'_> {
        Plan {
            policy: Policy {
                authority: 30 * HOUR,
                certificate: 10 * HOUR,
                overlap: HOUR,
                skew: Duration::from_secs(60),
                ..Policy::default()
            },
            operator: "op",
            names,
            mark: 1,
        }
    }

    fn at(hours: u32) -> Timestamp {
        "2026-01-01T00:00:00Z".parse::<Timestamp>().unwrap() + hours * HOUR
    }

    #[test]
    fn an_authority_is_trusted_an_overlap_before_it_signs_and_an_overlap_after() {
        let names = ["a.b.svc".to_owned()];
        let plan = plan(&names);
        let mut state = plan.next(None, false, at(0)).unwrap().unwrap();
        assert_eq!(plan.next(Some(&state), true, at(1)).unwrap(), None);
        let mut steps = Vec::new();
        for hour in 1..30 {
            let Some(new) = plan.next(Some(&state), true, at(hour)).unwrap() else {
                continue;
            };
            let signer = |state: &State| state.authority.certificate.clone();
            let trusted_before = state.bundle();
            if new.serving != state.serving {
                assert!(
                    trusted_before.contains(signer(&new).trim_end()),
                    "hour {hour}: who signs is trusted already"
                );
            }
            let shown_before = signer(&state);
            assert!(
                new.bundle().contains(shown_before.trim_end()),
                "hour {hour}: what is shown is still trusted"
            );
            steps.push((hour, new.next.is_some(), new.former.is_some()));
            state = new;
        }
        // Certificates at 6, 13 (two thirds of 10 h, less the skew); stage at 20, promote at 21, forget at 22.
        let authorities: Vec<_> = steps.iter().filter(|(hour, ..)| (20..=22).contains(hour)).collect();
        assert_eq!(
            authorities,
            [&(20, true, false), &(21, false, true), &(22, false, false)]
        );
    }

    #[test]
    fn nothing_new_signs_before_everybody_was_given_its_certificate() {
        let names = ["a.b.svc".to_owned()];
        let plan = plan(&names);
        let state = plan.next(None, false, at(0)).unwrap().unwrap();
        let staged = plan.next(Some(&state), true, at(20)).unwrap().unwrap();
        assert!(staged.next.is_some());
        let later = plan.next(Some(&staged), false, at(25)).unwrap();
        assert!(later.is_none_or(|state| state.next.is_some()));
        assert!(plan.next(Some(&staged), true, at(25)).unwrap().unwrap().next.is_none());
    }

    #[test]
    fn an_operator_that_was_away_for_long_starts_anew() {
        let names = ["a.b.svc".to_owned()];
        let plan = plan(&names);
        let state = plan.next(None, false, at(0)).unwrap().unwrap();
        let new = plan.next(Some(&state), true, at(40)).unwrap().unwrap();
        assert!(new.authority.until > at(40) && new.former.is_none());
    }

    #[test]
    fn another_name_gets_another_certificate_from_the_same_authority() {
        let names = ["a.b.svc".to_owned()];
        let state = plan(&names).next(None, false, at(0)).unwrap().unwrap();
        let names = ["c.d.svc".to_owned()];
        let new = plan(&names).next(Some(&state), true, at(1)).unwrap().unwrap();
        assert_eq!(new.authority, state.authority);
        assert_ne!(new.serving, state.serving);
    }

    #[test]
    fn what_is_made_can_be_shown_and_says_how_long_it_is_valid() {
        let names = ["a.b.svc".to_owned(), "127.0.0.1".to_owned()];
        let state = plan(&names).next(None, false, at(5)).unwrap().unwrap();
        let identity = crate::webhook::Identity::new();
        let pem = crate::webhook::Pem {
            certificate: state.serving.certificate.clone(),
            key: state.serving.key.clone(),
        };
        assert_eq!(identity.set(&pem), Ok(true));
        assert_eq!(identity.set(&pem), Ok(false));
        let validity = identity.validity().unwrap();
        assert_eq!(
            (validity.from, validity.until),
            (state.serving.from, state.serving.until)
        );
        assert_eq!(validity.until, at(15));
        let other = plan(&names).next(None, false, at(5)).unwrap().unwrap();
        let mixed = crate::webhook::Pem {
            key: other.serving.key,
            ..pem
        };
        assert!(identity.set(&mixed).unwrap_err().contains("do not belong together"));
    }
}
