//! The program itself, as a process: what it prints when something is wrong.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};

fn operator(args: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a temporary folder");
    Command::new(env!("CARGO_BIN_EXE_app-operator"))
        .args(args)
        // No cluster of whoever runs the test.
        .env("HOME", folder.path())
        .env("XDG_RUNTIME_DIR", folder.path())
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .env("OPERATOR_METRICS", "off")
        .env("OPERATOR_HEALTH", "off")
        .output()
        .expect("the program starts")
}

/// The one line on stderr, which must begin with `error: `.
fn error(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1, "one line is meant to be printed:\n{text}");
    assert!(lines[0].starts_with("error: "), "{text}");
    lines[0].to_owned()
}

fn kubeconfig(folder: &Path, server: &str) -> String {
    let path = folder.join("kubeconfig");
    let text = format!(
        "apiVersion: v1
kind: Config
clusters: [{{ name: a, cluster: {{ server: '{server}' }} }}]
users: [{{ name: a, user: {{ token: t }} }}]
contexts: [{{ name: a, context: {{ cluster: a, user: a }} }}]
current-context: a
"
    );
    fs::write(&path, text).expect("written");
    path.display().to_string()
}

#[test]
fn a_kubeconfig_that_is_missing_is_named() {
    let error = error(&operator(&["run", "--kubeconfig", "/nowhere/config"]));
    assert!(
        error.contains("/nowhere/config") && error.contains("--kubeconfig"),
        "{error}"
    );
}

#[test]
fn a_kubeconfig_that_is_no_yaml_is_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("config");
    fs::write(&path, "clusters: [").expect("written");
    let error = error(&operator(&["--kubeconfig", &path.display().to_string()]));
    assert!(error.contains("config cannot be used"), "{error}");
}

#[test]
fn a_proxy_that_this_build_cannot_use_is_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = kubeconfig(folder.path(), "https://127.0.0.1:1");
    let text = fs::read_to_string(&path).expect("just written");
    let text = text.replace("server:", "proxy-url: 'http://127.0.0.1:2', server:");
    fs::write(&path, text).expect("written");
    let error = error(&operator(&["--kubeconfig", &path]));
    assert!(
        error.contains("http://127.0.0.1:2") && error.contains("proxy"),
        "{error}"
    );
}

#[test]
fn a_context_that_the_kubeconfig_does_not_hold_is_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = kubeconfig(folder.path(), "https://127.0.0.1:1");
    let error = error(&operator(&["--kubeconfig", &path, "--context", "prod"]));
    assert!(error.contains("prod") && error.contains("get-contexts"), "{error}");
}

#[test]
fn no_cluster_at_all_is_told_with_the_way_out() {
    let error = error(&operator(&[]));
    assert!(
        error.contains("no cluster to talk to") && error.contains("`dev`"),
        "{error}"
    );
}

#[test]
fn a_server_that_does_not_answer_is_told_with_its_address() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = free.local_addr().expect("it has an address");
    drop(free);
    let path = kubeconfig(folder.path(), &format!("https://{address}"));
    let error = error(&operator(&["--kubeconfig", &path]));
    assert!(error.contains("cannot reach the API server"), "{error}");
    assert!(
        error.contains(&address.to_string()) && error.contains("refused"),
        "{error}"
    );
}

#[test]
fn a_flag_that_does_not_exist_is_refused_with_code_2() {
    let output = operator(&["run", "--leader-elections"]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains("--leader-elections") && text.contains("--leader-election"),
        "{text}"
    );
}

#[test]
fn an_address_that_is_none_is_refused_with_how_to_write_one() {
    let output = operator(&["run", "--metrics", "localhost"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("HOST:PORT"));
}

#[test]
fn a_port_in_use_is_named_with_the_flag_that_changes_it() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("it has an address").to_string();
    let listening = error(&operator(&["dev", "--listen", &address]));
    assert!(
        listening.contains(&address) && listening.contains("--listen"),
        "{listening}"
    );
    let metrics = error(&operator(&["dev", "--metrics", &address]));
    assert!(metrics.contains(&address) && metrics.contains("--metrics"), "{metrics}");
}

#[test]
fn a_sample_that_the_server_refuses_is_named_with_file_object_and_field() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("bad.yaml");
    fs::write(&path, crate::SAMPLE.replace("replicas: 2", "replicas: many")).expect("written");
    let file = path.display().to_string();
    let error = error(&operator(&["dev", "--apply", &file]));
    assert!(
        error.contains(&file) && error.contains("app/hello") && error.contains("replicas"),
        "{error}"
    );
}

#[test]
fn a_sample_of_a_kind_that_is_not_installed_is_told_so() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("bad.yaml");
    fs::write(&path, crate::SAMPLE.replace("kind: App", "kind: Application")).expect("written");
    let error = error(&operator(&["dev", "--apply", &path.display().to_string()]));
    assert!(error.contains("no kind Application in demo.dev/v1"), "{error}");
}

#[test]
fn a_filter_that_is_none_is_refused() {
    let error = error(&operator(&["dev", "--log", "kubewright=loud"]));
    assert!(error.contains("kubewright=loud") && error.contains("info"), "{error}");
}

