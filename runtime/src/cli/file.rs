//! A file that gives values to flags: below the command line and the environment, above the defaults.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::{Arg, Command};
use serde_json::Value;

use super::Failure;

/// The variable that stands for `--config`.
pub(super) const VARIABLE: &str = "OPERATOR_CONFIG";
/// The flag itself, and one that only a person gives.
const NOT_IN_FILES: [&str; 3] = ["config", "help", "kubeconfig"];

/// The command with the values of the file, if the command line or the environment names one.
///
/// # Errors
///
/// A file that cannot be read, or that sets what there is not.
pub(super) fn with_values(command: Command, line: &[OsString]) -> Result<Command, Failure> {
    match named(line, std::env::var_os(VARIABLE)) {
        None => Ok(command),
        Some(path) => with_values_of(command, &path),
    }
}

/// The file that `--config` names, else the variable.
fn named(line: &[OsString], variable: Option<OsString>) -> Option<PathBuf> {
    let mut words = line.iter();
    while let Some(word) = words.next() {
        if word == OsStr::new("--config") {
            return words.next().map(PathBuf::from);
        }
        if let Some(path) = word.to_str().and_then(|word| word.strip_prefix("--config=")) {
            return Some(PathBuf::from(path));
        }
    }
    variable.filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn with_values_of(mut command: Command, path: &Path) -> Result<Command, Failure> {
    let shown = path.display();
    let unusable = |why: &str| {
        Failure::new(format!(
            "configuration file {shown} cannot be used: {why}: mend it, or give another with --config"
        ))
    };
    let text = std::fs::read_to_string(path).map_err(|error| unusable(&error.to_string()))?;
    let value: Value = serde_saphyr::from_str(&text).map_err(|error| {
        let told = error.to_string();
        unusable(told.lines().next().unwrap_or_default())
    })?;
    let settings = match value {
        Value::Object(settings) => settings,
        Value::Null => return Ok(command),
        _ => return Err(unusable("it is no mapping, such as `metrics: 9090`")),
    };
    let known = known(&command);
    for (name, value) in settings {
        if !known.contains(&name) {
            return Err(unusable(&format!(
                "`{name}` is no setting: settings are {}",
                known.join(", ")
            )));
        }
        let words =
            words(&value).ok_or_else(|| unusable(&format!("`{name}` is no text, number, truth value or list")))?;
        command = give(command, &name, &words);
        for subcommand in ["run", "uninstall", "manifests"] {
            command = command.mut_subcommand(subcommand, |command| give(command, &name, &words));
        }
    }
    Ok(command)
}

/// What a file may set: the flags of `run`.
fn known(command: &Command) -> Vec<String> {
    let flags = command.get_arguments().filter_map(Arg::get_long);
    let mut known: Vec<String> = flags
        .filter(|flag| !NOT_IN_FILES.contains(flag))
        .map(str::to_owned)
        .collect();
    known.sort_unstable();
    known
}

/// Makes the words the default of the flag, where there is such a flag.
fn give(command: Command, flag: &str, words: &[String]) -> Command {
    let found = command.get_arguments().find(|arg| arg.get_long() == Some(flag));
    match found.map(|arg| arg.get_id().clone()) {
        None => command,
        Some(id) => command.mut_arg(id, |arg| arg.default_values(words.to_vec())),
    }
}

/// A value as the command line would have it; a mapping is a list of `key=value`.
fn words(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Array(items) => items.iter().map(word).collect(),
        Value::Object(pairs) => {
            let pair = |(key, value): (&String, &Value)| Some(format!("{key}={}", word(value)?));
            pairs.iter().map(pair).collect()
        }
        single => Some(vec![word(single)?]),
    }
}

fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::{Cli, Command as Asked, Endpoint, RunArgs};
    use clap::{CommandFactory as _, FromArgMatches as _};

    fn run(file: &str, line: &str) -> Result<RunArgs, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.yaml");
        std::fs::write(&path, file).expect("written");
        let command = with_values_of(Cli::command(), &path).map_err(|failure| failure.to_string())?;
        let matches = command
            .try_get_matches_from(line.split_whitespace())
            .map_err(|error| error.to_string())?;
        let cli = Cli::from_arg_matches(&matches).expect("what was parsed");
        match cli.command {
            None => Ok(cli.run),
            Some(Asked::Run(args)) => Ok(*args),
            Some(_) => panic!("`run` was meant"),
        }
    }

    const FILE: &str = "
metrics: 9090
leader-election: false
watch-namespaces: [a, b]
workers: { app: 8 }
client-rate: 50
stop-within: 5s
log: debug
";

    #[test]
    fn a_file_gives_what_neither_the_line_nor_a_variable_gives() {
        for line in ["op --health off", "op run --health off"] {
            let args = run(FILE, line).expect("valid");
            assert_eq!(args.metrics, "9090".parse::<Endpoint>().expect("a port"));
            assert_eq!(args.health, Endpoint(None));
            assert!(!args.election.leader_election);
            assert_eq!(args.cluster.watch_namespaces, ["a", "b"]);
            assert_eq!(args.cluster.client_rate, Some(50));
            assert_eq!((&*args.workers[0].controller, args.workers[0].count), ("app", 8));
            assert_eq!(args.logs.log.as_deref(), Some("debug"));
        }
    }

    #[test]
    fn the_line_goes_before_the_file() {
        let args = run(FILE, "op run --metrics off --watch-namespaces c --leader-election").expect("valid");
        assert_eq!(args.metrics, Endpoint(None));
        assert_eq!(args.cluster.watch_namespaces, ["c"]);
        assert!(args.election.leader_election);
    }

    #[test]
    fn what_is_no_setting_or_no_value_is_named() {
        let error = |file: &str| run(file, "op").expect_err("wrong");
        let unknown = error("metric: 1");
        assert!(
            unknown.contains("`metric` is no setting") && unknown.contains("metrics"),
            "{unknown}"
        );
        assert!(error("metrics: localhost").contains("--metrics"));
        assert!(error("- a").contains("no mapping"));
        assert!(error("metrics: [").contains("cannot be used"));
        assert!(run("", "op").is_ok());
    }

    #[test]
    fn the_line_names_the_file_before_the_variable_does() {
        let of = |line: &str, variable: Option<&str>| {
            let line: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            named(&line, variable.map(OsString::from)).map(|path| path.display().to_string())
        };
        assert_eq!(of("op run --config a", Some("b")).as_deref(), Some("a"));
        assert_eq!(of("op --config=a", None).as_deref(), Some("a"));
        assert_eq!(of("op", Some("b")).as_deref(), Some("b"));
        assert_eq!(of("op", Some("")), None);
    }
}
