//! Servers on a thread of their own, whose CPU time can be told from that of their clients.

use std::path::PathBuf;
use std::sync::mpsc;

use tokio::sync::oneshot;

use crate::Failure;

/// A thread that runs one future; it ends when this is dropped.
pub(crate) struct ServerThread {
    schedule: PathBuf,
    _stop: oneshot::Sender<()>,
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
        let (told, wait) = mpsc::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        std::thread::Builder::new().name("server".to_owned()).spawn(move || {
            let _ = told.send(std::fs::read_link("/proc/thread-self"));
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            if let Ok(runtime) = runtime {
                runtime.block_on(async {
                    tokio::select! {
                        biased;
                        _ = stopped => {}
                        () = serve() => {}
                    }
                });
            }
        })?;
        let thread = wait.recv()??;
        Ok(Self {
            schedule: PathBuf::from("/proc").join(thread).join("schedstat"),
            _stop: stop,
        })
    }

    /// CPU time that the thread has used, in microseconds.
    ///
    /// # Errors
    /// When the thread is gone, or the system keeps no account.
    pub(crate) fn cpu(&self) -> Result<f64, Failure> {
        let text = std::fs::read_to_string(&self.schedule)?;
        let nanoseconds: f64 = text.split_whitespace().next().unwrap_or_default().parse()?;
        Ok(nanoseconds / 1e3)
    }
}
