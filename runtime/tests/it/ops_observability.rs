//! The dashboard and the alerts of `examples/observability` ask for metrics and labels that there are.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kubewright::prelude::*;
use kubewright_testkit::TestCluster;
use promql_parser::label::Matchers;
use promql_parser::parser::{Expr, LabelModifier, parse};
use serde_json::Value;

use crate::support::{App, AppStatus, config_map, put};

/// Gives each App a ConfigMap, an event and a status.
#[controller(for = App, owns = ConfigMap, name = "watched")]
struct Watched;

impl Reconciler for Watched {
    async fn reconcile(&self, app: Arc<App>, cx: &Context<Self>) -> Result<Action> {
        cx.apply(config_map(&app)).await?;
        cx.event(EventType::Normal, "Seen", "it was seen");
        let seen = app.spec.value.clone();
        cx.apply_status(AppStatus { seen }).await?;
        Ok(Action::await_change())
    }
}

/// The names of the labels of each metric.
type Scrape = BTreeMap<String, BTreeSet<String>>;

/// Reads the text that Prometheus scrapes.
fn read(text: &str) -> Scrape {
    let mut scrape = Scrape::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (series, _) = line.rsplit_once(' ').expect("a value");
        let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
        let known = scrape.entry(name.to_owned()).or_default();
        let labels = labels.trim_end_matches('}');
        // No value of a label holds `",`.
        for label in labels.split("\",").filter(|label| !label.is_empty()) {
            known.insert(label.split_once('=').expect("a label").0.to_owned());
        }
    }
    scrape
}

#[kubewright_testkit::test]
async fn every_query_of_dashboard_and_alerts_asks_for_what_an_operator_serves() {
    let cluster = TestCluster::start();
    let manager = Manager::new("watched").controller(Watched);
    let metrics = manager.metrics().clone();
    let operator = cluster.operator(manager).leader_election().start().await;
    put(&cluster, "a", "1").await;
    cluster.wait_for::<App>("default/a", |app| app.status.is_some()).await;
    cluster.settled(Duration::from_secs(5)).await;
    let scrape = read(&metrics.encode(false));
    operator.stop().await;
    let (dashboard, alerts) = (panels(), rules());
    assert!(
        dashboard.len() > 20 && alerts.len() > 10,
        "{} and {}",
        dashboard.len(),
        alerts.len()
    );
    let mistakes: Vec<String> = dashboard
        .iter()
        .chain(&alerts)
        .flat_map(|(place, query)| {
            mistakes(query, &scrape)
                .into_iter()
                .map(move |why| format!("{place}: {why}"))
        })
        .collect();
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}

#[test]
fn a_query_for_what_is_not_served_is_found() {
    let scrape = read("workqueue_depth{name=\"a\",controller=\"a\"} 1\n");
    assert_eq!(
        mistakes("sum by (name) (workqueue_depth{controller=~\"a|b\"})", &scrape),
        Vec::<String>::new()
    );
    for (query, why) in [
        ("workqueue_dept", "there is no metric `workqueue_dept`"),
        (
            "rate(workqueue_depth{nam=\"a\"}[5m])",
            "`workqueue_depth` has no label `nam`",
        ),
        (
            "1 + sum by (kind) (workqueue_depth)",
            "`workqueue_depth` has no label `kind`",
        ),
    ] {
        assert_eq!(mistakes(query, &scrape), [why]);
    }
    assert!(mistakes("sum by (", &scrape)[0].starts_with("it does not parse"));
}

/// The queries of the dashboard, each with its panel.
fn panels() -> Vec<(String, String)> {
    let text = include_str!("../../../examples/observability/dashboard.json");
    let dashboard: Value = serde_json::from_str(text).expect("valid JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels.iter().flat_map(|panel| {
        let title = panel["title"].as_str().expect("a title");
        let targets = panel["targets"].as_array().expect("queries");
        targets
            .iter()
            .map(move |target| (title.to_owned(), text_of(&target["expr"])))
    });
    targets.collect()
}

/// The queries of the alerts, each with its name.
fn rules() -> Vec<(String, String)> {
    let text = include_str!("../../../examples/observability/alerts.yaml");
    let file: Value = serde_saphyr::from_str(text).expect("valid YAML");
    let groups = file["groups"].as_array().expect("groups");
    let rules = groups
        .iter()
        .flat_map(|group| group["rules"].as_array().expect("rules"));
    rules
        .map(|rule| (text_of(&rule["alert"]), text_of(&rule["expr"])))
        .collect()
}

fn text_of(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// What a query asks for that is not in the scrape.
fn mistakes(query: &str, scrape: &Scrape) -> Vec<String> {
    match parse(query) {
        Err(why) => vec![format!("it does not parse: {why}: {query}")],
        Ok(query) => {
            let mut found = Vec::new();
            look(&query, &mut BTreeSet::new(), scrape, &mut found);
            found
        }
    }
}

/// Looks at an expression, whose labels `by` are kept by an aggregation around it.
fn look(query: &Expr, by: &mut BTreeSet<String>, scrape: &Scrape, found: &mut Vec<String>) {
    match query {
        Expr::Aggregate(aggregate) => {
            let mut kept = match &aggregate.modifier {
                Some(LabelModifier::Include(labels)) => labels.labels.iter().cloned().collect(),
                _ => BTreeSet::new(),
            };
            look(&aggregate.expr, &mut kept, scrape, found);
        }
        Expr::Binary(binary) => {
            look(&binary.lhs, by, scrape, found);
            look(&binary.rhs, by, scrape, found);
        }
        Expr::Unary(unary) => look(&unary.expr, by, scrape, found),
        Expr::Paren(paren) => look(&paren.expr, by, scrape, found),
        Expr::Subquery(subquery) => look(&subquery.expr, by, scrape, found),
        Expr::Call(call) => call.args.args.iter().for_each(|arg| look(arg, by, scrape, found)),
        Expr::VectorSelector(selector) => asks(selector.name.as_deref(), &selector.matchers, by, scrape, found),
        Expr::MatrixSelector(selector) => asks(selector.vs.name.as_deref(), &selector.vs.matchers, by, scrape, found),
        _ => {}
    }
}

fn asks(name: Option<&str>, matchers: &Matchers, by: &BTreeSet<String>, scrape: &Scrape, found: &mut Vec<String>) {
    let name = name.unwrap_or_default();
    let Some(labels) = scrape.get(name) else {
        found.push(format!("there is no metric `{name}`"));
        return;
    };
    let asked = matchers.matchers.iter().map(|matcher| &matcher.name).chain(by);
    for label in asked.filter(|label| !labels.contains(*label)) {
        found.push(format!("`{name}` has no label `{label}`"));
    }
}
