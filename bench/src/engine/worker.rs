//! One measured process: spoken to over its standard input and output, its CPU time read from the system.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use clap::ValueEnum;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, sleep};

use super::cluster::Cluster;
use super::work::{Side, What};
use crate::Failure;

/// How long a process may take for what it is asked.
const PATIENCE: Duration = Duration::from_secs(240);

/// The programs that can be measured.
#[derive(Clone, Debug)]
pub(crate) struct Programs {
    own: PathBuf,
    /// The program in `bench/go`, where it could be built.
    pub(crate) go: Option<PathBuf>,
}

/// A process that reconciles the notes of a cluster; killed when dropped.
pub(crate) struct Worker {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    /// CPU seconds before it was told to go.
    before: f64,
}

impl Programs {
    /// This program, and the one in `bench/go` where it was built.
    ///
    /// # Errors
    /// When the system does not say where this program lies.
    pub(crate) fn new(go: Option<PathBuf>) -> Result<Self, Failure> {
        Ok(Self {
            own: std::env::current_exe()?,
            go,
        })
    }

    /// Starts a process and lets it begin.
    ///
    /// # Errors
    /// When it does not start.
    pub(crate) async fn start(
        &self,
        cluster: &Cluster,
        side: Side,
        what: What,
        workers: usize,
    ) -> Result<Worker, Failure> {
        let mut command = match side {
            Side::Go => Command::new(self.go.as_ref().ok_or("the program in bench/go is not there")?),
            _ => Command::new(&self.own),
        };
        if side != Side::Go {
            command.args(["engine-worker", "--side", &name(&side)]);
        }
        let mut child = command
            .args(["--what", &name(&what), "--workers", &workers.to_string()])
            .args(["--count", &cluster.count().to_string()])
            .arg("--kubeconfig")
            .arg(cluster.kubeconfig())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let input = child.stdin.take().ok_or("standard input is a pipe")?;
        let output = child.stdout.take().ok_or("standard output is a pipe")?;
        let mut worker = Worker {
            child,
            input,
            output: BufReader::new(output).lines(),
            before: 0.0,
        };
        worker.hear("ready").await?;
        worker.before = worker.cpu()?;
        worker.say("go").await?;
        Ok(worker)
    }
}

impl Worker {
    /// CPU seconds since it was told to go.
    ///
    /// # Errors
    /// When it has ended.
    pub(crate) fn used(&self) -> Result<f64, Failure> {
        Ok(self.cpu()? - self.before)
    }

    /// How often it has reconciled.
    ///
    /// # Errors
    /// When it has ended.
    pub(crate) async fn reconciles(&mut self) -> Result<f64, Failure> {
        self.ask("count").await
    }

    /// Waits until it has reconciled so often.
    ///
    /// # Errors
    /// When it has ended, or takes longer than anybody would wait.
    pub(crate) async fn until(&mut self, reconciles: f64) -> Result<(), Failure> {
        let began = Instant::now();
        loop {
            let now = self.reconciles().await?;
            if now >= reconciles {
                return Ok(());
            }
            if began.elapsed() > PATIENCE {
                return Err(format!("a worker reconciled {now} times and not {reconciles}").into());
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Asks for a number.
    ///
    /// # Errors
    /// When it has ended.
    pub(crate) async fn ask(&mut self, question: &str) -> Result<f64, Failure> {
        self.say(question).await?;
        self.hear("done").await
    }

    /// Ends it and waits until it is gone.
    ///
    /// # Errors
    /// When the system cannot.
    pub(crate) async fn kill(mut self) -> Result<(), Failure> {
        Ok(self.child.kill().await?)
    }

    /// CPU seconds since it began: user and system, of all threads.
    fn cpu(&self) -> Result<f64, Failure> {
        let pid = self.child.id().ok_or("the worker has ended")?;
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
        // Fields after the name in parentheses, which may hold blanks: utime and stime are the 12th and 13th.
        let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |at: usize| {
            fields
                .get(at)
                .and_then(|field| field.parse::<f64>().ok())
                .unwrap_or(0.0)
        };
        Ok((ticks(11) + ticks(12)) / 100.0)
    }

    async fn say(&mut self, line: &str) -> Result<(), Failure> {
        self.input.write_all(format!("{line}\n").as_bytes()).await?;
        Ok(self.input.flush().await?)
    }

    /// The number after a word.
    async fn hear(&mut self, word: &str) -> Result<f64, Failure> {
        let Some(line) = self.output.next_line().await? else {
            return Err(format!("a worker ended instead of saying `{word}`").into());
        };
        let rest = line
            .strip_prefix(word)
            .ok_or_else(|| format!("a worker said `{line}` instead of `{word}`"))?;
        Ok(rest.trim().parse()?)
    }
}

fn name(value: &impl ValueEnum) -> String {
    let value = value.to_possible_value();
    value.map(|value| value.get_name().to_owned()).unwrap_or_default()
}
