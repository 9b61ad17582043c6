//! What the function of a test may take and return.

use std::fmt;

use crate::cluster::TestCluster;

/// What the body of a test takes.
#[diagnostic::on_unimplemented(
    message = "a test cannot take `{Self}`",
    label = "write `cluster: TestCluster`, or take nothing and make it in the body"
)]
pub trait Parameter {
    /// What is handed to the body.
    fn of(cluster: TestCluster) -> Self;
}

impl Parameter for TestCluster {
    fn of(cluster: TestCluster) -> Self {
        cluster
    }
}

/// What the body of a test answers: `()`, or a `Result` whose error fails the test.
#[diagnostic::on_unimplemented(
    message = "a test cannot return `{Self}`",
    label = "return `()`, or a `Result<(), E>` where `E: Debug`",
    note = "`kubewright::Result<()>` takes every error by `?`"
)]
pub trait Outcome {
    /// What the test fails with, if it does.
    fn failure(self) -> Option<String>;
}

impl Outcome for () {
    fn failure(self) -> Option<String> {
        None
    }
}

impl<E: fmt::Debug> Outcome for Result<(), E> {
    fn failure(self) -> Option<String> {
        self.err().map(|error| format!("the test returned an error: {error:?}"))
    }
}
