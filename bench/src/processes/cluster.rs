//! API servers on real sockets: one inside this process, whose requests can be counted, and the server's own binary.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use futures::{TryStreamExt as _, stream};
use kubewright::dev::apiserver::server::{ApiServer, Simulate, Tls};
use kubewright::dev::{connect, service_account_token};
use kubewright::kube;
use kubewright::kube::client::ClientBuilder;
use kubewright::kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kubewright::manifests::documents;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::Failure;
use crate::process::{Process, until};

const APPS: &str = "/apis/demo.dev/v1/namespaces/default/apps";

/// A cluster to run an operator against.
pub(crate) struct Cluster {
    /// What an operator is started with.
    pub(crate) kubeconfig: PathBuf,
    client: kube::Client,
}

/// A server inside this process.
pub(crate) struct Embedded {
    pub(crate) server: ApiServer,
    pub(crate) cluster: Cluster,
}

impl Embedded {
    /// Starts it on a free port; `operator` gets exactly the rights of its manifests.
    pub(crate) async fn start(folder: &Path, operator: &Path) -> Result<Self, Failure> {
        let server = ApiServer::builder()
            .simulate(Simulate::Full)
            .service_accounts(true)
            .endpoints(true)
            .owner_references_permission(true)
            .build();
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("https://{}", listener.local_addr()?);
        let tls = Tls::self_signed(&["127.0.0.1"])?;
        let certificate = tls.certificate().to_owned();
        tokio::spawn({
            let server = server.clone();
            async move { server.run_controllers().await }
        });
        tokio::spawn({
            let server = server.clone();
            async move { server.serve(listener, tls, std::future::pending()).await }
        });
        let authority = folder.join("ca.pem");
        std::fs::write(&authority, certificate)?;
        let kubeconfig = folder.join("kubeconfig");
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "bench",
            "clusters": [{ "name": "bench", "cluster": { "server": url, "certificate-authority": authority } }],
            "users": [{ "name": "bench", "user": { "token": service_account_token(&server, "default", "app-operator") } }],
            "contexts": [{ "name": "bench", "context": { "cluster": "bench", "user": "bench", "namespace": "default" } }],
        });
        std::fs::write(&kubeconfig, config.to_string())?;
        let cluster = Cluster {
            kubeconfig,
            client: connect(&server, &server.admin_token(), "default"),
        };
        cluster.install(operator).await?;
        Ok(Self { server, cluster })
    }
}

/// The server's own binary.
pub(crate) struct Binary {
    pub(crate) cluster: Cluster,
    _process: Process,
}

impl Binary {
    /// Starts it on a free port and waits until it answers.
    pub(crate) async fn start(folder: &Path, apiserver: &Path, operator: &Path) -> Result<Self, Failure> {
        let kubeconfig = folder.join("kubeconfig");
        let port = TcpListener::bind("127.0.0.1:0").await?.local_addr()?.port();
        let log = folder.join("apiserver.log");
        let listen = format!("127.0.0.1:{port}");
        let file = kubeconfig.display().to_string();
        let args = ["--listen", &listen, "--kubeconfig", &file, "--simulate", "full"];
        let mut process = Process::start("kubewright-apiserver", apiserver, &args, &log)?;
        until("the API server wrote its kubeconfig", Duration::from_secs(20), || {
            let there = kubeconfig.is_file();
            let runs = process.must_run(&log);
            async move { runs.map(|()| there) }
        })
        .await?;
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(Kubeconfig::read_from(&kubeconfig)?, &options).await?;
        let client = ClientBuilder::try_from(config)?.build();
        until("the API server answers", Duration::from_secs(20), || {
            let client = client.clone();
            async move { Ok(client.apiserver_version().await.is_ok()) }
        })
        .await?;
        let cluster = Cluster { kubeconfig, client };
        cluster.install(operator).await?;
        Ok(Self {
            cluster,
            _process: process,
        })
    }
}

