use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::StreamExt;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use kube::client::Body;

use super::*;
use crate::cache::{InformerSpec, Informers, KeepManagers};
use crate::delta::Delta;
use crate::kind::Kind;

/// An answer of the scripted server.
enum Answer {
    Body(u16, String),
    RetryAfter(u16, u64),
    /// Lines, then the end.
    Lines(Vec<String>),
    /// Lines, then silence.
    Open(Vec<String>),
    Unreachable,
    /// A fault of the framework.
    Panic,
}

type Answered = UnsyncBoxBody<Bytes, Infallible>;

/// A server that answers by script, then never, and notes what it was asked.
#[derive(Clone)]
struct Server {
    script: Arc<Mutex<VecDeque<Answer>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn new(script: impl IntoIterator<Item = Answer>) -> Self {
        Self {
            script: Arc::new(Mutex::new(script.into_iter().collect())),
            asked: Arc::default(),
        }
    }

    fn client(&self) -> kube::Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            server.note(request.uri().query().unwrap_or_default());
            let next = server.script.lock().expect("unpoisoned").pop_front();
            async move {
                match next {
                    Some(answer) => answer.response(),
                    None => std::future::pending().await,
                }
            }
        });
        kube::Client::new(service, "default")
    }

    fn note(&self, query: &str) {
        let from = query.split('&').find_map(|pair| pair.strip_prefix("resourceVersion="));
        let what = if query.contains("sendInitialEvents") {
            "stream".to_owned()
        } else if query.contains("watch=true") {
            format!("watch {}", from.unwrap_or("unset"))
        } else if query.contains("continue=") {
            "continue".to_owned()
        } else if query.contains("limit=") {
            "list".to_owned()
        } else {
            "list whole".to_owned()
        };
        self.asked.lock().expect("unpoisoned").push(what);
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().expect("unpoisoned"))
    }
}

impl Answer {
    fn response(self) -> Result<Response<Answered>, tower::BoxError> {
        let frame = |line: String| Ok(Frame::data(Bytes::from(format!("{line}\n"))));
        let response = match self {
            Self::Body(code, text) => Response::builder()
                .status(code)
                .body(Full::new(Bytes::from(text)).boxed_unsync()),
            Self::RetryAfter(code, seconds) => Response::builder()
                .status(code)
                .header("retry-after", seconds)
                .body(Full::new(Bytes::new()).boxed_unsync()),
            Self::Lines(lines) => {
                let lines: Vec<_> = lines.into_iter().map(frame).collect();
                Response::builder().body(StreamBody::new(futures::stream::iter(lines)).boxed_unsync())
            }
            Self::Open(lines) => {
                let lines: Vec<_> = lines.into_iter().map(frame).collect();
                let stream = futures::stream::iter(lines).chain(futures::stream::pending());
                Response::builder().body(StreamBody::new(stream).boxed_unsync())
            }
            Self::Unreachable => return Err("connection reset".into()),
            Self::Panic => panic!("as asked for"),
        };
        Ok(response?)
    }
}

/// An informer over a scripted server, and what its subscriber saw.
struct Rig {
    informer: Informer,
    server: Server,
    seen: Arc<Mutex<Vec<String>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Rig {
    fn start(script: impl IntoIterator<Item = Answer>) -> Self {
        let server = Server::new(script);
        let env = Env::seeded(jiff::Timestamp::UNIX_EPOCH, 7);
        let transport = Transport::new(server.client(), env.clone());
        let informers = Informers::new(transport, env, KeepManagers::default());
        let kind = Kind::new("demo.dev", "v1", "App", "apps", true);
        let informer = informers.informer(&InformerSpec::all(&kind));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&seen);
        informer.subscribe(Arc::new(move |delta: &Delta| {
            let version = |header: &Option<Arc<crate::delta::Header>>| {
                header
                    .as_ref()
                    .map_or("-".to_owned(), |header| header.version.to_string())
            };
            let line = format!("{} {}>{}", delta.key.name, version(&delta.old), version(&delta.new));
            lines.lock().expect("unpoisoned").push(line);
        }));
        let task = tokio::spawn(async move { informers.run(std::future::pending()).await });
        Self {
            informer,
            server,
            seen,
            task,
        }
    }

    /// Lets everything happen that needs no more than this time and a tenth of a second.
    async fn after(&self, seconds: u64) -> Vec<String> {
        tokio::time::sleep(Duration::from_millis(seconds * 1000 + 100)).await;
        self.server.asked()
    }

