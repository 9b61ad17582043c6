//! A controller before it runs, with and without its type.

use std::fmt;
use std::sync::Arc;

use crate::declaration::{Declaration, Declared};
use crate::reconciler::Reconciler;

/// A reconciler with its declaration.
pub struct Controller<C: Reconciler> {
    pub(super) reconciler: Arc<C>,
    pub(super) declaration: Declaration<C>,
}

impl<C: Reconciler> Controller<C> {
    /// A controller as `C` declares it.
    #[must_use]
    pub fn new(reconciler: C) -> Self {
        Self {
            reconciler: Arc::new(reconciler),
            declaration: Declaration::of(),
        }
    }
}

impl<C: Reconciler> fmt::Debug for Controller<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Controller").field(&self.declaration).finish()
    }
}

/// A controller whose type the manager need not know.
pub(crate) trait AnyController: Send {
    /// What it declares.
    fn declared(&self) -> &Declared;
}

impl<C: Reconciler> AnyController for Controller<C> {
    fn declared(&self) -> &Declared {
        self.declaration.declared()
    }
}
