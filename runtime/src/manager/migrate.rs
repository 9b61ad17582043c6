//! Storage version migration as a runnable.

use futures::future::BoxFuture;

use super::runnable::{RunContext, Runnable};
use crate::error::Result;
use crate::kind::Kind;
use crate::webhook::Migration;

/// Migrates the stored objects of one kind, on the leader.
pub(super) struct Migrate {
    name: String,
    operator: String,
    kind: Kind,
}

impl Migrate {
    pub(super) fn new(operator: &str, kind: Kind) -> Self {
        Self {
            name: format!("storage migration of {kind}"),
            operator: operator.to_owned(),
            kind,
        }
    }
}

impl Runnable for Migrate {
    fn name(&self) -> &str {
        &self.name
    }

    fn run(&self, context: RunContext) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let migration = Migration::new(context.client, self.kind.clone(), &self.operator);
            tokio::select! {
                biased;
                () = context.stop.wait() => {}
                () = migration.run(&context.env) => {}
            }
            Ok(())
        })
    }
}