    fn seen(&self) -> Vec<String> {
        std::mem::take(&mut *self.seen.lock().expect("unpoisoned"))
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn object(name: &str, version: u64) -> String {
    format!(
        r#"{{"apiVersion":"demo.dev/v1","kind":"App","metadata":{{"name":"{name}","namespace":"shop","uid":"u-{name}","resourceVersion":"{version}"}}}}"#
    )
}

fn event(what: &str, object: &str) -> String {
    format!(r#"{{"type":"{what}","object":{object}}}"#)
}

fn bookmark(version: u64) -> String {
    event(
        "BOOKMARK",
        &format!(r#"{{"metadata":{{"resourceVersion":"{version}"}}}}"#),
    )
}

fn initial_end(version: u64) -> String {
    let metadata = format!(r#"{{"resourceVersion":"{version}","annotations":{{"k8s.io/initial-events-end":"true"}}}}"#);
    event("BOOKMARK", &format!(r#"{{"metadata":{metadata}}}"#))
}

fn status(code: u16, reason: &str) -> String {
    format!(
        r#"{{"kind":"Status","apiVersion":"v1","status":"Failure","message":"{reason}!","reason":"{reason}","code":{code}}}"#
    )
}

fn list(version: u64, objects: &[String], more: bool) -> Answer {
    let token = if more { r#","continue":"next""# } else { "" };
    Answer::Body(
        200,
        format!(
            r#"{{"metadata":{{"resourceVersion":"{version}"{token}}},"items":[{}]}}"#,
            objects.join(",")
        ),
    )
}

fn no_streams() -> Answer {
    Answer::Body(422, status(422, "Invalid"))
}

#[tokio::test(start_paused = true)]
async fn a_streamed_list_goes_on_as_the_watch() {
    let rig = Rig::start([Answer::Open(vec![
        event("ADDED", &object("a", 1)),
        event("ADDED", &object("b", 2)),
        initial_end(5),
        event("MODIFIED", &object("a", 6)),
        event("DELETED", &object("b", 7)),
        bookmark(9),
    ])]);
    rig.informer.synced().await;
    assert_eq!(rig.after(1).await, ["stream"]);
    assert_eq!(rig.seen(), ["a ->1", "b ->2", "a 1>6", "b 2>-"]);
    assert_eq!(rig.informer.progress(), Some(Version::parse("9")));
    assert!(rig.informer.status().healthy);
}

#[tokio::test(start_paused = true)]
async fn where_lists_are_not_streamed_pages_are_read_and_the_watch_starts_at_their_version() {
    let rig = Rig::start([
        no_streams(),
        list(5, &[object("a", 1)], true),
        list(5, &[object("b", 2)], false),
        Answer::Open(vec![event("ADDED", &object("c", 6))]),
    ]);
    assert_eq!(rig.after(1).await, ["stream", "list", "continue", "watch 5"]);
    assert_eq!(rig.seen(), ["a ->1", "b ->2", "c ->6"]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ignores_streamed_lists_is_asked_for_pages() {
    let rig = Rig::start([
        Answer::Lines(vec![event("ADDED", &object("a", 1))]),
        list(5, &[object("a", 1), object("b", 2)], false),
        Answer::Open(vec![]),
    ]);
    assert_eq!(rig.after(1).await, ["stream", "list", "watch 5"]);
    let rig = Rig::start([
        Answer::Open(vec![]),
        list(5, &[object("a", 1)], false),
        Answer::Open(vec![]),
    ]);
    assert_eq!(rig.after(31).await, ["stream", "list", "watch 5"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_is_resumed_where_it_was() {
    let rig = Rig::start([
        no_streams(),
        list(5, &[], false),
        Answer::Lines(vec![event("ADDED", &object("a", 6)), bookmark(8)]),
        Answer::Open(vec![event("MODIFIED", &object("a", 9))]),
    ]);
    assert_eq!(rig.after(3).await, ["stream", "list", "watch 5", "watch 8"]);
    assert_eq!(rig.seen(), ["a ->6", "a 6>9"]);
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_gone_leads_to_a_list_in_all_its_forms() {
    let gone = || status(410, "Expired");
    let in_stream = || Answer::Lines(vec![event("ERROR", &gone())]);
    let as_code = || Answer::Body(410, gone());
    for form in [in_stream(), as_code()] {
        let rig = Rig::start([
            no_streams(),
            list(5, &[object("a", 1), object("b", 2)], false),
            form,
            list(20, &[object("b", 2), object("c", 15)], false),
            Answer::Open(vec![]),
        ]);
        assert_eq!(rig.after(5).await, ["stream", "list", "watch 5", "list", "watch 20"]);
        assert_eq!(rig.seen(), ["a ->1", "b ->2", "c ->15", "a 1>-"]);
    }
    let rig = Rig::start([
        no_streams(),
        list(5, &[object("a", 1)], true),
        Answer::Body(410, gone()),
        list(9, &[object("b", 8)], false),
        Answer::Open(vec![]),
    ]);
    assert_eq!(
        rig.after(5).await,
        ["stream", "list", "continue", "list whole", "watch 9"]
    );
    assert_eq!(
        rig.seen(),
        ["a ->1", "b ->8", "a 1>-"],
        "the page before was of another snapshot"
    );
}

#[tokio::test(start_paused = true)]
async fn a_missing_permission_is_in_the_status_and_recovers_by_itself() {
    let forbidden = || Answer::Body(403, status(403, "Forbidden"));
    let rig = Rig::start([
        forbidden(),
        forbidden(),
        Answer::Open(vec![event("ADDED", &object("a", 1)), initial_end(1)]),
    ]);
    assert_eq!(rig.after(0).await, ["stream"]);
    let status = rig.informer.status();
    assert_eq!(status.last_code, Some(403));
    assert!(status.last_error.is_some_and(|error| error.contains("Forbidden")));
    assert!(!status.healthy && !status.synced);
    rig.informer.synced().await;
    let status = rig.informer.status();
    assert!(status.healthy);
    assert_eq!((status.errors, status.failures), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_served_yet_appears_without_a_restart() {
    let missing = || Answer::Body(404, "404 page not found\n".to_owned());
    let rig = Rig::start([
        missing(),
        missing(),
        missing(),
        Answer::Open(vec![event("ADDED", &object("a", 1)), initial_end(1)]),
    ]);
    rig.informer.synced().await;
    assert_eq!(rig.server.asked().len(), 4);
    assert_eq!(rig.seen(), ["a ->1"]);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_vanishes_under_the_watch_is_listed_anew() {
    let rig = Rig::start([
        no_streams(),
        list(5, &[object("a", 1)], false),
        Answer::Lines(vec![]),
        Answer::Body(404, "404 page not found".to_owned()),
        list(9, &[], false),
        Answer::Open(vec![]),
    ]);
    assert_eq!(
        rig.after(60).await,
        ["stream", "list", "watch 5", "watch 5", "list", "watch 9"]
    );
    assert_eq!(rig.seen(), ["a ->1", "a 1>-"]);
}

#[tokio::test(start_paused = true)]
async fn one_429_ends_nothing_and_is_waited_out_as_the_server_asks() {
    let rig = Rig::start([
        no_streams(),
        list(5, &[], false),
        Answer::RetryAfter(429, 20),
        Answer::Open(vec![event("ADDED", &object("a", 6))]),
    ]);
    assert_eq!(rig.after(19).await, ["stream", "list", "watch 5"]);
    assert_eq!(rig.after(5).await, ["watch 5"]);
    assert_eq!(rig.seen(), ["a ->6"]);
}

#[tokio::test(start_paused = true)]
async fn failures_come_ever_more_seldom_and_never_faster_for_watches_that_break_at_once() {
    let broken = (0..200).map(|n| {
        if n % 2 == 0 {
            Answer::Lines(vec![])
        } else {
            Answer::Unreachable
        }
    });
    let rig = Rig::start([no_streams(), list(5, &[], false)].into_iter().chain(broken));
    let first_minute = rig.after(60).await.len();
    assert!(first_minute <= 10, "{first_minute}");
    rig.after(240).await;
    let later = rig.after(300).await.len();
    assert!((8..=11).contains(&later), "{later}");
}

#[tokio::test(start_paused = true)]
async fn a_silent_connection_is_given_up_and_the_watch_resumed() {
    let rig = Rig::start([
        no_streams(),
        list(5, &[], false),
        Answer::Open(vec![bookmark(7)]),
        Answer::Open(vec![event("ADDED", &object("a", 8))]),
    ]);
    assert_eq!(rig.after(170).await, ["stream", "list", "watch 5"]);
    assert_eq!(rig.after(20).await, ["watch 7"]);
    assert_eq!(rig.seen(), ["a ->8"]);
}

#[tokio::test(start_paused = true)]
async fn a_version_that_the_server_never_reached_leads_to_a_list() {
    let too_large = r#"{"kind":"Status","message":"Too large resource version: 90, current: 50","reason":"Timeout","code":504,"details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}]}}"#;
    let rig = Rig::start([
        no_streams(),
        list(90, &[object("a", 60), object("b", 70)], false),
        Answer::Body(504, too_large.to_owned()),
        list(50, &[object("a", 40)], false),
        Answer::Open(vec![]),
    ]);
    assert_eq!(rig.after(30).await, ["stream", "list", "watch 90", "list", "watch 50"]);
    assert_eq!(rig.seen(), ["a ->60", "b ->70", "a 60>40", "b 70>-"]);
    assert_eq!(rig.informer.progress(), Some(Version::parse("50")));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_while_nothing_happens() {
    let quiet = Answer::Open(vec![initial_end(5)]);
    let rig = Rig::start([quiet]);
    assert_eq!(rig.after(1).await, ["stream"]);
    assert!(rig.after(120).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_read_is_left_out_counted_and_named_and_stalls_nothing() {
    let nameless = r#"{"metadata":{"resourceVersion":"3"},"spec":{}}"#.to_owned();
    let odd = r#"{"metadata":{"name":"odd","namespace":"shop","resourceVersion":"9","labels":{"a":1}}}"#.to_owned();
    let rig = Rig::start([
        no_streams(),
        list(5, &[object("a", 1), nameless.clone(), object("odd", 2)], false),
        Answer::Lines(vec![event("MODIFIED", &odd), event("ADDED", &object("b", 10))]),
        Answer::Lines(vec![
            event("MODIFIED", &odd),
            event("ADDED", &object("b", 10)),
            event("DELETED", &nameless),
            event("MODIFIED", &object("a", 12)),
        ]),
        Answer::Body(410, status(410, "Expired")),
        list(20, &[object("a", 12), object("b", 10), odd], false),
        Answer::Open(vec![event("MODIFIED", &object("odd", 21))]),
    ]);
    let asked = rig.after(15).await;
    assert_eq!(
        asked,
        ["stream", "list", "watch 5", "watch 5", "watch 12", "list", "watch 20"]
    );
    assert_eq!(rig.seen(), ["a ->1", "odd ->2", "b ->10", "a 1>12", "odd 2>21"]);
    let status = rig.informer.status();
    assert!(status.healthy && status.synced, "{status:?}");
    // The one without a name twice, the other as an event and in the second list.
    assert_eq!((status.skipped, status.objects, status.failures), (4, 3, 0));
    let named = status.last_skipped.expect("named");
    assert!(named.starts_with("shop/odd: "), "{named}");
}

#[tokio::test(start_paused = true)]
async fn a_garbled_line_is_asked_for_again_and_left_out_where_it_comes_the_same() {
    let garbled = || r#"{"type":"ADDED","object":{"metadata":{"name":"x" "#.to_owned();
    let rig = Rig::start([
        no_streams(),
        list(5, &[], false),
        Answer::Open(vec![garbled(), event("ADDED", &object("b", 7))]),
        Answer::Open(vec![event("ADDED", &object("a", 6)), garbled()]),
        Answer::Open(vec![garbled(), event("ADDED", &object("b", 7))]),
    ]);
    assert_eq!(rig.after(10).await, ["stream", "list", "watch 5", "watch 5", "watch 6"]);
    assert_eq!(rig.seen(), ["a ->6", "b ->7"]);
    assert_eq!(rig.informer.status().skipped, 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refused_to_stream_a_list_is_asked_again_later() {
    let gone = || Answer::Lines(vec![event("ERROR", &status(410, "Expired"))]);
    let rig = Rig::start([
        no_streams(),
        list(5, &[], false),
        gone(),
        list(6, &[], false),
        // Five to ten minutes each, until the watch itself gives the connection up.
        Answer::Open(vec![]),
        Answer::Open(vec![]),
        gone(),
        Answer::Open(vec![initial_end(9)]),
    ]);
    assert_eq!(rig.after(5).await, ["stream", "list", "watch 5", "list", "watch 6"]);
    assert_eq!(rig.after(1_400).await[..3], ["watch 6", "watch 6", "stream"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_panics_begins_anew_and_everyone_hears_what_is_there() {
    let rig = Rig::start([
        no_streams(),
        list(5, &[object("a", 1), object("b", 2)], false),
        Answer::Panic,
        Answer::Open(vec![event("ADDED", &object("b", 2)), initial_end(9)]),
    ]);
    assert_eq!(rig.after(0).await, ["stream", "list", "watch 5"]);
    let status = rig.informer.status();
    assert!(!status.healthy);
    let error = status.last_error.expect("shown at once");
    assert!(error.ends_with("a fault of kubewright: as asked for"), "{error}");
    assert_eq!(rig.after(3).await, ["stream"]);
    assert_eq!(rig.seen(), ["a ->1", "b ->2", "a ->1", "b ->2", "a 1>-"]);
    assert!(rig.informer.status().healthy);
    assert_eq!(rig.informer.status().panics, 1);
}

#[tokio::test(start_paused = true)]
async fn a_subscriber_that_panics_harms_nobody_else() {
    let rig = Rig::start([Answer::Open(vec![
        event("ADDED", &object("a", 1)),
        initial_end(5),
        event("MODIFIED", &object("a", 6)),
    ])]);
    rig.informer.subscribe(Arc::new(|_| panic!("as asked for")));
    let late = Arc::new(Mutex::new(0));
    let heard = Arc::clone(&late);
    rig.informer
        .subscribe(Arc::new(move |_| *heard.lock().expect("unpoisoned") += 1));
    rig.after(1).await;
    assert_eq!(rig.seen(), ["a ->1", "a 1>6"]);
    assert_eq!(*late.lock().expect("unpoisoned"), 2);
    assert_eq!(rig.informer.status().panics, 0);
}
