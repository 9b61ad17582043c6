//! An informer and a client over the embedded server, with a wire between that a test can hold, cut and break.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http::request::Parts;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use kubewright::cache::{Informer, InformerSpec, Informers, KeepManagers, Lookup, Reader};
use kubewright::client::{AnswerBody, Fault, FaultHook, Origin, Target, Transport};
use kubewright::delta::Delta;
use kubewright::{Kind, ObjectKey};
use kubewright_testkit::TestCluster;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

pub(crate) const MANAGER: &str = "op/test";

/// One operator's cache and client.
pub(crate) struct Rig {
    pub(crate) cluster: TestCluster,
    pub(crate) transport: Transport,
    pub(crate) informers: Informers,
    pub(crate) wire: Arc<Wire>,
    origin: Origin,
    client: kubewright::kube::Client,
    task: JoinHandle<()>,
}

fn begin(
    cluster: &TestCluster,
    wire: &Arc<Wire>,
    client: kubewright::kube::Client,
) -> (Transport, Informers, JoinHandle<()>) {
    let hook: Arc<dyn FaultHook> = Arc::clone(wire) as _;
    let transport = Transport::builder(client, cluster.env().clone())
        .timeout(Duration::from_secs(10))
        .faults(hook)
        .build();
    let informers = Informers::new(transport.clone(), cluster.env().clone(), KeepManagers::of("op", &[]));
    let running = informers.clone();
    let task = tokio::spawn(async move { running.run(std::future::pending()).await });
    (transport, informers, task)
}

impl Rig {
    pub(crate) fn start() -> Self {
        let cluster = TestCluster::builder()
            .simulate(kubewright::dev::apiserver::server::Simulate::Off)
            .start();
        let client = cluster.client_named("rig");
        Self::over(cluster, client)
    }

    /// As a user of the cluster, with the rights that user has.
    pub(crate) fn over(cluster: TestCluster, client: kubewright::kube::Client) -> Self {
        let wire = Arc::new(Wire::default());
        let (transport, informers, task) = begin(&cluster, &wire, client.clone());
        Self {
            cluster,
            transport,
            informers,
            wire,
            origin: Origin::part("test"),
            client,
            task,
        }
    }

    /// A new process over the same wire: nothing is known of what was before.
    pub(crate) fn restart(&mut self) {
        self.task.abort();
        (self.transport, self.informers, self.task) = begin(&self.cluster, &self.wire, self.client.clone());
    }

    pub(crate) async fn synced(&self, spec: &InformerSpec) -> Informer {
        let informer = self.informers.informer(spec);
        tokio::time::timeout(Duration::from_secs(60), informer.synced())
            .await
            .unwrap_or_else(|_| panic!("{:?}", informer.status()));
        informer
    }

    pub(crate) async fn apply(&self, object: &Value) -> Result<Bytes, kubewright::client::ClientError> {
        let (kind, key) = (kind_of(object), key_of(object));
        let body = object.to_string().into_bytes();
        self.transport
            .apply(&self.origin, &kind, &key, None, body, MANAGER, true)
            .await
    }

    pub(crate) async fn delete(&self, kind: &Kind, key: &ObjectKey) -> Result<Bytes, kubewright::client::ClientError> {
        self.transport
            .delete(&self.origin, kind, key, kubewright::client::Preconditions::default())
            .await
    }

    pub(crate) async fn json_patch(
        &self,
        kind: &Kind,
        key: &ObjectKey,
        patch: &[u8],
    ) -> Result<Bytes, kubewright::client::ClientError> {
        let how = kubewright::client::PatchType::Json;
        self.transport
            .patch(&self.origin, kind, key, None, how, patch.to_vec(), MANAGER)
            .await
    }

    pub(crate) async fn get(&self, kind: &Kind, key: &ObjectKey) -> Result<Bytes, kubewright::client::ClientError> {
        self.transport.get(&self.origin, kind, key).await
    }

    /// Lets the watch deliver, and its latency pass.
    pub(crate) async fn moment(&self) {
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(crate) fn config_maps() -> Kind {
    Kind::new("", "v1", "ConfigMap", "configmaps", true)
}

pub(crate) fn widgets() -> Kind {
    Kind::new("demo.dev", "v1", "Widget", "widgets", true)
}

pub(crate) const WIDGETS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: widgets.demo.dev }
spec:
  group: demo.dev
  scope: Namespaced
  names: { plural: widgets, kind: Widget }
  versions:
  - name: v1
    served: true
    storage: true
    schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }
";