impl Cluster {
    /// Creates what `operator manifests` prints.
    async fn install(&self, operator: &Path) -> Result<(), Failure> {
        let output = Command::new(operator).arg("manifests").output()?;
        if !output.status.success() {
            return Err(format!("manifests: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        for object in documents(&String::from_utf8(output.stdout)?)? {
            let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
            let rbac = "/apis/rbac.authorization.k8s.io/v1";
            let path = match object["kind"].as_str().unwrap_or_default() {
                "CustomResourceDefinition" => "/apis/apiextensions.k8s.io/v1/customresourcedefinitions".to_owned(),
                "ServiceAccount" => format!("/api/v1/namespaces/{namespace}/serviceaccounts"),
                "ClusterRole" => format!("{rbac}/clusterroles"),
                "ClusterRoleBinding" => format!("{rbac}/clusterrolebindings"),
                "Role" => format!("{rbac}/namespaces/{namespace}/roles"),
                "RoleBinding" => format!("{rbac}/namespaces/{namespace}/rolebindings"),
                other => return Err(format!("manifests hold a {other}, which the benchmark does not know").into()),
            };
            self.send("POST", &path, Some(object)).await?;
        }
        Ok(())
    }

    /// Creates Apps named `app-<from>` up to `app-<to - 1>`, sixteen at a time.
    pub(crate) async fn create_apps(&self, from: usize, to: usize) -> Result<(), Failure> {
        stream::iter((from..to).map(Ok::<usize, Failure>))
            .try_for_each_concurrent(16, |i| async move {
                let app = json!({
                    "apiVersion": "demo.dev/v1", "kind": "App", "metadata": { "name": format!("app-{i}") },
                    "spec": { "image": "nginx:1.29", "replicas": 1, "config": { "GREETING": "hello" } },
                });
                self.send("POST", APPS, Some(app)).await.map(drop)
            })
            .await
    }

    /// How many Apps are ready.
    pub(crate) async fn ready(&self) -> Result<usize, Failure> {
        let list = self.send("GET", APPS, None).await?;
        let is_ready = |app: &&Value| {
            let conditions = app["status"]["conditions"].as_array().cloned().unwrap_or_default();
            conditions.iter().any(|c| c["type"] == "Ready" && c["status"] == "True")
        };
        Ok(list["items"]
            .as_array()
            .map_or(0, |items| items.iter().filter(is_ready).count()))
    }

    /// Waits until that many Apps are ready; answers how long it took.
    pub(crate) async fn until_ready(&self, count: usize) -> Result<Duration, Failure> {
        let what = format!("{count} Apps are ready");
        until(&what, Duration::from_secs(300), || async {
            Ok(self.ready().await? == count)
        })
        .await
    }

    /// How many objects there are whose controller is an App or, for ReplicaSets and Pods, descends from one.
    pub(crate) async fn children(&self, path: &str) -> Result<usize, Failure> {
        let list = self.send("GET", path, None).await?;
        let is_child = |object: &&Value| object["metadata"]["ownerReferences"].is_array();
        Ok(list["items"]
            .as_array()
            .map_or(0, |items| items.iter().filter(is_child).count()))
    }

    /// Who holds the Lease, and how often it changed hands.
    pub(crate) async fn leader(&self) -> Result<String, Failure> {
        let path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/app-operator";
        match self.send("GET", path, None).await {
            Ok(lease) => Ok(lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()),
            Err(_) => Ok(String::new()),
        }
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: Option<Value>) -> Result<Value, Failure> {
        let request = kube_request(method, path, body)?;
        Ok(self
            .client
            .request::<Value>(request)
            .await
            .map_err(|e| format!("{method} {path}: {e}"))?)
    }
}

fn kube_request(method: &str, path: &str, body: Option<Value>) -> Result<http::Request<Vec<u8>>, Failure> {
    let content_type = if method == "PATCH" {
        "application/merge-patch+json"
    } else {
        "application/json"
    };
    Ok(http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", content_type)
        .body(body.map(|b| b.to_string().into_bytes()).unwrap_or_default())?)
}
