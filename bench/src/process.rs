//! Processes that end with the benchmark, and what the system knows of them.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use crate::Failure;

/// A process that is killed when dropped.
#[derive(Debug)]
pub(crate) struct Process {
    name: String,
    child: Child,
    pid: u32,
}

impl Process {
    /// Starts a program with its log in `log`.
    pub(crate) fn start(name: &str, program: &Path, args: &[&str], log: &Path) -> Result<Self, Failure> {
        let output = std::fs::File::create(log)?;
        let child = Command::new(program)
            .args(args)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .kill_on_drop(true)
            .spawn()
            .map_err(|e| {
                format!(
                    "cannot start {}: {e}: build it with cargo build --release",
                    program.display()
                )
            })?;
        let pid = child.id().ok_or("a process that has just begun has an id")?;
        Ok(Self {
            name: name.to_owned(),
            child,
            pid,
        })
    }

    /// Sends SIGKILL and waits.
    pub(crate) async fn kill(mut self) -> Result<(), Failure> {
        self.child.kill().await?;
        Ok(())
    }

    /// Sends SIGTERM and waits; answers how long it took.
    pub(crate) async fn stop(mut self) -> Result<Duration, Failure> {
        let asked = Instant::now();
        self.ask_to_stop().await?;
        let status = tokio::time::timeout(Duration::from_secs(60), self.child.wait())
            .await
            .map_err(|_| format!("{} did not stop within a minute", self.name))??;
        if !status.success() {
            return Err(format!("{} ended with {status}", self.name).into());
        }
        Ok(asked.elapsed())
    }

    /// Sends SIGTERM.
    pub(crate) async fn ask_to_stop(&self) -> Result<(), Failure> {
        self.signal("TERM").await
    }

    /// Sends SIGSTOP: nothing of it runs until [`Process::go_on`].
    pub(crate) async fn freeze(&self) -> Result<(), Failure> {
        self.signal("STOP").await
    }

    /// Sends SIGCONT.
    pub(crate) async fn go_on(&self) -> Result<(), Failure> {
        self.signal("CONT").await
    }

    /// Waits until it ends by itself; answers whether it did so with success.
    pub(crate) async fn ended(mut self, within: Duration) -> Result<bool, Failure> {
        let status = tokio::time::timeout(within, self.child.wait())
            .await
            .map_err(|_| format!("{} still runs after {within:?}", self.name))??;
        Ok(status.success())
    }

    async fn signal(&self, name: &str) -> Result<(), Failure> {
        Command::new("kill")
            .arg(format!("-{name}"))
            .arg(self.pid.to_string())
            .status()
            .await?;
        Ok(())
    }

    /// Fails if the process has ended, with the end of its log.
    pub(crate) fn must_run(&mut self, log: &Path) -> Result<(), Failure> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => {
                let text = std::fs::read_to_string(log).unwrap_or_default();
                let end: Vec<&str> = text.lines().rev().take(10).collect();
                let end: Vec<&str> = end.into_iter().rev().collect();
                Err(format!("{} ended with {status}:\n{}", self.name, end.join("\n")).into())
            }
        }
    }

    /// Resident memory in MB.
    pub(crate) fn resident_mb(&self) -> f64 {
        self.status("VmRSS:")
    }

    /// The most resident memory that it ever had, in MB.
    pub(crate) fn peak_mb(&self) -> f64 {
        self.status("VmHWM:")
    }

    /// Starts to count the most resident memory anew.
    pub(crate) fn forget_peak(&self) -> Result<(), Failure> {
        Ok(std::fs::write(format!("/proc/{}/clear_refs", self.pid), "5")?)
    }

    /// CPU seconds used, all threads, user and system.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        // Fields after the name in parentheses, which may hold blanks: utime and stime are the 12th and 13th.
        let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |i: usize| fields.get(i).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0);
        (ticks(11) + ticks(12)) / 100.0
    }

    fn status(&self, field: &str) -> f64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(field)).unwrap_or_default();
        let kilobytes: f64 = line
            .split_whitespace()
            .nth(1)
            .and_then(|n| n.parse().ok())
            .unwrap_or(0.0);
        kilobytes / 1024.0
    }
}

/// Looks every 50 ms until it holds; fails after `limit`. Answers how long it took.
pub(crate) async fn until<F>(what: &str, limit: Duration, mut holds: impl FnMut() -> F) -> Result<Duration, Failure>
where
    F: Future<Output = Result<bool, Failure>>,
{
    let began = Instant::now();
    loop {
        if holds().await? {
            return Ok(began.elapsed());
        }
        if began.elapsed() > limit {
            return Err(format!("within {} s it should hold that {what}", limit.as_secs()).into());
        }
        sleep(Duration::from_millis(50)).await;
    }
}
