//! What webhooks declare, as data and by builder.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

use super::admit::{self, Admit, Answer};
use super::configuration::{Configuration, Reach, Trust};
use super::convert::{Conversion, Convert, Version};
use super::request::{Operation, Request};
use super::traits::{Mutate, Validate, Webhooks};
use crate::cache::Selector;
use crate::error::Result;
use crate::kind::Kind;
use crate::object::Object;

/// What happens to a request whose webhook cannot be called, or fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailurePolicy {
    /// The request fails. The default: what the webhook stands for holds without exception.
    #[default]
    Fail,
    /// The request goes on without the webhook.
    Ignore,
}

/// Whether a webhook has effects outside of its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SideEffects {
    /// None. The default.
    #[default]
    None,
    /// None for a dry run: [`Request::dry_run`] is looked at.
    NoneOnDryRun,
}

/// What webhooks declared, without their type.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Declared {
    /// The kind whose objects are judged.
    pub kind: Kind,
    /// Whether there is a validating webhook.
    pub validates: bool,
    /// Whether there is a mutating webhook.
    pub mutates: bool,
    /// What they are asked about. Default: create and update.
    pub operations: Vec<Operation>,
    /// Default: fail.
    pub failure_policy: FailurePolicy,
    /// Default: none.
    pub side_effects: SideEffects,
    /// CEL conditions, each with its name; the webhook is called where all hold. Default: none.
    pub match_conditions: Vec<(String, String)>,
    /// Label selector, as kubectl takes it; the webhook is called for objects that match. Default: all.
    pub object_selector: Option<String>,
    /// How long the server waits for an answer. Default: 10 s.
    pub timeout: Duration,
    /// The versions that are converted; `None` where none are.
    pub conversion: Option<Conversion>,
}

/// Builds what webhooks declare. Each method is a key of `#[webhooks(…)]`.
pub struct Declaration<W: Webhooks> {
    declared: Declared,
    validate: Option<Admit<W>>,
    mutate: Option<Admit<W>>,
}

impl<W: Webhooks> Declaration<W> {
    /// What `W` declares.
    #[must_use]
    pub fn of() -> Self {
        W::declare(Self::new())
    }

    /// An empty declaration. [`Webhooks::declare`] fills it.
    #[must_use]
    #[allow(
        clippy::new_without_default,
        reason = "an empty declaration is no sensible default: `for_` is required"
    )]
    pub fn new() -> Self {
        Self {
            declared: Declared {
                kind: Kind::new("", "", "", "", true),
                validates: false,
                mutates: false,
                operations: vec![Operation::Create, Operation::Update],
                failure_policy: FailurePolicy::default(),
                side_effects: SideEffects::default(),
                match_conditions: Vec::new(),
                object_selector: None,
                timeout: Duration::from_secs(10),
                conversion: None,
            },
            validate: None,
            mutate: None,
        }
    }

    /// What was declared so far.
    #[must_use]
    pub fn declared(&self) -> &Declared {
        &self.declared
    }

    /// The kind whose objects are judged; where versions are converted, the hub version. Call it first.
    #[must_use]
    pub fn for_<K>(mut self) -> Self
    where
        K: Object,
        W: Webhooks<Kind = K>,
    {
        self.declared.kind = Kind::of::<K>();
        self
    }

    /// Objects are judged by [`Validate`].
    #[must_use]
    pub fn validate(mut self) -> Self
    where
        W::Kind: Object,
        W: Validate<W::Kind> + 'static,
    {
        self.declared.validates = true;
        self.validate = Some(admit::validate::<W>);
        self
    }

    /// Objects are changed by [`Mutate`] before they are stored.
    #[must_use]
    pub fn mutate(mut self) -> Self
    where
        W::Kind: Object,
        W: Mutate<W::Kind> + 'static,
    {
        self.declared.mutates = true;
        self.mutate = Some(admit::mutate::<W>);
        self
    }

    /// The version `V` of the kind is served too, and converted. The definition in the manifests has all versions, and
    /// that of [`for_`](Self::for_) is stored.
    #[must_use]
    pub fn convert<V>(mut self) -> Self
    where
        V: Object + kube::CustomResourceExt + Convert<W::Kind>,
        W::Kind: Object + kube::CustomResourceExt,
    {
        let conversion = self.declared.conversion.get_or_insert_with(|| Conversion {
            hub: Version::hub::<W::Kind>(),
            others: Vec::new(),
        });
        conversion.others.push(Version::of::<V, W::Kind>());
        self
    }

    /// A field that gets lost on the way to the version `V` and back, or from it to the hub and back, and may be: the
    /// check of conversions says nothing about it. `spec.ports[].name` is a field of each element.
    #[must_use]
    pub fn loses<V: Object>(mut self, field: impl Into<String>) -> Self {
        let lossy = Kind::of::<V>();
        let others = self.declared.conversion.iter_mut().flat_map(|all| &mut all.others);
        let field = field.into();
        for version in others.filter(|version| version.kind == lossy) {
            version.loses.push(field.clone());
        }
        self
    }

    /// What the webhooks are asked about. Default: create and update.
    #[must_use]
    pub fn operations(mut self, operations: impl IntoIterator<Item = Operation>) -> Self {
        self.declared.operations = operations.into_iter().collect();
        self.declared.operations.sort_unstable();
        self.declared.operations.dedup();
        self
    }

    /// What happens to a request whose webhook cannot be called. Default: it fails.
    #[must_use]
    pub fn failure_policy(mut self, policy: FailurePolicy) -> Self {
        self.declared.failure_policy = policy;
        self
    }

    /// Whether there are effects outside of the answer. Default: none.
    #[must_use]
    pub fn side_effects(mut self, effects: SideEffects) -> Self {
        self.declared.side_effects = effects;
        self
    }

    /// A CEL condition by its name; the webhook is called where all hold.
    #[must_use]
    pub fn match_condition(mut self, name: impl Into<String>, expression: impl Into<String>) -> Self {
        self.declared.match_conditions.push((name.into(), expression.into()));
        self
    }

    /// The webhook is called for objects that match a label selector, written as kubectl takes it.
    #[must_use]
    pub fn object_selector(mut self, selector: impl Into<String>) -> Self {
        self.declared.object_selector = Some(selector.into());
        self
    }

    /// How long the server waits for an answer, in whole seconds from 1 to 30. Default: 10 s.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.declared.timeout = timeout;
        self
    }

    /// The webhooks without their type.
    pub(crate) fn erase(self, webhooks: W) -> Registered
    where
        W: Send + Sync + 'static,
    {
        let webhooks = Arc::new(webhooks);
        let bind = |admit: Admit<W>| -> Bound {
            let webhooks = Arc::clone(&webhooks);
            Arc::new(move |request| admit(Arc::clone(&webhooks), request))
        };
        Registered {
            validate: self.validate.map(bind),
            mutate: self.mutate.map(bind),
            declared: self.declared,
        }
    }
}