pub(crate) fn config_map(name: &str, value: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": "default", "labels": { "value": value } },
        "data": { "value": value },
    })
}

pub(crate) fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

/// The value that a cached config map holds, or what the cache says instead.
pub(crate) fn value_of(reader: &Reader, name: &str) -> String {
    match reader.get(&config_maps(), &key(name)) {
        Lookup::Found(cached) => {
            let object = cached.decode::<Value>().expect("JSON");
            object["data"]["value"].as_str().unwrap_or("none").to_owned()
        }
        Lookup::Missing => "missing".to_owned(),
        Lookup::Unknown(why) => format!("{why:?}"),
    }
}

/// What a subscriber saw: `name+`, `name~`, `name-`.
#[derive(Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    pub(crate) fn by(informer: &Informer) -> Self {
        let seen = Self::default();
        let lines = Arc::clone(&seen.0);
        informer.subscribe(Arc::new(move |delta: &Delta| {
            if &*delta.key.name == "kube-root-ca.crt" {
                return;
            }
            let sign = match (&delta.old, &delta.new) {
                (None, _) => "+",
                (_, None) => "-",
                _ => "~",
            };
            lines
                .lock()
                .expect("unpoisoned")
                .push(format!("{}{sign}", delta.key.name));
        }));
        seen
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().expect("unpoisoned"))
    }
}

/// The wire: faults in turn for requests of a verb, and watches that can be held or cut.
#[derive(Default)]
pub(crate) struct Wire {
    faults: Mutex<VecDeque<(&'static str, Fault)>>,
    watches: Arc<Mutex<Watches>>,
}

#[derive(Default)]
struct Watches {
    held: bool,
    cuts: u64,
    wakers: Vec<std::task::Waker>,
}

impl Wire {
    /// The next request of this verb meets this fault.
    pub(crate) fn fault(&self, verb: &'static str, fault: Fault) {
        self.faults.lock().expect("unpoisoned").push_back((verb, fault));
    }

    /// Forgets the faults that nothing has met yet.
    pub(crate) fn clear(&self) {
        self.faults.lock().expect("unpoisoned").clear();
    }

    /// Watches deliver nothing until released.
    pub(crate) fn hold(&self) {
        self.watches.lock().expect("unpoisoned").held = true;
    }

    pub(crate) fn release(&self) {
        self.change(|watches| watches.held = false);
    }

    /// Ends every watch; what it held is lost.
    pub(crate) fn cut(&self) {
        self.change(|watches| {
            watches.held = false;
            watches.cuts += 1;
        });
    }

    fn change(&self, change: impl FnOnce(&mut Watches)) {
        let wakers = {
            let mut watches = self.watches.lock().expect("unpoisoned");
            change(&mut watches);
            std::mem::take(&mut watches.wakers)
        };
        for waker in wakers {
            waker.wake();
        }
    }
}

impl FaultHook for Wire {
    fn decide(&self, request: &Parts) -> Fault {
        let verb = request.extensions.get::<Target>().map_or("", |target| target.verb);
        let mut faults = self.faults.lock().expect("unpoisoned");
        let met = faults.iter().position(|(wanted, _)| *wanted == verb);
        met.and_then(|at| faults.remove(at))
            .map(|(_, fault)| fault)
            .unwrap_or_default()
    }

    fn answer(&self, request: &Parts, response: Response<AnswerBody>) -> Response<AnswerBody> {
        if request
            .extensions
            .get::<Target>()
            .is_none_or(|target| target.verb != "watch")
        {
            return response;
        }
        let cuts = self.watches.lock().expect("unpoisoned").cuts;
        response.map(|body| {
            let watches = Arc::clone(&self.watches);
            Gate { body, watches, cuts }.boxed_unsync()
        })
    }
}

struct Gate {
    body: AnswerBody,
    watches: Arc<Mutex<Watches>>,
    cuts: u64,
}

impl Body for Gate {
    type Data = Bytes;
    type Error = tower::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, tower::BoxError>>> {
        {
            let mut watches = self.watches.lock().expect("unpoisoned");
            if watches.cuts != self.cuts {
                return Poll::Ready(None);
            }
            watches.wakers.push(cx.waker().clone());
            if watches.held {
                return Poll::Pending;
            }
        }
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

fn kind_of(object: &Value) -> Kind {
    match object["kind"].as_str() {
        Some("ConfigMap") => config_maps(),
        Some("Widget") => widgets(),
        other => panic!("no kind of this test: {other:?}"),
    }
}

fn key_of(object: &Value) -> ObjectKey {
    key(object["metadata"]["name"].as_str().expect("a name"))
}
