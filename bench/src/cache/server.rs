//! A server that only lists and watches: what it answers was made by the generator, once, for both sides.
//!
//! Lists are paged, or streamed to who asks for that; watches get the events that the benchmark sends, as fast as they
//! are read.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::stream::{self, StreamExt};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::BoxBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::objects;
use crate::Failure;

/// Which objects a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Objects {
    /// Pods of 4.67 KB
    Pods,
    /// Custom resources of 1.5 KB
    Custom,
    /// Secrets of random data
    Secrets,
}

/// Objects behind a socket; gone when dropped.
pub(crate) struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
    task: tokio::task::JoinHandle<()>,
}

struct Shared {
    plural: &'static str,
    list: &'static str,
    /// In the order of their keys, as the store behind a server has them.
    items: Vec<Bytes>,
    /// How much of each item a list leaves out: built-in kinds are not named again in each item.
    named: usize,
    watches: Mutex<Vec<Watch>>,
}

struct Watch {
    /// Whose it is.
    reader: String,
    sender: mpsc::UnboundedSender<Bytes>,
}

type Body = BoxBody<Bytes, Infallible>;

/// The version of every list.
const VERSION: u64 = 1_000_000;
/// Frames that are written together.
const TOGETHER: usize = 64;

impl Server {
    /// Starts a server of so many objects.
    ///
    /// # Errors
    /// When no port can be had.
    pub(crate) async fn start(objects: Objects, count: usize, seed: u64) -> Result<Self, Failure> {
        let shared = Arc::new(Shared::new(objects, count, seed));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let serving = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let _ = socket.set_nodelay(true);
                let shared = Arc::clone(&serving);
                let service = service_fn(move |request| {
                    let shared = Arc::clone(&shared);
                    async move { Ok::<_, Infallible>(shared.answer(&request)) }
                });
                let mut http = hyper::server::conn::http1::Builder::new();
                http.max_buf_size(256 << 10);
                tokio::spawn(http.serve_connection(TokioIo::new(socket), service));
            }
        });
        Ok(Self { shared, address, task })
    }

    /// Where it listens for a reader, which the server tells from others by this.
    pub(crate) fn url(&self, reader: u64) -> String {
        format!("http://{}/{reader}", self.address)
    }

    /// What it serves.
    pub(crate) fn plural(&self) -> &'static str {
        self.shared.plural
    }

    /// How many objects it has.
    pub(crate) fn count(&self) -> usize {
        self.shared.items.len()
    }

    /// How long the objects are as JSON, on average.
    #[allow(clippy::cast_precision_loss, reason = "a mean")]
    pub(crate) fn mean_length(&self) -> f64 {
        let total: usize = self.shared.items.iter().map(Bytes::len).sum();
        total as f64 / self.shared.items.len().max(1) as f64
    }

    /// Sends lines to the watches of a reader.
    pub(crate) fn send(&self, reader: u64, lines: &[Bytes]) {
        let reader = reader.to_string();
        for watch in self.watches().iter().filter(|watch| watch.reader == reader) {
            for together in lines.chunks(TOGETHER) {
                // Fails where the reader has gone, and then nobody waits for it.
                let _ = watch.sender.send(Bytes::from(together.concat()));
            }
        }
    }

    /// Tells the watches of a reader that their version is gone, and ends them.
    pub(crate) fn expire(&self, reader: u64) {
        let gone = "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"too old resource version\",\"reason\":\"Expired\",\"code\":410}}\n";
        self.send(reader, &[Bytes::from_static(gone.as_bytes())]);
        let reader = reader.to_string();
        self.watches().retain(|watch| watch.reader != reader);
    }

    fn watches(&self) -> std::sync::MutexGuard<'_, Vec<Watch>> {
        self.shared.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    fn new(objects: Objects, count: usize, seed: u64) -> Self {
        let make = match objects {
            Objects::Pods => objects::pod,
            Objects::Custom => objects::custom,
            Objects::Secrets => objects::secret,
        };
        let (plural, list, head) = match objects {
            Objects::Pods => ("pods", "PodList", "{\"apiVersion\":\"v1\",\"kind\":\"Pod\","),
            Objects::Custom => (objects::PLURAL, "DatabaseList", "{"),
            Objects::Secrets => ("secrets", "SecretList", "{\"apiVersion\":\"v1\",\"kind\":\"Secret\","),
        };
        let mut items: Vec<String> = (0..count).map(|index| make(seed, index)).collect();
        items.sort_by_cached_key(|item| (value_of(item, "\"namespace\":\""), value_of(item, "\"name\":\"")));
        Self {
            plural,
            list,
            items: items.into_iter().map(Bytes::from).collect(),
            named: head.len(),
            watches: Mutex::default(),
        }
    }

    fn answer(&self, request: &Request<Incoming>) -> Response<Body> {
        let path = request.uri().path();
        if path.rsplit('/').next() != Some(self.plural) {
            return self.refuse(path);
        }
        let query = request.uri().query().unwrap_or_default();
        let value = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
        };
        if matches!(value("watch"), Some("true" | "1")) {
            let reader = path.split('/').nth(1).unwrap_or_default();
            return self.watch(reader, value("sendInitialEvents") == Some("true"));
        }
        let number = |name: &str| value(name).and_then(|text| text.parse::<usize>().ok());
        self.page(number("continue").unwrap_or(0), number("limit").unwrap_or(usize::MAX))
    }

    #[allow(clippy::unused_self, reason = "reads as the other answers")]
    fn refuse(&self, path: &str) -> Response<Body> {
        let status = format!(
            "{{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"{path} is not served\",\"reason\":\"NotFound\",\"code\":404}}"
        );
        let mut response = Response::new(Full::new(Bytes::from(status)).boxed());
        *response.status_mut() = StatusCode::NOT_FOUND;
        response
    }

    fn page(&self, start: usize, limit: usize) -> Response<Body> {
        let end = start.saturating_add(limit).min(self.items.len());
        let more = match self.items.len() - end {
            0 => String::new(),
            left => format!(",\"continue\":\"{end}\",\"remainingItemCount\":{left}"),
        };
        let head = format!(
            "{{\"kind\":\"{}\",\"apiVersion\":\"v1\",\"metadata\":{{\"resourceVersion\":\"{VERSION}\"{more}}},\"items\":[",
            self.list
        );
        let mut body = Vec::from(head);
        for (index, item) in self.items[start..end].iter().enumerate() {
            body.extend_from_slice(if index == 0 { b"{" } else { b",{" });
            body.extend_from_slice(&item[self.named..]);
        }
        body.extend_from_slice(b"]}");
        json(Full::new(Bytes::from(body)).boxed())
    }

    fn watch(&self, reader: &str, initial: bool) -> Response<Body> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let watch = Watch {
            reader: reader.to_owned(),
            sender,
        };
        self.watches.lock().unwrap_or_else(PoisonError::into_inner).push(watch);
        let items = if initial { self.items.clone() } else { Vec::new() };
        let chunks: Vec<Vec<Bytes>> = items.chunks(TOGETHER).map(<[Bytes]>::to_vec).collect();
        let objects = stream::iter(chunks).map(|chunk| {
            Bytes::from(
                chunk
                    .iter()
                    .map(|item| line("ADDED", item))
                    .collect::<Vec<_>>()
                    .concat(),
            )
        });
        let end = format!(
            "{{\"type\":\"BOOKMARK\",\"object\":{{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{{\"resourceVersion\":\"{VERSION}\",\"annotations\":{{\"k8s.io/initial-events-end\":\"true\"}}}}}}}}\n"
        );
        let end = stream::iter(initial.then(|| Bytes::from(end)));
        let later = stream::unfold(receiver, |mut receiver| async move {
            receiver.recv().await.map(|bytes| (bytes, receiver))
        });
        let frames = objects.chain(end).chain(later).map(|bytes| Ok(Frame::data(bytes)));
        json(Body::new(StreamBody::new(frames)))
    }
}

/// A line of a watch.
pub(crate) fn line(kind: &str, object: &[u8]) -> Bytes {
    let mut line = Vec::with_capacity(object.len() + 40);
    line.extend_from_slice(format!("{{\"type\":\"{kind}\",\"object\":").as_bytes());
    line.extend_from_slice(object);
    line.extend_from_slice(b"}\n");
    Bytes::from(line)
}

fn json(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    response
        .headers_mut()
        .insert("content-type", http::HeaderValue::from_static("application/json"));
    response
}

fn value_of<'a>(item: &'a str, member: &str) -> Option<String> {
    let start = item.find(member)? + member.len();
    let rest: &'a str = &item[start..];
    rest.split('"').next().map(str::to_owned)
}