impl<W: Webhooks> fmt::Debug for Declaration<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Declaration").field(&self.declared).finish()
    }
}

/// An author's function with the webhooks that it belongs to.
pub(super) type Bound = Arc<dyn Fn(Request) -> BoxFuture<'static, Result<Answer>> + Send + Sync>;

/// Webhooks whose type the manager need not know.
#[derive(Clone)]
pub(crate) struct Registered {
    pub(crate) declared: Declared,
    pub(super) validate: Option<Bound>,
    pub(super) mutate: Option<Bound>,
}

/// What is wrong with the declaration of webhooks. One line with the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the webhooks for {kind} cannot be: {}", .problems.join("; "))]
pub struct InvalidWebhooks {
    /// The kind, such as `apps.demo.dev`.
    pub kind: String,
    /// What is wrong.
    pub problems: Vec<String>,
}

impl Declared {
    /// Finds what makes no sense, and conversions that lose something.
    ///
    /// # Errors
    ///
    /// Everything that is wrong.
    pub fn check(&self) -> Result<(), InvalidWebhooks> {
        let mut problems = Vec::new();
        let mut wrong = |problem: &str| problems.push(problem.to_owned());
        if self.kind.kind().is_empty() {
            wrong("no kind: call `for_::<K>()`");
        }
        let admits = self.validates || self.mutates;
        if !admits && self.conversion.is_none() {
            wrong("they do nothing: add `validate`, `mutate` or `convert = …`");
        }
        if admits && self.operations.is_empty() {
            wrong("they are asked about no operation: leave `operations` out for create and update");
        }
        if self.mutates && !self.validates && self.operations == [Operation::Delete] {
            wrong("a deletion has nothing to change: use `validate`, or other operations");
        }
        if admits && self.kind.group() == "coordination.k8s.io" {
            wrong("a webhook on Leases would keep the operator from leading when it is down: judge another kind");
        }
        let seconds = self.timeout.as_secs();
        if !(1..=30).contains(&seconds) || self.timeout.subsec_nanos() != 0 {
            wrong("the API server waits a whole number of seconds, from 1 to 30: change `timeout`");
        }
        if let Some(Err(error)) = self.object_selector.as_deref().map(Selector::parse) {
            wrong(&format!("object_selector: {error}"));
        }
        if let Some(conversion) = &self.conversion
            && let Err(lossy) = conversion.check()
        {
            problems.extend(lossy);
        }
        let configuration = Configuration {
            operator: "",
            namespace: "",
            reach: &Reach::Service,
            trust: &Trust::Injected,
        };
        if let Err(apart) = configuration.definitions(std::slice::from_ref(self)) {
            problems.push(apart);
        }
        if problems.is_empty() {
            return Ok(());
        }
        Err(InvalidWebhooks {
            kind: self.kind.to_string(),
            problems,
        })
    }
}
