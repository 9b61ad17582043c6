//! The variable `authorizer`: what a user may do, asked step by step.
//!
//! `authorizer.group('apps').resource('deployments').namespace('web').check('create').allowed()`; see
//! <https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-authorizer-library>.

use std::fmt;
use std::sync::Arc;

use kube_cel::cel::extractors::This;
use kube_cel::cel::objects::Opaque;
use kube_cel::cel::{Context, ExecutionError, Value as CelValue};

use crate::access::{Attributes, Authorizer, User};

/// What is asked about, as far as it has been said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// API group.
    pub group: String,
    /// Plural of the resource.
    pub resource: String,
    /// Subresource, or empty.
    pub subresource: String,
    /// Namespace, or empty.
    pub namespace: String,
    /// Name of the object, or empty.
    pub name: String,
    /// Set for a path instead of a resource.
    pub path: Option<String>,
}

/// A question on behalf of a user.
#[derive(Clone)]
struct Question {
    authorizer: Authorizer,
    user: Arc<User>,
    asked: Asked,
    /// What the request that is under admission is about.
    request: Arc<Asked>,
    /// The answer, once asked.
    answer: Option<(bool, String)>,
}

impl fmt::Debug for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Question")
            .field("asked", &self.asked)
            .finish_non_exhaustive()
    }
}

impl PartialEq for Question {
    fn eq(&self, other: &Self) -> bool {
        self.user == other.user && self.asked == other.asked && self.answer == other.answer
    }
}

impl Eq for Question {}

impl Opaque for Question {
    fn runtime_type_name(&self) -> &str {
        "kubernetes.authorization.Authorizer"
    }
}

/// The variable's value.
pub(super) fn value(authorizer: &Authorizer, user: &User, request: Asked) -> CelValue {
    let question = Question {
        authorizer: authorizer.clone(),
        user: Arc::new(user.clone()),
        asked: Asked::default(),
        request: Arc::new(request),
        answer: None,
    };
    CelValue::Opaque(Arc::new(question))
}

/// Lets expressions ask.
pub(super) fn register(context: &mut Context<'_>) {
    context.add_function("group", |This(this): This<CelValue>, group: Arc<String>| {
        with(&this, |question| question.asked.group = group.to_string())
    });
    context.add_function("resource", |This(this): This<CelValue>, resource: Arc<String>| {
        with(&this, |question| question.asked.resource = resource.to_string())
    });
    context.add_function("subresource", |This(this): This<CelValue>, subresource: Arc<String>| {
        with(&this, |question| question.asked.subresource = subresource.to_string())
    });
    context.add_function("namespace", |This(this): This<CelValue>, namespace: Arc<String>| {
        with(&this, |question| question.asked.namespace = namespace.to_string())
    });
    context.add_function("name", |This(this): This<CelValue>, name: Arc<String>| {
        with(&this, |question| question.asked.name = name.to_string())
    });
    context.add_function("path", |This(this): This<CelValue>, path: Arc<String>| {
        with(&this, |question| question.asked.path = Some(path.to_string()))
    });
    context.add_function("requestResource", |This(this): This<CelValue>| {
        with(&this, |question| question.asked = (*question.request).clone())
    });
    context.add_function(
        "serviceAccount",
        |This(this): This<CelValue>, namespace: Arc<String>, name: Arc<String>| {
            with(&this, |question| {
                question.user = Arc::new(User::service_account(&namespace, &name, ""));
            })
        },
    );
    context.add_function("check", |This(this): This<CelValue>, verb: Arc<String>| {
        with(&this, |question| question.answer = Some(ask(question, &verb)))
    });
    context.add_function("allowed", |This(this): This<CelValue>| {
        answer(&this).map(|(allowed, _)| allowed)
    });
    context.add_function("reason", |This(this): This<CelValue>| {
        answer(&this).map(|(_, reason)| Arc::new(reason))
    });
    context.add_function("errored", |This(this): This<CelValue>| answer(&this).map(|_| false));
    context.add_function("error", |This(this): This<CelValue>| {
        answer(&this).map(|_| Arc::new(String::new()))
    });
}

fn ask(question: &Question, verb: &str) -> (bool, String) {
    let asked = &question.asked;
    let attributes = Attributes {
        verb,
        group: &asked.group,
        version: "*",
        resource: &asked.resource,
        subresource: &asked.subresource,
        namespace: &asked.namespace,
        name: &asked.name,
        path: asked.path.as_deref(),
    };
    let decision = question.authorizer.decide(&question.user, &attributes);
    (decision.allowed, decision.reason)
}

fn with(this: &CelValue, change: impl FnOnce(&mut Question)) -> Result<CelValue, ExecutionError> {
    let mut question = question(this)?.clone();
    change(&mut question);
    Ok(CelValue::Opaque(Arc::new(question)))
}

fn answer(this: &CelValue) -> Result<(bool, String), ExecutionError> {
    question(this)?.answer.clone().ok_or(ExecutionError::NoSuchOverload)
}

fn question(this: &CelValue) -> Result<&Question, ExecutionError> {
    match this {
        CelValue::Opaque(opaque) => opaque.downcast_ref::<Question>().ok_or(ExecutionError::NoSuchOverload),
        _ => Err(ExecutionError::NoSuchOverload),
    }
}
