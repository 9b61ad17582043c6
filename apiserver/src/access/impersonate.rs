//! Acting as another user by the `Impersonate-*` headers.
//!
//! A requester is let in by the first of several modes: the constrained ones (verbs `impersonate:<mode>` on the
//! user and `impersonate-on:<mode>:<verb>` on the request itself) and the old verb `impersonate`
//! (<https://kep.k8s.io/5284>). Which refusal is shown depends on the mode that last let the requester in.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use http::HeaderMap;

use super::user::{ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED, service_account_groups, split_service_account};
use super::{Attributes, Authorizer, User, forbidden};
use crate::error::ApiError;

const EXTRA_PREFIX: &str = "impersonate-extra-";
const NODE_PREFIX: &str = "system:node:";
const NODE_NAME_EXTRA: &str = "authentication.kubernetes.io/node-name";
const AUTHENTICATION: &str = "authentication.k8s.io";
/// From so many groups or extras on, one check for all of them is tried first.
const MANY: usize = 4;
/// How many requesters' modes are remembered.
const REMEMBERED: usize = 10_000;

/// Reads the user that the headers ask for; none when there is no `Impersonate-User`.
///
/// # Errors
///
/// 400 when other impersonation headers come without a user.
pub fn requested(headers: &HeaderMap) -> Result<Option<User>, ApiError> {
    let first = |name| headers.get(name).map(text).unwrap_or_default();
    let mut wanted = User {
        name: first("impersonate-user"),
        uid: first("impersonate-uid"),
        ..User::default()
    };
    wanted.groups = headers.get_all("impersonate-group").iter().map(text).collect();
    for (name, value) in headers {
        if let Some(key) = name.as_str().strip_prefix(EXTRA_PREFIX) {
            wanted.extra.entry(unescape(key)).or_default().push(text(value));
        }
    }
    if !wanted.name.is_empty() {
        return Ok(Some(wanted));
    }
    if wanted == User::default() {
        return Ok(None);
    }
    Err(ApiError::bad_request(format!(
        "requested {} without impersonating a user name",
        in_go_syntax(&wanted)
    )))
}

/// Decides who may act as whom. Clones share what they remember.
#[derive(Clone, Debug, Default)]
pub struct Impersonation {
    /// The mode that last let a requester in, by the requester's name.
    modes: Arc<Mutex<BTreeMap<String, Mode>>>,
}

impl Impersonation {
    /// The user that the request continues as.
    ///
    /// # Errors
    ///
    /// 403 in the words of the first mode that applies, when no mode lets the requester in.
    pub fn impersonate(
        &self,
        authorizer: &Authorizer,
        requester: &User,
        wanted: &User,
        request: &Attributes<'_>,
    ) -> Result<User, ApiError> {
        let known = self
            .modes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&requester.name)
            .copied();
        let mut refusal = None;
        let others = Mode::ALL.into_iter().filter(|mode| Some(*mode) != known);
        for mode in known.into_iter().chain(others) {
            if !mode.applies(requester, wanted) {
                continue;
            }
            let check = Check {
                authorizer,
                requester,
                mode,
            };
            match check.run(wanted, request) {
                Ok(user) => {
                    self.remember(&requester.name, mode);
                    return Ok(user);
                }
                Err(error) => refusal = refusal.or(Some(error)),
            }
        }
        // The old mode applies to everybody, so there is a refusal.
        Err(refusal.unwrap_or_else(|| ApiError::internal("all impersonation modes failed")))
    }

    fn remember(&self, requester: &str, mode: Mode) {
        let mut modes = self.modes.lock().unwrap_or_else(PoisonError::into_inner);
        if modes.len() >= REMEMBERED && !modes.contains_key(requester) {
            modes.pop_first();
        }
        modes.insert(requester.to_owned(), mode);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    AssociatedNode,
    ArbitraryNode,
    ServiceAccount,
    UserInfo,
    Unconstrained,
}

impl Mode {
    /// In the order in which they are tried.
    const ALL: [Self; 5] = [
        Self::AssociatedNode,
        Self::ArbitraryNode,
        Self::ServiceAccount,
        Self::UserInfo,
        Self::Unconstrained,
    ];

    /// The mode's name in verbs; none for the old, unconstrained one.
    fn name(self) -> Option<&'static str> {
        match self {
            Self::AssociatedNode => Some("associated-node"),
            Self::ArbitraryNode => Some("arbitrary-node"),
            Self::ServiceAccount => Some("serviceaccount"),
            Self::UserInfo => Some("user-info"),
            Self::Unconstrained => None,
        }
    }

    fn applies(self, requester: &User, wanted: &User) -> bool {
        let node = node_name(&wanted.name);
        let only_name = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        match self {
            Self::AssociatedNode => {
                only_name
                    && node.is_some()
                    && requester.as_service_account().is_some()
                    && requester.extra.get(NODE_NAME_EXTRA).map(Vec::as_slice)
                        == node.map(|n| vec![n.to_owned()]).as_deref()
            }
            Self::ArbitraryNode => only_name && node.is_some(),
            Self::ServiceAccount => only_name && split_service_account(&wanted.name).is_some(),
            Self::UserInfo => node.is_none() && split_service_account(&wanted.name).is_none(),
            Self::Unconstrained => true,
        }
    }
}

