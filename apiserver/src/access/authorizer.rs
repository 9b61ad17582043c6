//! The RBAC authorizer over stored roles and bindings.

use std::sync::{Arc, PoisonError, RwLock};

use super::policy::Policy;
use super::user::MASTERS;
use super::{Attributes, Rule, Source, User};

const CLUSTER_ROLES: &str = "clusterroles.rbac.authorization.k8s.io";
const ROLES: &str = "roles.rbac.authorization.k8s.io";
const CLUSTER_ROLE_BINDINGS: &str = "clusterrolebindings.rbac.authorization.k8s.io";
const ROLE_BINDINGS: &str = "rolebindings.rbac.authorization.k8s.io";

/// What the authorizer decided, with its reason for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether the request may go on.
    pub allowed: bool,
    /// Why; empty when there is nothing to say.
    pub reason: String,
}

/// Decides by the stored roles and bindings. Clones share what they compiled.
///
/// Bindings and roles are compiled once and again only after one of the four RBAC resources changed, so a decision
/// costs a few map look-ups. A change counts from the next request on.
#[derive(Clone)]
pub struct Authorizer(Arc<Inner>);

struct Inner {
    /// Absent when everything is allowed.
    source: Option<Box<dyn Source>>,
    gathers: bool,
    compiled: RwLock<([u64; 4], Arc<Policy>)>,
}

impl Authorizer {
    /// An authorizer over the stored RBAC objects. `gathers` says whether roles grant what their `aggregationRule`
    /// selects, as where a controller manager writes those rules into them; else what is written counts.
    pub fn new(source: impl Source + 'static, gathers: bool) -> Self {
        Self(Arc::new(Inner {
            source: Some(Box::new(source)),
            gathers,
            compiled: RwLock::default(),
        }))
    }

    /// An authorizer that allows everything: the server without RBAC.
    #[must_use]
    pub fn allow_all() -> Self {
        Self(Arc::new(Inner {
            source: None,
            gathers: false,
            compiled: RwLock::default(),
        }))
    }

    /// Whether the user may do what is asked.
    ///
    /// # Errors
    ///
    /// The reason of the refusal for [`super::forbidden`]: empty, or the roles that bindings name and nobody made.
    pub fn authorize(&self, user: &User, asked: &Attributes<'_>) -> Result<(), String> {
        if self.allows_all(user) {
            return Ok(());
        }
        let policy = self.policy();
        let mut broken = Vec::new();
        for binding in policy.bindings_of(user, scope(asked)) {
            match binding.rules() {
                Ok(rules) if rules.iter().any(|rule| rule.allows(asked)) => return Ok(()),
                Ok(_) => {}
                Err(error) => broken.push(error),
            }
        }
        Err(refusal(&broken))
    }

    /// As [`Self::authorize`], with the reason of a grant too: what the access reviews answer.
    #[must_use]
    pub fn decide(&self, user: &User, asked: &Attributes<'_>) -> Decision {
        if self.allows_all(user) {
            return Decision {
                allowed: true,
                reason: String::new(),
            };
        }
        let policy = self.policy();
        let granting = policy.bindings_of(user, scope(asked)).find(|binding| {
            binding
                .rules()
                .is_ok_and(|rules| rules.iter().any(|rule| rule.allows(asked)))
        });
        match granting {
            Some(binding) => Decision {
                allowed: true,
                reason: binding.reason(user),
            },
            None => Decision {
                allowed: false,
                reason: self.authorize(user, asked).err().unwrap_or_default(),
            },
        }
    }

    /// Every rule that the user holds in a namespace, cluster-wide ones first, and the errors met on the way.
    #[must_use]
    pub fn rules_of(&self, user: &User, namespace: &str) -> (Vec<Rule>, Vec<String>) {
        let (mut rules, mut errors) = (Vec::new(), Vec::new());
        if self.allows_all(user) {
            let every = || vec!["*".to_owned()];
            rules.push(Rule {
                verbs: every(),
                api_groups: every(),
                resources: every(),
                ..Rule::default()
            });
            rules.push(Rule {
                verbs: every(),
                non_resource_urls: every(),
                ..Rule::default()
            });
        }
        for binding in self.policy().bindings_of(user, namespace) {
            match binding.rules() {
                Ok(granted) => rules.extend(granted.iter().cloned()),
                Err(error) => errors.push(error),
            }
        }
        (rules, errors)
    }

    /// The rules of a Role or ClusterRole; absent when there is none of that name.
    #[must_use]
    pub fn rules_of_role(&self, kind: &str, namespace: &str, name: &str) -> Option<Arc<[Rule]>> {
        self.policy().role(kind, namespace, name)
    }

    /// Whether the user needs no grant at all.
    fn allows_all(&self, user: &User) -> bool {
        self.0.source.is_none() || user.is_in(MASTERS)
    }

    fn policy(&self) -> Arc<Policy> {
        let Some(source) = &self.0.source else {
            return Arc::default();
        };
        let now = [CLUSTER_ROLES, ROLES, CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS].map(|r| source.changed_at(r));
        {
            let compiled = self.0.compiled.read().unwrap_or_else(PoisonError::into_inner);
            if compiled.0 == now {
                return Arc::clone(&compiled.1);
            }
        }
        let policy = Arc::new(Policy::compile(
            &source.list(CLUSTER_ROLES),
            &source.list(ROLES),
            &source.list(CLUSTER_ROLE_BINDINGS),
            &source.list(ROLE_BINDINGS),
            self.0.gathers,
        ));
        let mut compiled = self.0.compiled.write().unwrap_or_else(PoisonError::into_inner);
        // Written between the reading of `now` and the lists, an object is compiled early and once more later.
        *compiled = (now, Arc::clone(&policy));
        policy
    }
}

/// The namespace whose RoleBindings count; none for paths.
fn scope<'a>(asked: &Attributes<'a>) -> &'a str {
    if asked.path.is_some() { "" } else { asked.namespace }
}

fn refusal(broken: &[String]) -> String {
    match broken {
        [] => String::new(),
        [one] => format!("RBAC: {one}"),
        many => format!("RBAC: [{}]", many.join(", ")),
    }
}
