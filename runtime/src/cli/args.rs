//! The flags of an operator's command line.

use std::net::{Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

use super::failure::is_label;
use crate::health::MetricsAccess;

/// A Kubernetes operator.
#[derive(Debug, Parser)]
#[command(
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run against the cluster of the kubeconfig, or the one this pod is in (the default)
    Run(Box<RunArgs>),
    /// Run against an API server inside this process, and show what happens
    #[cfg(feature = "dev")]
    Dev(Box<DevArgs>),
    /// Print the CustomResourceDefinitions, the RBAC and the Deployment that the operator needs, as YAML
    Manifests(ManifestArgs),
    /// Take the operator out of the cluster: clean up what is being deleted, remove finalizers, report what is stuck
    Uninstall(Box<UninstallArgs>),
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    #[command(flatten)]
    pub(crate) election: ElectionArgs,
    /// Concurrent reconciles of a controller instead of what it declares, such as `app=8`; separated by commas
    #[arg(long, value_name = "NAME=N", env = "OPERATOR_WORKERS", value_delimiter = ',', value_parser = workers)]
    pub(crate) workers: Vec<Workers>,
    /// The most objects that may be deleted within a minute [default: no limit]
    #[arg(long, value_name = "N", env = "OPERATOR_DELETES_PER_MINUTE")]
    pub(crate) deletes_per_minute: Option<u32>,
    /// Where to serve /metrics: HOST:PORT, PORT or `off`
    #[arg(long, value_name = "ADDR", env = "OPERATOR_METRICS", default_value = "8080")]
    pub(crate) metrics: Endpoint,
    /// Who may read /metrics: everybody, or whose token the API server lets `get` that path
    #[arg(long, value_name = "WHO", env = "OPERATOR_METRICS_ACCESS", default_value = "open")]
    pub(crate) metrics_access: Access,
    /// Where to serve /healthz, /readyz and /statusz: HOST:PORT, PORT or `off`
    #[arg(long, value_name = "ADDR", env = "OPERATOR_HEALTH", default_value = "8081")]
    pub(crate) health: Endpoint,
    /// Where to serve webhooks over TLS, where there are any: HOST:PORT, PORT or `off`
    #[arg(long, value_name = "ADDR", env = "OPERATOR_WEBHOOKS", default_value = "9443")]
    pub(crate) webhooks: Endpoint,
    /// Directory with the webhooks' tls.crt and tls.key, read again when they change [default: the operator issues them]
    #[arg(long, value_name = "DIR", env = "OPERATOR_WEBHOOK_CERTS")]
    pub(crate) webhook_certs: Option<PathBuf>,
    /// How long running reconciles may take to finish after a request to stop
    #[arg(long, value_name = "TIME", env = "OPERATOR_STOP_WITHIN", default_value = "30s", value_parser = duration)]
    pub(crate) stop_within: Duration,
    #[command(flatten)]
    pub(crate) logs: LogArgs,
}

/// Which cluster, and what of it.
#[derive(Debug, Args)]
pub(crate) struct ClusterArgs {
    /// YAML file with values for flags that are not given, nor by a variable: `metrics: 9090`, `workers: { app: 8 }`
    #[arg(long, value_name = "FILE", env = super::file::VARIABLE)]
    pub(crate) config: Option<PathBuf>,
    /// Kubeconfig to use [default: $KUBECONFIG, ~/.kube/config, then the pod's ServiceAccount]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME", env = "OPERATOR_CONTEXT")]
    pub(crate) context: Option<String>,
    /// Namespace of the operator itself, where its Lease lives [default: the pod's or the context's, else `default`]
    #[arg(long, value_name = "NAME", env = "POD_NAMESPACE", value_parser = namespace)]
    pub(crate) namespace: Option<String>,
    /// Namespaces to watch, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", env = "OPERATOR_WATCH_NAMESPACES", value_delimiter = ',',
          value_parser = namespace_or_blank)]
    pub(crate) watch_namespaces: Vec<String>,
    /// Requests per second to the API server, Leases apart [default: no limit; the server has its own]
    #[arg(long, value_name = "N", env = "OPERATOR_CLIENT_RATE", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) client_rate: Option<u32>,
}

