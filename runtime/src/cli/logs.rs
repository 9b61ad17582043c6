//! Where log lines go, and in which form.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use super::Failure;
use super::args::{LogArgs, LogFormat};

/// How to log. [`Logs::start`] makes it so for the whole process.
#[derive(Debug)]
pub(crate) struct Logs {
    filter: String,
    format: LogFormat,
}

impl Logs {
    /// What the flags say; the filter of `RUST_LOG` where they say nothing, else `otherwise`.
    pub(crate) fn new(args: LogArgs, otherwise: &str) -> Self {
        let filter = args
            .log
            .or_else(|| std::env::var("RUST_LOG").ok().filter(|filter| !filter.is_empty()))
            .unwrap_or_else(|| otherwise.to_owned());
        let format = args.log_format.unwrap_or(if std::io::stderr().is_terminal() {
            LogFormat::Text
        } else {
            LogFormat::Json
        });
        Self { filter, format }
    }

    /// Logs in lines for people unless the flags ask for another form.
    #[cfg(feature = "dev")]
    pub(crate) fn for_people(args: LogArgs, otherwise: &str) -> Self {
        let format = args.log_format.unwrap_or(LogFormat::Text);
        Self {
            format,
            ..Self::new(args, otherwise)
        }
    }

    /// Installs the subscriber, which writes to stderr. Where the program installed its own before, that one stays.
    ///
    /// # Errors
    ///
    /// When the filter cannot be parsed.
    pub(crate) fn start(self) -> Result<(), Failure> {
        let filter = EnvFilter::try_new(&self.filter).map_err(|e| {
            Failure::new(format!(
                "`{}` is no log filter: {e}: write a level (error, warn, info, debug, trace) or target=level, \
                 separated by commas",
                self.filter
            ))
        })?;
        let builder = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(std::io::stderr);
        let installed = match self.format {
            LogFormat::Text => builder
                .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
                .try_init(),
            LogFormat::Json => builder.json().flatten_event(true).try_init(),
        };
        if installed.is_err() {
            tracing::debug!("a tracing subscriber is installed already; --log and --log-format change nothing");
        }
        Ok(())
    }
}
