//! One measured process: started for one figure, spoken to over its standard input and output.

use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::ValueEnum;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::server::Server;
use super::work::{Side, What};
use crate::Failure;

/// A process that caches the objects of a server; killed when dropped.
pub(crate) struct Worker {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    /// Resident memory before anything was listed, in KB.
    base: f64,
    /// What the server knows it by.
    pub(crate) reader: u64,
}

/// A process that has synced.
pub(crate) struct Synced {
    pub(crate) worker: Worker,
    /// CPU seconds since its start.
    pub(crate) cpu: f64,
}

impl Worker {
    /// Starts a process; it has listed nothing yet.
    ///
    /// # Errors
    /// When it does not start.
    pub(crate) async fn start(server: &Server, side: Side, what: What) -> Result<Self, Failure> {
        static READERS: AtomicU64 = AtomicU64::new(0);
        let reader = READERS.fetch_add(1, Ordering::Relaxed);
        let mut child = Command::new(std::env::current_exe()?)
            .args([
                "cache-worker",
                "--url",
                &server.url(reader),
                "--plural",
                server.plural(),
            ])
            .args(["--count", &server.count().to_string()])
            .args(["--side", &name(&side), "--what", &name(&what)])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let input = child.stdin.take().ok_or("standard input is a pipe")?;
        let output = child.stdout.take().ok_or("standard output is a pipe")?;
        let mut worker = Self {
            child,
            input,
            output: BufReader::new(output).lines(),
            base: 0.0,
            reader,
        };
        worker.hear("ready").await?;
        worker.base = worker.status("VmRSS:")?;
        Ok(worker)
    }

    /// Lets it list, and waits until it has.
    ///
    /// # Errors
    /// When it ends before.
    pub(crate) async fn sync(mut self) -> Result<Synced, Failure> {
        self.say("go").await?;
        let cpu = self.hear("synced").await?;
        let cpu = cpu.first().copied().ok_or("a worker tells its CPU time")?;
        Ok(Synced { worker: self, cpu })
    }

    /// Asks for something; answers what it says to that.
    ///
    /// # Errors
    /// When it ends before.
    pub(crate) async fn ask(&mut self, question: &str) -> Result<Vec<f64>, Failure> {
        self.say(question).await?;
        self.hear("done").await
    }

    /// Says that something is about to happen, lets it happen, and waits until it was noticed.
    ///
    /// # Errors
    /// When it ends before.
    pub(crate) async fn witness(&mut self, question: &str, happen: impl FnOnce()) -> Result<Vec<f64>, Failure> {
        self.say(question).await?;
        self.hear("ready").await?;
        happen();
        self.hear("done").await
    }

    /// Resident memory now, in KB.
    ///
    /// # Errors
    /// When it has ended.
    pub(crate) fn resident(&self) -> Result<f64, Failure> {
        self.status("VmRSS:")
    }

    /// Resident memory beyond that of the process before it listed anything, in KB.
    ///
    /// # Errors
    /// When it has ended.
    pub(crate) fn grown(&self) -> Result<f64, Failure> {
        Ok(self.resident()? - self.base)
    }

    /// The most that [`grown`](Self::grown) ever was, in KB.
    ///
    /// # Errors
    /// When it has ended.
    pub(crate) fn peak(&self) -> Result<f64, Failure> {
        Ok(self.status("VmHWM:")? - self.base)
    }

    /// Starts to count the most resident memory anew.
    ///
    /// # Errors
    /// When it has ended.
    pub(crate) fn forget_peak(&self) -> Result<(), Failure> {
        Ok(std::fs::write(format!("/proc/{}/clear_refs", self.pid()?), "5")?)
    }

    fn pid(&self) -> Result<u32, Failure> {
        Ok(self.child.id().ok_or("the worker has ended")?)
    }

    fn status(&self, field: &str) -> Result<f64, Failure> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.pid()?))?;
        let line = text.lines().find_map(|line| line.strip_prefix(field));
        let value = line.and_then(|line| line.split_whitespace().next()).unwrap_or_default();
        Ok(value.parse()?)
    }

    async fn say(&mut self, line: &str) -> Result<(), Failure> {
        self.input.write_all(format!("{line}\n").as_bytes()).await?;
        Ok(self.input.flush().await?)
    }

    /// The numbers after a word.
    async fn hear(&mut self, word: &str) -> Result<Vec<f64>, Failure> {
        let Some(line) = self.output.next_line().await? else {
            return Err(format!("a worker ended instead of saying `{word}`").into());
        };
        let Some(rest) = line.strip_prefix(word) else {
            return Err(format!("a worker said `{line}` instead of `{word}`").into());
        };
        rest.split_whitespace().map(|number| Ok(number.parse()?)).collect()
    }
}

fn name(value: &impl ValueEnum) -> String {
    let value = value.to_possible_value();
    value.map(|value| value.get_name().to_owned()).unwrap_or_default()
}