/// How replicas agree on who leads.
#[derive(Debug, Args)]
pub(crate) struct ElectionArgs {
    /// Whether replicas agree on one leader by a Lease
    #[arg(long, value_name = "BOOL", env = "OPERATOR_LEADER_ELECTION", default_value_t = true,
          num_args = 0..=1, default_missing_value = "true", action = ArgAction::Set)]
    pub(crate) leader_election: bool,
    /// Name of the Lease [default: the operator's name]
    #[arg(long, value_name = "NAME", env = "OPERATOR_LEASE_NAME", value_parser = lease_name)]
    pub(crate) lease_name: Option<String>,
    /// Name of this replica in the Lease [default: host name, process id and a random part]
    #[arg(long, value_name = "NAME", env = "POD_NAME")]
    pub(crate) identity: Option<String>,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("leftovers").required(true))]
pub(crate) struct UninstallArgs {
    /// Leave all objects, and what was made for them; only the operator's finalizers go
    #[arg(long, group = "leftovers")]
    pub(crate) keep: bool,
    /// Delete the objects of the kinds that the operator defines, and clean up as on any deletion
    #[arg(long, group = "leftovers")]
    pub(crate) delete: bool,
    /// How long to wait for the Lease and for clean-ups
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) within: Duration,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    #[command(flatten)]
    pub(crate) election: ElectionArgs,
    #[command(flatten)]
    pub(crate) logs: LogArgs,
}

/// Who may read the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Access {
    /// Everybody who reaches the address
    Open,
    /// Whose token the API server knows and lets `get` the path /metrics
    Reviewed,
}

impl From<Access> for MetricsAccess {
    fn from(access: Access) -> Self {
        match access {
            Access::Open => Self::Open,
            Access::Reviewed => Self::Reviewed,
        }
    }
}

/// Workers of one controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Workers {
    pub(crate) controller: String,
    pub(crate) count: usize,
}

#[derive(Debug, Args)]
#[cfg(feature = "dev")]
pub(crate) struct DevArgs {
    /// Apply this YAML file once the operator runs; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) apply: Vec<PathBuf>,
    /// Do not simulate workloads: Deployments stay as they were written, without pods
    #[arg(long)]
    pub(crate) no_simulate: bool,
    /// Where the API server listens for kubectl [default: any free port]
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0", hide_default_value = true)]
    pub(crate) listen: SocketAddr,
    /// Where to write the kubeconfig; removed at the end [default: in the user's runtime or cache directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) write_kubeconfig: Option<PathBuf>,
    /// Go on when a file given with --apply is refused
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// Namespace of the operator itself, where its Lease lives
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = namespace)]
    pub(crate) namespace: String,
    /// Where to serve /metrics: HOST:PORT, PORT or `off`
    #[arg(long, value_name = "ADDR", default_value = "off")]
    pub(crate) metrics: Endpoint,
    /// Where to serve /healthz, /readyz and /statusz: HOST:PORT, PORT or `off`
    #[arg(long, value_name = "ADDR", default_value = "off")]
    pub(crate) health: Endpoint,
    /// How webhooks are called: `in-process`, or over `tls` at 127.0.0.1:9443 or another HOST:PORT
    #[arg(long, value_name = "HOW", default_value = "in-process")]
    pub(crate) webhooks: DevWebhooks,
    #[command(flatten)]
    pub(crate) logs: LogArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ManifestArgs {
    /// Namespace of the operator: where its ServiceAccount and its Lease live
    #[arg(long, value_name = "NAME", env = "POD_NAMESPACE", default_value = "default", value_parser = namespace)]
    pub(crate) namespace: String,
    /// Grant rights in these namespaces only, separated by commas [default: the whole cluster]
    #[arg(long, value_name = "NAMES", env = "OPERATOR_WATCH_NAMESPACES", value_delimiter = ',',
          value_parser = namespace_or_blank)]
    pub(crate) watch_namespaces: Vec<String>,
    /// Print a Deployment of this image as well
    #[arg(long, value_name = "IMAGE", env = "OPERATOR_IMAGE")]
    pub(crate) image: Option<String>,
    /// Replicas of the Deployment; one leads, the others wait
    #[arg(long, value_name = "N", default_value_t = 1, requires = "image")]
    pub(crate) replicas: u32,
    /// Grant what `run --metrics-access reviewed` asks the API server
    #[arg(long, value_name = "WHO", env = "OPERATOR_METRICS_ACCESS", default_value = "open")]
    pub(crate) metrics_access: Access,
    /// Where the webhooks' certificates come from
    #[arg(
        long,
        value_name = "SOURCE",
        env = "OPERATOR_WEBHOOK_CERT_SOURCE",
        default_value = "issued"
    )]
    pub(crate) webhook_certs: CertSource,
}