/// One mode tried for one request.
struct Check<'a> {
    authorizer: &'a Authorizer,
    requester: &'a User,
    mode: Mode,
}

impl Check<'_> {
    fn run(&self, wanted: &User, request: &Attributes<'_>) -> Result<User, ApiError> {
        let mut verb = "impersonate".to_owned();
        if let Some(mode) = self.mode.name() {
            let on = format!("impersonate-on:{mode}:{}", request.verb);
            self.authorize(&Attributes { verb: &on, ..*request })?;
            verb = format!("impersonate:{mode}");
        }
        let mut user = wanted.clone();
        self.name(&verb, wanted, &mut user)?;
        if !wanted.uid.is_empty() {
            self.authorize(&Attributes {
                name: &wanted.uid,
                ..of(&verb, AUTHENTICATION, "uids")
            })?;
        }
        self.groups(&verb, &wanted.groups)?;
        self.extra(&verb, &wanted.extra)?;
        if user.name == ANONYMOUS {
            user.join(UNAUTHENTICATED);
        } else if !user.is_in(UNAUTHENTICATED) {
            user.join(AUTHENTICATED);
        }
        Ok(user)
    }

    fn name(&self, verb: &str, wanted: &User, user: &mut User) -> Result<(), ApiError> {
        let mut asked = Attributes {
            name: &wanted.name,
            ..of(verb, self.group(), "users")
        };
        if let Some(node) = node_name(&wanted.name).filter(|_| self.constrained()) {
            let every = self.mode == Mode::AssociatedNode;
            asked = Attributes {
                resource: "nodes",
                name: if every { "*" } else { node },
                ..asked
            };
            user.groups = vec!["system:nodes".to_owned()];
        }
        if let Some((namespace, name)) = split_service_account(&wanted.name) {
            asked = Attributes {
                resource: "serviceaccounts",
                namespace,
                name,
                ..asked
            };
            if wanted.groups.is_empty() {
                user.groups = service_account_groups(namespace);
            }
        }
        self.authorize(&asked)
    }

    fn groups(&self, verb: &str, groups: &[String]) -> Result<(), ApiError> {
        let asked = of(verb, self.group(), "groups");
        if self.constrained() {
            if groups.iter().any(String::is_empty) {
                return Err(forbidden(
                    self.requester,
                    &asked,
                    "impersonating the empty string group is not allowed",
                ));
            }
            if groups.iter().any(|g| g == MASTERS) {
                let asked = Attributes { name: MASTERS, ..asked };
                let why = "impersonating the system:masters group is not allowed";
                return Err(forbidden(self.requester, &asked, why));
            }
            if groups.len() >= MANY && self.authorize(&Attributes { name: "*", ..asked }).is_ok() {
                return Ok(());
            }
        }
        groups
            .iter()
            .try_for_each(|group| self.authorize(&Attributes { name: group, ..asked }))
    }

    fn extra(&self, verb: &str, extra: &BTreeMap<String, Vec<String>>) -> Result<(), ApiError> {
        let asked = of(verb, AUTHENTICATION, "userextras");
        if self.constrained() {
            if let Some(fault) = extra.iter().find_map(|(key, values)| extra_fault(key, values)) {
                return Err(forbidden(self.requester, &asked, fault));
            }
            let many = extra.len() >= MANY || extra.values().map(Vec::len).sum::<usize>() >= MANY;
            if many
                && self
                    .authorize(&Attributes {
                        subresource: "*",
                        name: "*",
                        ..asked
                    })
                    .is_ok()
            {
                return Ok(());
            }
        }
        for (key, values) in extra {
            for value in values {
                self.authorize(&Attributes {
                    subresource: key,
                    name: value,
                    ..asked
                })?;
            }
        }
        Ok(())
    }

    fn constrained(&self) -> bool {
        self.mode != Mode::Unconstrained
    }

    /// The API group of users and groups: the old mode has them in the core group.
    fn group(&self) -> &'static str {
        if self.constrained() { AUTHENTICATION } else { "" }
    }

    fn authorize(&self, asked: &Attributes<'_>) -> Result<(), ApiError> {
        self.authorizer
            .authorize(self.requester, asked)
            .map_err(|reason| forbidden(self.requester, asked, &reason))
    }
}

fn of<'a>(verb: &'a str, group: &'a str, resource: &'a str) -> Attributes<'a> {
    Attributes {
        verb,
        group,
        version: "v1",
        resource,
        ..Attributes::default()
    }
}

