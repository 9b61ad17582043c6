//! Tasks that start and stop together.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use tokio::task::{JoinError, JoinHandle};
use tokio::time::timeout;

use super::error::ManagerError;
use crate::env::Env;
use crate::shutdown::Shutdown;

/// How long tasks that are told to drop their work may take to do so.
const ABORT_WITHIN: Duration = Duration::from_secs(1);

/// Tasks of one part of a manager. Dropped, they end where they stand.
pub(super) struct Group {
    env: Env,
    /// Tells the tasks to finish.
    pub(super) stop: Shutdown,
    /// Tells them to drop what still runs.
    pub(super) abort: Shutdown,
    tasks: Vec<Task>,
}

struct Task {
    name: String,
    handle: JoinHandle<Result<(), ManagerError>>,
}

impl Group {
    pub(super) fn new(env: &Env) -> Self {
        Self {
            env: env.clone(),
            stop: Shutdown::new(),
            abort: Shutdown::new(),
            tasks: Vec::new(),
        }
    }

    /// Starts a task.
    pub(super) fn spawn(
        &mut self,
        name: impl Into<String>,
        part: &'static str,
        task: impl Future<Output = Result<(), ManagerError>> + Send + 'static,
    ) {
        self.tasks.push(Task {
            name: name.into(),
            handle: self.env.spawn(part, task),
        });
    }

    /// Returns when a task failed or panicked. Tasks that end well are no news.
    ///
    /// # Cancel safety
    ///
    /// Safe.
    pub(super) async fn failed(&mut self) -> ManagerError {
        poll_fn(|cx| {
            // In order of their start, so that the first of several failures is always the same.
            let mut index = 0;
            while index < self.tasks.len() {
                match Pin::new(&mut self.tasks[index].handle).poll(cx) {
                    Poll::Pending => index += 1,
                    Poll::Ready(result) => {
                        let task = self.tasks.remove(index);
                        if let Some(error) = verdict(task.name, result) {
                            return Poll::Ready(error);
                        }
                    }
                }
            }
            Poll::Pending
        })
        .await
    }

    /// Lets the tasks finish, at most `within`; then they drop their work. Failures on the way are logged. True if
    /// all finished in time.
    pub(super) async fn finish(&mut self, within: Duration) -> bool {
        self.stop.trigger();
        if timeout(within, self.ended()).await.is_ok() {
            return true;
        }
        let names: Vec<&str> = self.tasks.iter().map(|task| &*task.name).collect();
        tracing::warn!(
            "still running after {within:?}, so their work is dropped: {}",
            names.join(", ")
        );
        self.drop_work().await;
        false
    }

    /// Makes the tasks drop their work at once.
    pub(super) async fn drop_work(&mut self) {
        self.stop.trigger();
        self.abort.trigger();
        if timeout(ABORT_WITHIN, self.ended()).await.is_err() {
            for task in &self.tasks {
                tracing::warn!("{} did not end and is cut off", task.name);
                task.handle.abort();
            }
        }
    }

    async fn ended(&mut self) {
        while !self.tasks.is_empty() {
            let result = (&mut self.tasks[0].handle).await;
            let task = self.tasks.remove(0);
            if let Some(error) = verdict(task.name, result) {
                tracing::error!(%error, "while stopping");
            }
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.handle.abort();
        }
    }
}

fn verdict(name: String, result: Result<Result<(), ManagerError>, JoinError>) -> Option<ManagerError> {
    match result {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error),
        Err(error) => {
            let payload = error.try_into_panic().ok()?;
            let text = payload.downcast_ref::<&str>().map(ToString::to_string);
            let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
            Some(ManagerError::Panicked {
                part: name,
                message: text.unwrap_or_else(|| "no message".to_owned()),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::{Instant, sleep};

    fn group() -> Group {
        Group::new(&Env::seeded(jiff::Timestamp::UNIX_EPOCH, 1))
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_panics_is_told_by_name_and_one_that_ends_well_is_not() {
        let mut group = group();
        group.spawn("fine", "test", async { Ok(()) });
        group.spawn("broken", "test", async { panic!("oh") });
        assert_eq!(group.failed().await.to_string(), "broken panicked: oh");
        assert!(timeout(Duration::from_secs(1), group.failed()).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn tasks_that_do_not_finish_in_time_drop_their_work() {
        let mut group = group();
        let abort = group.abort.clone();
        group.spawn("slow", "test", async move {
            tokio::select! {
                biased;
                () = abort.wait() => {}
                () = sleep(Duration::from_secs(3600)) => {}
            }
            Ok(())
        });
        group.spawn("stuck", "test", std::future::pending());
        let start = Instant::now();
        assert!(!group.finish(Duration::from_secs(5)).await);
        assert_eq!(start.elapsed(), Duration::from_secs(6));
    }
}
