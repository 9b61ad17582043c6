//! Servers on a thread of their own, whose CPU time can be told from that of their clients.

use tokio::sync::{mpsc, oneshot};

use crate::Failure;
use crate::harness::thread_cpu;

/// A thread that runs one future; it ends when this is dropped.
pub(crate) struct ServerThread {
    ask: mpsc::UnboundedSender<oneshot::Sender<f64>>,
}

impl ServerThread {
    /// Starts a thread with a runtime of its own. `serve` runs there until this is dropped.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn start<F>(serve: impl FnOnce() -> F + Send + 'static) -> Result<Self, Failure>
    where
        F: Future<Output = ()> + 'static,
    {
        let (ask, mut asked) = mpsc::unbounded_channel::<oneshot::Sender<f64>>();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::Builder::new().name("server".to_owned()).spawn(move || {
            runtime.block_on(async {
                let clock = async {
                    while let Some(answer) = asked.recv().await {
                        let _ = answer.send(thread_cpu());
                    }
                };
                tokio::select! {
                    biased;
                    () = clock => {}
                    () = serve() => {}
                }
            });
        })?;
        Ok(Self { ask })
    }

    /// CPU time that the thread has used, in microseconds.
    ///
    /// # Errors
    /// When the server has ended.
    pub(crate) async fn cpu(&self) -> Result<f64, Failure> {
        let (answer, wait) = oneshot::channel();
        self.ask.send(answer).map_err(|_| "the server's thread has ended")?;
        Ok(wait.await?)
    }
}