#[test]
fn manifests_are_the_same_each_time_and_can_be_applied() {
    let first = operator(&["manifests", "--namespace", "ops"]);
    assert!(first.status.success());
    assert_eq!(first.stdout, operator(&["manifests", "--namespace", "ops"]).stdout);
    let objects = kubewright::manifests::documents(&String::from_utf8_lossy(&first.stdout)).expect("valid YAML");
    let kinds: Vec<&str> = objects.iter().filter_map(|o| o["kind"].as_str()).collect();
    assert_eq!(
        kinds,
        [
            "CustomResourceDefinition",
            "ServiceAccount",
            "ClusterRole",
            "ClusterRoleBinding",
            "Role",
            "RoleBinding",
            // What serving webhooks needs: its certificates, its own configurations, and who calls it where.
            "ClusterRole",
            "ClusterRoleBinding",
            "Role",
            "RoleBinding",
            "Service",
            "MutatingWebhookConfiguration",
            "ValidatingWebhookConfiguration",
        ]
    );
}

#[test]
fn a_configuration_file_that_sets_what_there_is_not_is_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("config.yaml");
    fs::write(&path, "metric: 9090\n").expect("written");
    let error = error(&operator(&["run", "--config", &path.display().to_string()]));
    assert!(
        error.contains("config.yaml") && error.contains("`metric` is no setting") && error.contains("metrics"),
        "{error}"
    );
}

#[test]
fn a_deployment_is_printed_with_the_image_that_is_given() {
    let output = operator(&["manifests", "--image", "registry.example/app:1", "--replicas", "2"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let objects = kubewright::manifests::documents(&text).expect("valid YAML");
    let deployment = objects.iter().find(|object| object["kind"] == "Deployment");
    let deployment = deployment.expect("a Deployment is among them");
    assert_eq!(deployment["spec"]["replicas"], 2);
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "registry.example/app:1");
}

#[test]
fn an_uninstall_that_does_not_say_what_becomes_of_the_objects_is_refused_with_code_2() {
    let output = operator(&["uninstall"]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("--keep") && text.contains("--delete"), "{text}");
}

/// The embedded server on a socket; the definition of Apps is installed, and one App carries a finalizer.
mod uninstall {
    use super::*;
    use kubewright::dev::apiserver::server::{ApiServer, Tls};
    use kubewright::dev::{Installer, connect};
    use tokio::net::TcpListener;
    use tokio::runtime::Runtime;

    struct Served {
        runtime: Runtime,
        folder: tempfile::TempDir,
        installer: Installer,
    }

    fn served() -> Served {
        let runtime = Runtime::new().expect("a runtime");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let server = ApiServer::builder().build();
        let tls = Tls::self_signed(&["127.0.0.1"]).expect("a certificate");
        fs::write(folder.path().join("ca.pem"), tls.certificate()).expect("written");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let token = server.admin_token();
        let kubeconfig = format!(
            "apiVersion: v1
kind: Config
clusters: [{{ name: a, cluster: {{ server: 'https://{address}', certificate-authority: ca.pem }} }}]
users: [{{ name: a, user: {{ token: {token} }} }}]
contexts: [{{ name: a, context: {{ cluster: a, user: a, namespace: default }} }}]
current-context: a
"
        );
        fs::write(folder.path().join("kubeconfig"), kubeconfig).expect("written");
        // A client starts tasks of its own.
        let entered = runtime.enter();
        let installer = Installer::new(server.clone(), connect(&server, &token, "default"), "test");
        drop(entered);
        runtime.spawn(async move { server.serve(listener, tls, std::future::pending()).await });
        let served = Served {
            runtime,
            folder,
            installer,
        };
        let manifests = operator(&["manifests"]);
        served.apply(&String::from_utf8_lossy(&manifests.stdout));
        served
    }

    impl Served {
        fn apply(&self, yaml: &str) {
            let applied = self.runtime.block_on(self.installer.yaml("test", yaml));
            applied.expect("the server takes it");
        }

        fn uninstall(&self, flags: &[&str]) -> Output {
            let kubeconfig = self.folder.path().join("kubeconfig").display().to_string();
            let flags = [&["uninstall", "--kubeconfig", &kubeconfig], flags].concat();
            operator(&flags)
        }
    }

    fn app(finalizers: &str) -> String {
        format!(
            "apiVersion: demo.dev/v1
kind: App
metadata: {{ name: a, namespace: default, finalizers: [{finalizers}] }}
spec: {{ image: nginx }}
"
        )
    }

    #[test]
    fn objects_that_are_let_go_are_counted_and_the_next_step_is_told() {
        let served = served();
        served.apply(&app("demo.dev/drain"));
        let output = served.uninstall(&["--keep"]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(text.contains("app-operator: 1 object let go"), "{text}");
        assert!(text.contains("manifests"), "{text}");
        let again = served.uninstall(&["--keep"]);
        assert!(String::from_utf8_lossy(&again.stdout).contains("0 objects"));
    }

    #[test]
    fn what_is_stuck_is_listed_with_its_reason_and_ends_with_code_1() {
        let served = served();
        served.apply(&app("demo.dev/drain, others.dev/wait"));
        let output = served.uninstall(&["--delete", "--within", "3s"]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            text.contains("stuck: App default/a: waits for finalizers of others: others.dev/wait"),
            "{text}"
        );
        assert!(error(&output).contains("1 object is stuck"));
    }
}