fn extra_fault(key: &str, values: &[String]) -> Option<&'static str> {
    if key.is_empty() {
        Some("impersonating the empty string key in extra is not allowed")
    } else if values.iter().any(String::is_empty) {
        Some("impersonating the empty string value in extra is not allowed")
    } else {
        None
    }
}

fn node_name(user: &str) -> Option<&str> {
    let name = user.strip_prefix(NODE_PREFIX)?;
    let label = |l: &str| {
        let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        !l.is_empty() && l.bytes().all(inner) && !l.starts_with('-') && !l.ends_with('-')
    };
    (name.len() <= 253 && name.split('.').all(label)).then_some(name)
}

fn text(value: &http::HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

/// Undoes percent-encoding; a malformed key is taken as it is.
fn unescape(key: &str) -> String {
    let mut out = Vec::with_capacity(key.len());
    let mut rest = key.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let Some(decoded) = tail
            .get(..2)
            .and_then(|d| std::str::from_utf8(d).ok())
            .and_then(|d| u8::from_str_radix(d, 16).ok())
        else {
            return key.to_owned();
        };
        out.push(decoded);
        rest = &tail[2..];
    }
    String::from_utf8(out).unwrap_or_else(|_| key.to_owned())
}

/// The user as the real server's message prints it.
fn in_go_syntax(user: &User) -> String {
    let list = |values: &[String]| {
        let quoted: Vec<String> = values.iter().map(|v| format!("{v:?}")).collect();
        format!("[]string{{{}}}", quoted.join(", "))
    };
    let groups = if user.groups.is_empty() {
        "[]string(nil)".to_owned()
    } else {
        list(&user.groups)
    };
    let mut extra = "map[string][]string".to_owned();
    if user.extra.is_empty() {
        extra.push_str("(nil)");
    } else {
        let keys: BTreeSet<&String> = user.extra.keys().collect();
        let entries: Vec<String> = keys
            .iter()
            .map(|k| format!("{k:?}:{}", list(&user.extra[*k])))
            .collect();
        // Writing to a string does not fail.
        let _ = write!(extra, "{{{}}}", entries.join(", "));
    }
    format!(
        "&user.DefaultInfo{{Name:{:?}, UID:{:?}, Groups:{groups}, Extra:{extra}}}",
        user.name, user.uid
    )
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(k, v)| (HeaderName::from_static(k), HeaderValue::from_static(v)))
            .collect()
    }

    #[test]
    fn headers_name_user_uid_groups_and_extras() {
        let wanted = requested(&headers(&[
            ("impersonate-user", "ann"),
            ("impersonate-uid", "u-1"),
            ("impersonate-group", "g1"),
            ("impersonate-group", "g2"),
            ("impersonate-extra-acme.com%2fproject", "p1"),
        ]));
        let wanted = wanted.unwrap().unwrap();
        assert_eq!((wanted.name.as_str(), wanted.uid.as_str()), ("ann", "u-1"));
        assert_eq!(wanted.groups, ["g1", "g2"]);
        assert_eq!(wanted.extra["acme.com/project"], ["p1"]);
    }

    #[test]
    fn groups_or_extras_without_a_user_are_refused_in_the_servers_words() {
        assert!(requested(&headers(&[])).unwrap().is_none());
        let error = requested(&headers(&[("impersonate-group", "g")])).unwrap_err();
        assert_eq!(error.code, 400);
        assert_eq!(
            error.message,
            "requested &user.DefaultInfo{Name:\"\", UID:\"\", Groups:[]string{\"g\"}, Extra:map[string][]string(nil)} \
             without impersonating a user name"
        );
        let error = requested(&headers(&[("impersonate-extra-a", "b")])).unwrap_err();
        assert!(
            error
                .message
                .contains("Groups:[]string(nil), Extra:map[string][]string{\"a\":[]string{\"b\"}}}")
        );
    }

    #[test]
    fn everyone_but_anonymous_becomes_authenticated() {
        let everything = Authorizer::allow_all();
        let become_ = |name: &str, groups: &[&str]| {
            let wanted = User {
                name: name.into(),
                groups: groups.iter().map(|g| (*g).to_owned()).collect(),
                ..User::default()
            };
            let request = Attributes {
                verb: "get",
                resource: "pods",
                ..Attributes::default()
            };
            Impersonation::default()
                .impersonate(&everything, &User::default(), &wanted, &request)
                .unwrap()
                .groups
        };
        assert_eq!(become_("ann", &["g"]), ["g", "system:authenticated"]);
        assert_eq!(become_("ann", &["system:unauthenticated"]), ["system:unauthenticated"]);
        assert_eq!(become_("system:anonymous", &[]), ["system:unauthenticated"]);
        assert_eq!(
            become_("system:serviceaccount:web:app", &[]),
            [
                "system:serviceaccounts",
                "system:serviceaccounts:web",
                "system:authenticated"
            ]
        );
        assert_eq!(
            become_("system:serviceaccount:web:app", &["just-me"]),
            ["just-me", "system:authenticated"]
        );
    }
}
