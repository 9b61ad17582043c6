//! From flags to a client: kubeconfig or the pod's own ServiceAccount.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use kube::Config;
use kube::client::ClientBuilder;
use kube::config::{InferConfigError, KubeConfigOptions, Kubeconfig};

use super::Failure;

/// How long the first request may take.
const FIRST_ANSWER: Duration = Duration::from_secs(10);

const CHECK_SERVER: &str =
    "check the server's address in the kubeconfig (--kubeconfig, --context), and that the cluster is up";

/// A client of the cluster that the flags mean, after one answered request.
pub(super) async fn connect(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<kube::Client, Failure> {
    let mut config = config(kubeconfig, context).await?;
    // The framework has its own retries, which know what is safe to repeat and what Retry-After says.
    config.default_retry = false;
    let server = config.cluster_url.to_string();
    let client = ClientBuilder::try_from(config)
        .map_err(|e| {
            Failure::new(format!(
                "cannot make a client for {server}: {}: check the user and the cluster in the kubeconfig \
                 (`kubectl config view --minify`), or choose another with --context",
                chain(&e)
            ))
        })?
        .build();
    first_answer(&client, &server).await?;
    Ok(client)
}

async fn config(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Config, Failure> {
    let options = KubeConfigOptions {
        context: context.map(str::to_owned),
        ..KubeConfigOptions::default()
    };
    if let Some(path) = kubeconfig {
        let shown = path.display();
        let file = Kubeconfig::read_from(path).map_err(|e| {
            Failure::new(format!(
                "kubeconfig {shown} cannot be used: {}: give another file with --kubeconfig",
                first_line(&innermost(&e))
            ))
        })?;
        return Config::from_custom_kubeconfig(file, &options)
            .await
            .map_err(|e| invalid(&format!("kubeconfig {shown}"), context, &e));
    }
    if context.is_some() {
        return Config::from_kubeconfig(&options)
            .await
            .map_err(|e| invalid("the kubeconfig", context, &e));
    }
    Config::infer().await.map_err(|e| nowhere(&e))
}

/// A kubeconfig that was read and does not hold what it should.
fn invalid(what: &str, context: Option<&str>, error: &dyn Error) -> Failure {
    let of = context.map(|c| format!(", context `{c}`")).unwrap_or_default();
    Failure::new(format!(
        "{what}{of}: {}: `kubectl config get-contexts` shows what it holds; choose with --context",
        first_line(&error.to_string())
    ))
}

/// Neither a kubeconfig nor a pod's ServiceAccount.
fn nowhere(error: &InferConfigError) -> Failure {
    let kubeconfig = error.source().map(ToString::to_string).unwrap_or_default();
    Failure::new(format!(
        "no cluster to talk to: this is no pod, and the kubeconfig ($KUBECONFIG or ~/.kube/config) cannot be used: {}: \
         give one with --kubeconfig, or try the operator without a cluster: `dev`",
        first_line(&kubeconfig)
    ))
}

/// Asks for the server's version, so that a wrong address or credential is found before anything starts.
async fn first_answer(client: &kube::Client, server: &str) -> Result<(), Failure> {
    match tokio::time::timeout(FIRST_ANSWER, client.apiserver_version()).await {
        Ok(Ok(version)) => {
            tracing::info!(server, version = version.git_version, "connected");
            Ok(())
        }
        Ok(Err(kube::Error::Api(status))) if status.code == 401 => Err(Failure::new(format!(
            "{server} does not accept the credentials (401): log in again, or choose another user with --context"
        ))),
        // Whoever may not ask for the version may still do the operator's work.
        Ok(Err(kube::Error::Api(status))) if status.code == 403 => Ok(()),
        Ok(Err(error)) => Err(Failure::new(format!(
            "cannot reach the API server at {server}: {}: {CHECK_SERVER}",
            innermost(&error)
        ))),
        Err(_) => Err(Failure::new(format!(
            "the API server at {server} did not answer within {} s: {CHECK_SERVER}",
            FIRST_ANSWER.as_secs()
        ))),
    }
}

/// The cause at the bottom of an error's chain, where the useful words are.
fn innermost(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

/// An error and its causes, without those that the one above has told already. A certificate's file and a login
/// command are named half way down.
fn chain(error: &dyn Error) -> String {
    let mut told = error.to_string();
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
        let text = cause.to_string();
        if !told.contains(&text) {
            told = format!("{told}: {text}");
        }
    }
    told
}

/// YAML errors go on for lines with a picture of the source.
fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim_end_matches(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot read `client.pem`")]
    struct Unread(#[source] std::io::Error);

    #[derive(Debug, thiserror::Error)]
    #[error("no credentials: {0}")]
    struct NoCredentials(#[source] Unread);

    #[test]
    fn a_chain_names_what_stands_half_way_down_and_nothing_twice() {
        let error = NoCredentials(Unread(std::io::Error::other("no such file")));
        assert_eq!(chain(&error), "no credentials: cannot read `client.pem`: no such file");
    }
}
