//! A controller before it runs, with and without its type.

use std::fmt;
use std::sync::Arc;

use super::parts::{Running, Services};
use super::run::Core;
use crate::cache::Informer;
use crate::declaration::{Declaration, Declared};
use crate::object::Object;
use crate::reconciler::Reconciler;

/// A reconciler with its declaration.
pub struct Controller<C: Reconciler<Primary: Object> + 'static> {
    pub(super) reconciler: Arc<C>,
    pub(super) declaration: Declaration<C>,
}

impl<C: Reconciler<Primary: Object> + 'static> Controller<C> {
    /// A controller as `declaration` describes it.
    #[must_use]
    pub fn new(reconciler: C, declaration: Declaration<C>) -> Self {
        Self {
            reconciler: Arc::new(reconciler),
            declaration,
        }
    }
}

impl<C: Reconciler<Primary: Object> + 'static> fmt::Debug for Controller<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Controller").field(&self.declaration).finish()
    }
}

/// A controller whose type the manager need not know.
pub(crate) trait AnyController: Send {
    /// What it declares.
    fn declared(&self) -> &Declared;

    /// Registers its watches without subscribing, so that its caches are filled for the time when it begins. They are kept
    /// up while the answer is held.
    fn warm(&self, services: &Services) -> Vec<Informer>;

    /// Registers its watches and subscribes to them; nothing runs yet.
    fn prepare(self: Box<Self>, services: &Services) -> Running;
}

impl<C: Reconciler<Primary: Object> + 'static> AnyController for Controller<C> {
    fn declared(&self) -> &Declared {
        self.declaration.declared()
    }

    fn warm(&self, services: &Services) -> Vec<Informer> {
        super::sources::register(self.declared(), &services.informers, &services.namespaces)
    }

    fn prepare(self: Box<Self>, services: &Services) -> Running {
        let core = Core::new(*self, services);
        Running {
            name: core.declared.name.clone(),
            run: Box::new(move |stop, abort| Box::pin(super::workers::run(core, stop, abort))),
        }
    }
}
