//! Runs one case.

use std::collections::BTreeMap;
use std::time::Duration;

use kubewright_apiserver::ApiServer;
use kubewright_apiserver::server::InProcess;
use tokio::time::{Instant, sleep};

use crate::case::Case;
use crate::client;
use crate::json::Json;
use crate::names::Names;
use crate::shape::{Variables, at, differences, drop, fill, keep, text};
use crate::watch::Watch;

/// Runs a case, numbered within its file, and answers how it differs from the recording.
pub(crate) async fn run(server: &ApiServer, case: &Case, number: usize) -> Vec<String> {
    let mut run = Run::new(server, case, number);
    let problems = match run.steps().await {
        Ok(problems) => problems,
        Err(problem) => vec![problem],
    };
    run.watches.clear();
    run.clean_up().await;
    problems
}

struct Run<'a> {
    server: &'a ApiServer,
    service: InProcess,
    case: &'a Case,
    variables: Variables,
    names: Names,
    watches: BTreeMap<String, Watch>,
}

impl<'a> Run<'a> {
    fn new(server: &'a ApiServer, case: &'a Case, number: usize) -> Self {
        let tag = tag(number);
        let (ns, id, group) = (format!("cf-{tag}"), format!("id{tag}"), format!("g{tag}.conf.example"));
        let literals = vec![
            (group.clone(), "<group>".into()),
            (ns.clone(), "<ns>".into()),
            (id.clone(), "<id>".into()),
        ];
        let variables = [("ns", ns), ("id", id), ("group", group)];
        Self {
            server,
            service: server.service(),
            case,
            variables: variables
                .into_iter()
                .map(|(name, value)| (name.to_owned(), Json::String(value)))
                .collect(),
            names: Names::new(literals),
            watches: BTreeMap::new(),
        }
    }

    async fn steps(&mut self) -> Result<Vec<String>, String> {
        let mut problems = Vec::new();
        if self.case.namespace {
            self.make_namespace().await?;
        }
        for (number, raw) in self.case.steps.iter().enumerate() {
            let in_step = |problem: String| format!("step {number}: {problem}");
            let Some(out) = self.step(raw).await.map_err(in_step)? else {
                continue;
            };
            let got = self.shape(raw, &out);
            if raw.get("setup").is_true() {
                if out.get("code").as_u64().is_some_and(|code| code >= 300) {
                    problems.push(format!(
                        "step {number} (setup): {} {}",
                        out.get("code"),
                        out.get("body").short()
                    ));
                }
            } else {
                problems.extend(differences(raw.get("expect"), &got).into_iter().map(in_step));
            }
        }
        Ok(problems)
    }

    async fn make_namespace(&self) -> Result<(), String> {
        let body = format!(
            r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{}"}}}}"#,
            text(&self.variables["ns"])
        );
        let answer = client::request(
            &self.service,
            "POST",
            "/api/v1/namespaces",
            &Json::Null,
            &[],
            Some(body),
        )
        .await?;
        let out = client::read(answer, "POST", &Json::Null).await?;
        match out.get("code").as_u64() {
            Some(201) => Ok(()),
            _ => Err(format!("could not make the namespace: {}", out.short())),
        }
    }

    /// Does a step; answers what there is to compare.
    async fn step(&mut self, raw: &Json) -> Result<Option<Json>, String> {
        let without_expected = raw
            .fields()
            .iter()
            .filter(|(name, _)| name != "expect")
            .cloned()
            .collect();
        let step = fill(&Json::Object(without_expected), &self.variables)?;
        if step.has("sleep") {
            sleep(seconds(step.get("sleep"), 0.0)).await;
            return Ok(None);
        }
        if step.has("compact") {
            self.server.compact();
            return Ok(None);
        }
        if step.has("until") {
            self.until(&step).await?;
            return Ok(None);
        }
        if step.has("watch") {
            return self.watch(&step).await.map(Some);
        }
        if step.has("events") {
            return self.events(&step).await.map(Some);
        }
        let answer = client::send(&self.service, &step).await?;
        let out = client::read(answer, client::method_of(&step), step.get("show-headers")).await?;
        self.note(&step, out.get("body"));
        Ok(Some(out))
    }