/// Where the webhooks' certificates come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CertSource {
    /// The operator issues them and tells the API server
    Issued,
    /// cert-manager does both
    CertManager,
}

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// What to log: a level, or filters such as `info,kubewright=debug`
    #[arg(long, value_name = "FILTER", env = "OPERATOR_LOG")]
    pub(crate) log: Option<String>,
    /// How to log [default: text on a terminal, else json]
    #[arg(long, value_name = "FORMAT", env = "OPERATOR_LOG_FORMAT")]
    pub(crate) log_format: Option<LogFormat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people
    Text,
    /// One JSON object a line
    Json,
}

/// A namespace's name, which the server would refuse only much later.
fn namespace(text: &str) -> Result<String, String> {
    if is_label(text, 63) {
        return Ok(text.to_owned());
    }
    Err(
        "a namespace's name has at most 63 lower-case letters, digits and `-`, with a letter or digit at both ends"
            .to_owned(),
    )
}

/// One place of a list of namespaces; [`named`] drops the blank ones.
fn namespace_or_blank(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Ok(String::new()),
        name => namespace(name),
    }
}

/// A Lease's name.
fn lease_name(text: &str) -> Result<String, String> {
    if text.len() <= 253 && text.split('.').all(|label| is_label(label, 253)) {
        return Ok(text.to_owned());
    }
    Err(
        "a Lease's name has at most 253 lower-case letters, digits, `-` and `.`, with a letter or digit at both ends \
         and on both sides of a `.`"
            .to_owned(),
    )
}

/// `NAME=N`.
fn workers(text: &str) -> Result<Workers, String> {
    let parsed = text.split_once('=').and_then(|(controller, count)| {
        let count = count.trim().parse().ok().filter(|count| *count > 0)?;
        let controller = controller.trim().to_owned();
        (!controller.is_empty()).then_some(Workers { controller, count })
    });
    parsed.ok_or_else(|| "write the controller's name and how many, such as `app=8`".to_owned())
}

/// A time such as `30s` or `1m 30s`.
fn duration(text: &str) -> Result<Duration, String> {
    let parsed = text.parse::<jiff::SignedDuration>().ok();
    let parsed = parsed.and_then(|duration| Duration::try_from(duration).ok());
    parsed.ok_or_else(|| "write a time such as `30s`, `5m` or `1h 30m`".to_owned())
}

/// The names of a list; an empty variable in a Deployment is an empty list, and not one empty name.
pub(crate) fn named(list: Vec<String>) -> Vec<String> {
    let trimmed = list.into_iter().map(|name| name.trim().to_owned());
    trimmed.filter(|name| !name.is_empty()).collect()
}

/// An address to serve at, or `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint(pub(crate) Option<SocketAddr>);

impl std::str::FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if matches!(text, "off" | "none" | "0") {
            return Ok(Self(None));
        }
        let port = text.strip_prefix(':').unwrap_or(text);
        if let Ok(port) = port.parse::<u16>() {
            return Ok(Self(Some((Ipv6Addr::UNSPECIFIED, port).into())));
        }
        text.parse()
            .map(|address| Self(Some(address)))
            .map_err(|_| "write HOST:PORT with an IP address, such as 127.0.0.1:8080, a PORT, or `off`".to_owned())
    }
}

/// How `dev` calls webhooks.
#[cfg(feature = "dev")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DevWebhooks {
    InProcess,
    Tls(SocketAddr),
}

