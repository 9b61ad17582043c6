//! Runs one case.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_apiserver::ApiServer;
use kubewright_apiserver::server::InProcess;
use tokio::time::{Instant, sleep};

use crate::case::{Case, Order};
use crate::client;
use crate::hooks::{AUTHORITY, Hooks};
use crate::json::Json;
use crate::names::Names;
use crate::reviews::{self, by_owner};
use crate::shape::{Variables, at, differences, drop, fill, keep, text};
use crate::watch::Watch;

/// Runs a case, numbered within its file, and answers how it differs from the recording.
pub(crate) async fn run(server: &ApiServer, hooks: &Hooks, case: &Case, number: usize) -> Vec<String> {
    let mut run = Run::new(server, hooks, case, number);
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
    hooks: &'a Hooks,
    id: String,
    service: InProcess,
    case: &'a Case,
    variables: Variables,
    names: Names,
    watches: BTreeMap<String, Watch>,
}

impl<'a> Run<'a> {
    fn new(server: &'a ApiServer, hooks: &'a Hooks, case: &'a Case, number: usize) -> Self {
        let tag = tag(number);
        let (ns, id, group) = (format!("cf-{tag}"), format!("id{tag}"), format!("g{tag}.conf.example"));
        let (all, ca) = (format!("https://{AUTHORITY}"), STANDARD.encode("no certificate"));
        let hook = format!("{all}/{id}");
        let literals = vec![
            (hook.clone(), "<hook>".into()),
            (all, "<hooks>".into()),
            (ca.clone(), "<ca>".into()),
            (group.clone(), "<group>".into()),
            (ns.clone(), "<ns>".into()),
            (id.clone(), "<id>".into()),
        ];
        let variables = [
            ("ns", ns),
            ("id", id.clone()),
            ("group", group),
            ("hook", hook),
            ("ca", ca),
        ];
        Self {
            server,
            hooks,
            id,
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
        self.hooks.script(&self.id, &fill(&self.case.hooks, &self.variables)?);
        for (number, raw) in self.case.steps.iter().enumerate() {
            let in_step = |problem: String| format!("step {number}: {problem}");
            let Some(out) = self.reviewed_step(raw).await.map_err(in_step)? else {
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
                let want = self.expected(raw, &got);
                problems.extend(differences(&want, &got).into_iter().map(in_step));
            }
        }
        Ok(problems)
    }

    /// What was recorded, as far as it can be the same here.
    fn expected(&self, raw: &Json, got: &Json) -> Json {
        let mut want = raw.get("expect").clone();
        if self.case.headers {
            drop(&mut want, "calls.*.headers");
            drop(&mut want, "calls.*.method");
        }
        if self.case.order == Order::Set
            && reviews::are_some_of(want.get("calls"), got.get("calls"))
            && want.has("calls")
        {
            want.set("calls", got.get("calls").clone());
        }
        want
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

    /// Does a step; answers what there is to compare, the reviews that it made included.
    async fn reviewed_step(&mut self, raw: &Json) -> Result<Option<Json>, String> {
        if raw.has("script") {
            self.hooks.script(&self.id, &fill(raw.get("script"), &self.variables)?);
            return Ok(None);
        }
        let waits = raw.has("sleep") || raw.has("until");
        if !waits && !raw.get("earlier-calls").is_true() {
            self.hooks.take(&self.id);
        }
        let out = self.step(raw).await?;
        let (Some(mut out), false) = (out.clone(), self.case.hooks.is_null()) else {
            return Ok(out);
        };
        if self.case.settle > 0.0 {
            sleep(Duration::from_secs_f64(self.case.settle)).await;
        }
        if raw.get("setup").is_true() {
            return Ok(Some(out));
        }
        let calls = reviews::ordered(self.case, self.hooks.take(&self.id), &self.names);
        by_owner(&mut out);
        self.names.note_all_generated(&Json::Array(calls.clone()));
        self.names.note_all_generated(&out);
        let mut all = Json::Object(vec![("calls".to_owned(), Json::Array(calls))]);
        for (name, value) in out.fields() {
            all.set(name, value.clone());
        }
        Ok(Some(all))
    }

    /// Does a step; answers what the server answered.
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