    /// Polls until a value shows.
    async fn until(&mut self, step: &Json) -> Result<(), String> {
        let (path, want) = (text(step.get("until")), step.get("equals"));
        let end = Instant::now() + seconds(step.get("within"), 15.0);
        loop {
            let answer = client::request(&self.service, "GET", &path, step.get("query"), &[], None).await?;
            let out = client::read(answer, "GET", &Json::Null).await?;
            let place = step.get("at").as_str().unwrap_or_default();
            let value = if place == "code" {
                out.get("code").clone()
            } else {
                at(out.get("body"), place)
            };
            if value == *want {
                self.note(step, out.get("body"));
                return Ok(());
            }
            if Instant::now() > end {
                return Err(format!(
                    "{path}: {place} never became {}, last {}",
                    want.short(),
                    value.short()
                ));
            }
            sleep(Duration::from_millis(100)).await;
        }
    }

    async fn watch(&mut self, step: &Json) -> Result<Json, String> {
        let mut query = Json::Object(vec![("watch".to_owned(), "1".into())]);
        for (name, value) in step.get("query").fields() {
            query.set(name, value.clone());
        }
        let mut headers = step.get("headers").fields().to_vec();
        if step.has("user") {
            headers.push(("Impersonate-User".to_owned(), step.get("user").clone()));
        }
        let answer = client::request(&self.service, "GET", &text(step.get("watch")), &query, &headers, None).await?;
        let content_type = answer
            .content_type()
            .split(";charset")
            .next()
            .unwrap_or_default()
            .to_owned();
        let out = Json::Object(vec![
            ("code".to_owned(), answer.status.into()),
            ("type".to_owned(), content_type.as_str().into()),
        ]);
        self.watches.insert(text(step.get("as")), Watch::start(answer));
        Ok(out)
    }

    async fn events(&mut self, step: &Json) -> Result<Json, String> {
        let name = text(step.get("events"));
        let watch = self
            .watches
            .get(&name)
            .ok_or_else(|| format!("there is no watch {name}"))?;
        let to_close = step.get("to-close").is_true();
        let count = step.get("count").as_u64().unwrap_or_default();
        let count = (!to_close).then(|| usize::try_from(count).unwrap_or(usize::MAX));
        let (items, closed) = watch.take(count, seconds(step.get("within"), 5.0)).await;
        let mut out = Json::Object(vec![("events".to_owned(), Json::Array(items))]);
        if to_close {
            out.set("closed", Json::Bool(closed));
        }
        self.note(step, out.get("events"));
        Ok(out)
    }

    /// Keeps a value for later steps when the step says so.
    fn note(&mut self, step: &Json, value: &Json) {
        if let Some(name) = step.get("as").as_str() {
            self.variables.insert(name.to_owned(), value.clone());
        }
    }

    fn shape(&mut self, raw: &Json, out: &Json) -> Json {
        let mut out = self.names.clean(out);
        let own = raw.get("drop").items().iter().filter_map(Json::as_str);
        for path in self.case.drop.iter().map(String::as_str).chain(own) {
            drop(&mut out, path);
        }
        if raw.has("keep") {
            keep(&out, raw.get("keep").items())
        } else {
            out
        }
    }

    async fn clean_up(&self) {
        let mut paths: Vec<String> = self
            .case
            .cleanup
            .iter()
            .filter_map(|path| fill(&path.as_str().into(), &self.variables).ok())
            .map(|path| text(&path))
            .collect();
        if self.case.namespace {
            paths.push(format!("/api/v1/namespaces/{}", text(&self.variables["ns"])));
        }
        for path in paths {
            // What is left over does no harm: every case has names of its own.
            let _ = client::request(&self.service, "DELETE", &path, &Json::Null, &[], None).await;
        }
    }
}

fn seconds(value: &Json, otherwise: f64) -> Duration {
    Duration::from_secs_f64(value.as_f64().unwrap_or(otherwise))
}

/// Seven letters that no other case of the file has.
fn tag(number: usize) -> String {
    let mut rest = number;
    let letters = (0..7).map(|_| {
        let letter = b'a' + u8::try_from(rest % 26).unwrap_or_default();
        rest /= 26;
        char::from(letter)
    });
    letters.collect()
}
