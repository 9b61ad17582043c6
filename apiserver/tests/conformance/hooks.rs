//! The webhooks of the recorded cases: what each answers to a review, and the reviews that came.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Response;
use hyper::body::Bytes;
use kubewright_apiserver::admission::webhook::{Answering, Handler};
use tokio::time::sleep;

use crate::json::Json;
use crate::shape::{at, set_at, take_at, text};

/// The authority that all webhooks have; nothing listens there.
pub(crate) const AUTHORITY: &str = "hooks.test:8443";

/// All webhooks of all cases: those of a case are below its id. Clones are the same webhooks.
#[derive(Clone, Default)]
pub(crate) struct Hooks(Arc<Mutex<BTreeMap<String, Of>>>);

/// The webhooks of one case.
#[derive(Default)]
struct Of {
    /// Per path the answer, or a list of answers of which the first that fits is given.
    scripts: BTreeMap<String, Json>,
    calls: Vec<Json>,
}

impl Hooks {
    /// Sets what the webhooks of a case answer, by path.
    pub(crate) fn script(&self, case: &str, scripts: &Json) {
        let mut all = self.all();
        let of = all.entry(case.to_owned()).or_default();
        for (hook, script) in scripts.fields() {
            of.scripts.insert(hook.clone(), script.clone());
        }
    }

    /// The reviews that came since the last time.
    pub(crate) fn take(&self, case: &str) -> Vec<Json> {
        self.all()
            .get_mut(case)
            .map(|of| std::mem::take(&mut of.calls))
            .unwrap_or_default()
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Of>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn answer(&self, path: &str, body: &[u8]) -> Response<Bytes> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let (case, hook) = path.trim_start_matches('/').split_once('/').unwrap_or_default();
        let review = Json::parse(body).unwrap_or_else(|| Json::from(""));
        let call = [("hook", hook.into()), ("query", query.into()), ("body", review.clone())];
        let call = Json::Object(
            call.map(|(name, value): (&str, Json)| (name.to_owned(), value))
                .to_vec(),
        );
        let script = {
            let mut all = self.all();
            let of = all.entry(case.to_owned()).or_default();
            of.calls.push(call);
            of.scripts
                .get_mut(hook)
                .map_or(Json::Null, |script| choose(script, &review))
        };
        if let Some(delay) = script.get("delay").as_f64() {
            sleep(Duration::from_secs_f64(delay)).await;
        }
        if let Some(location) = script.get("location").as_str() {
            // What a client on a socket makes of a redirect.
            let (_, path) = location.split_once(AUTHORITY).unwrap_or_default();
            let body = if script.get("code").as_u64() == Some(307) {
                body
            } else {
                b""
            };
            return Box::pin(self.answer(path, body)).await;
        }
        let text = if script.has("raw") {
            let uid = text(&at(&review, "request.uid"));
            script.get("raw").as_str().unwrap_or_default().replace("%UID%", &uid)
        } else {
            answered(&script, &review).to_string()
        };
        let code = script.get("code").as_u64().unwrap_or(200);
        Response::builder()
            .status(u16::try_from(code).unwrap_or(200))
            .header(
                "content-type",
                script.get("type").as_str().unwrap_or("application/json"),
            )
            .body(text.into())
            .expect("the script has a good code and type")
    }
}

impl Handler for Hooks {
    fn call<'a>(&'a self, path: &'a str, review: Bytes) -> Answering<'a> {
        Box::pin(async move { Ok(self.answer(path, &review).await) })
    }
}

/// The first answer that fits the review, and is not used up.
fn choose(script: &mut Json, review: &Json) -> Json {
    let Json::Array(rules) = script else {
        return script.clone();
    };
    for rule in rules {
        let left = rule.get("times").as_u64();
        let fits = rule
            .get("when")
            .fields()
            .iter()
            .all(|(path, value)| at(review, path) == *value);
        if left == Some(0) || !fits {
            continue;
        }
        if let Some(left) = left {
            rule.set("times", Json::Number((left - 1).into()));
        }
        return rule.clone();
    }
    Json::Null
}

/// The review that answers one.
fn answered(script: &Json, review: &Json) -> Json {
    let request = review.get("request");
    let mut response = Json::Object(vec![("uid".to_owned(), request.get("uid").clone())]);
    if review.get("kind").as_str() == Some("ConversionReview") {
        let success = Json::Object(vec![("status".to_owned(), "Success".into())]);
        response.set("result", success);
        response.set("convertedObjects", converted(script, request));
    } else {
        response.set("allowed", Json::Bool(true));
    }
    if script.has("patch") {
        response.set("patchType", "JSONPatch".into());
        let patch = STANDARD.encode(script.get("patch").to_string());
        response.set("patch", Json::String(patch));
    }
    for (name, value) in script.get("response").fields() {
        response.set(name, value.clone());
    }
    let mut out = Json::Object(vec![
        ("apiVersion".to_owned(), review.get("apiVersion").clone()),
        ("kind".to_owned(), review.get("kind").clone()),
        ("response".to_owned(), response),
    ]);
    for (name, value) in script.get("review").fields() {
        out.set(name, value.clone());
    }
    for path in script.get("without").items().iter().filter_map(Json::as_str) {
        take_at(&mut out, path);
    }
    out
}

/// The objects of a conversion: `move` renames fields on the way to the version it names, and back to any other.
fn converted(script: &Json, request: &Json) -> Json {
    let wanted = request.get("desiredAPIVersion");
    let version = wanted
        .as_str()
        .and_then(|wanted| wanted.rsplit('/').next())
        .unwrap_or_default();
    let mut objects = request.get("objects").items().to_vec();
    for object in &mut objects {
        object.set("apiVersion", wanted.clone());
        for (of, moves) in script.get("move").fields() {
            for (a, b) in moves.fields() {
                let b = b.as_str().unwrap_or_default();
                let (from, to) = if version == of {
                    (a.as_str(), b)
                } else {
                    (b, a.as_str())
                };
                if let Some(value) = take_at(object, from).filter(|value| !value.is_null()) {
                    set_at(object, to, value);
                }
            }
        }
        for (path, value) in script.get("set").fields() {
            set_at(object, path, value.clone());
        }
        for path in script.get("remove").items().iter().filter_map(Json::as_str) {
            take_at(object, path);
        }
    }
    let count = |name: &str| usize::try_from(script.get(name).as_u64().unwrap_or_default()).unwrap_or_default();
    let more: Vec<Json> = objects.iter().take(count("long-by")).cloned().collect();
    objects.truncate(objects.len().saturating_sub(count("short-by")));
    objects.extend(more);
    Json::Array(objects)
}