#[cfg(feature = "dev")]
impl std::str::FromStr for DevWebhooks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "in-process" => Ok(Self::InProcess),
            "tls" => Ok(Self::Tls(([127, 0, 0, 1], crate::webhook::PORT).into())),
            _ => text
                .parse()
                .map(Self::Tls)
                .map_err(|_| "write `in-process`, `tls`, or HOST:PORT with an IP address for TLS there".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: &str) -> RunArgs {
        let cli = Cli::try_parse_from(line.split_whitespace()).expect("valid flags");
        match cli.command {
            None => cli.run,
            Some(Command::Run(args)) => *args,
            Some(_) => panic!("`run` was meant"),
        }
    }

    #[test]
    fn the_definition_of_the_flags_is_consistent() {
        use clap::CommandFactory as _;
        Cli::command().debug_assert();
    }

    #[test]
    fn an_empty_list_of_namespaces_names_none() {
        let listed = run("op --watch-namespaces= ").cluster.watch_namespaces;
        assert_eq!(named(listed), Vec::<String>::new());
        assert_eq!(named(vec!["a".to_owned(), " b ".to_owned(), String::new()]), ["a", "b"]);
    }

    #[test]
    fn a_name_that_the_server_would_refuse_is_refused_before_anything_starts() {
        for flags in [
            "run --namespace B_",
            "run --watch-namespaces a,B_",
            "run --lease-name a..b",
            "manifests --namespace a.b",
            "manifests --watch-namespaces -a",
        ] {
            let line = std::iter::once("op").chain(flags.split(' '));
            assert!(Cli::try_parse_from(line).is_err(), "{flags}");
        }
        let args = run("op --namespace ops --watch-namespaces a,,b --lease-name ops.example-1");
        assert_eq!(args.cluster.namespace.as_deref(), Some("ops"));
        assert_eq!(named(args.cluster.watch_namespaces), ["a", "b"]);
        assert_eq!(args.election.lease_name.as_deref(), Some("ops.example-1"));
    }

    #[test]
    fn run_is_the_default_and_takes_the_same_flags() {
        for line in ["op --context a --metrics off", "op run --context a --metrics off"] {
            let args = run(line);
            assert_eq!(args.cluster.context.as_deref(), Some("a"));
            assert_eq!(args.metrics, Endpoint(None));
        }
    }

    #[test]
    fn leader_election_is_on_unless_switched_off() {
        assert!(run("op").election.leader_election);
        assert!(run("op --leader-election").election.leader_election);
        assert!(!run("op --leader-election=false").election.leader_election);
    }

    #[test]
    fn workers_are_a_name_and_a_number_and_times_have_units() {
        let args = run("op --workers app=8,db=2 --stop-within 1m30s");
        let workers: Vec<(&str, usize)> = args.workers.iter().map(|w| (&*w.controller, w.count)).collect();
        assert_eq!(workers, [("app", 8), ("db", 2)]);
        assert_eq!(args.stop_within, Duration::from_secs(90));
        for wrong in [
            "--workers app",
            "--workers app=0",
            "--workers =3",
            "--stop-within 30",
            "--stop-within -3s",
        ] {
            let line = std::iter::once("op").chain(wrong.split(' '));
            assert!(Cli::try_parse_from(line).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_uninstall_must_say_what_becomes_of_the_objects() {
        let parse = |line: &str| Cli::try_parse_from(line.split_whitespace());
        let error = parse("op uninstall").expect_err("nothing is said").to_string();
        assert!(error.contains("--keep") && error.contains("--delete"), "{error}");
        assert!(parse("op uninstall --keep --delete").is_err());
        assert!(parse("op uninstall --delete --within 10s").is_ok());
    }

    #[test]
    fn an_endpoint_is_an_address_a_port_or_off() {
        let of = |text: &str| text.parse::<Endpoint>().map(|e| e.0.map(|a| a.to_string()));
        assert_eq!(of("127.0.0.1:9"), Ok(Some("127.0.0.1:9".to_owned())));
        assert_eq!(of(":8080"), Ok(Some("[::]:8080".to_owned())));
        assert_eq!(of("8080"), Ok(Some("[::]:8080".to_owned())));
        assert_eq!(of("off"), Ok(None));
        assert!(of("localhost").is_err());
    }
}
