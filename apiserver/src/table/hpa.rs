//! Horizontal pod autoscalers, in both versions.

use serde_json::Value;

use super::column::{AGE, Column, NAME, Row, Table};
use super::format::plain;

pub(super) const TABLES: &[Table] = &[("autoscaling", "HorizontalPodAutoscaler", AUTOSCALER)];

const AUTOSCALER: &[Column] = &[
    NAME,
    Column::text("Reference", "What is scaled.", |row| {
        format!(
            "{}/{}",
            row.text("/spec/scaleTargetRef/kind"),
            row.text("/spec/scaleTargetRef/name")
        )
        .into()
    }),
    Column::text("Targets", "What is measured, and what it should be.", |row| {
        targets(row).into()
    }),
    Column::text("MinPods", "The smallest number of pods.", |row| {
        match row.at("/spec/minReplicas").as_i64() {
            Some(least) => least.to_string().into(),
            None => "<unset>".into(),
        }
    }),
    Column::text("MaxPods", "The largest number of pods.", |row| {
        row.number("/spec/maxReplicas").into()
    }),
    Column::text("Replicas", "How many pods there are.", |row| {
        row.number("/status/currentReplicas").into()
    }),
    AGE,
];

/// At most two metrics, each as `current/wanted`.
fn targets(row: &Row<'_>) -> String {
    let mut metrics: Vec<String> = row
        .list("/spec/metrics")
        .iter()
        .enumerate()
        .map(|(index, wanted)| metric(wanted, row.list("/status/currentMetrics").get(index)))
        .collect();
    // autoscaling/v1 knows one metric, in fields of its own.
    if let Some(wanted) = row.at("/spec/targetCPUUtilizationPercentage").as_i64() {
        let current = row.at("/status/currentCPUUtilizationPercentage").as_i64();
        let current = current.map_or_else(|| "<unknown>".to_owned(), |c| format!("{c}%"));
        metrics.push(format!("cpu: {current}/{wanted}%"));
    }
    match metrics.len() {
        0 => "<none>".to_owned(),
        1 | 2 => metrics.join(", "),
        all => format!("{} + {} more...", metrics[..2].join(", "), all - 2),
    }
}

fn metric(spec: &Value, status: Option<&Value>) -> String {
    let (field, named) = match spec["type"].as_str().unwrap_or_default() {
        "External" => ("external", false),
        "Pods" => ("pods", false),
        "Object" => ("object", false),
        "Resource" => ("resource", true),
        "ContainerResource" => ("containerResource", true),
        _ => return "<unknown type>".to_owned(),
    };
    let target = &spec[field]["target"];
    let current = status.map_or(&Value::Null, |s| &s[field]["current"]);
    let known = |value: &Value| {
        if value.is_null() {
            "<unknown>".to_owned()
        } else {
            plain(value)
        }
    };
    if named {
        let name = spec[field]["name"].as_str().unwrap_or_default();
        if !target["averageValue"].is_null() {
            return format!(
                "{name}: {}/{}",
                known(&current["averageValue"]),
                plain(&target["averageValue"])
            );
        }
        let percent = |value: &Value, otherwise: &str| {
            value
                .as_i64()
                .map_or_else(|| otherwise.to_owned(), |percent| format!("{percent}%"))
        };
        let wanted = percent(&target["averageUtilization"], "<auto>");
        return format!(
            "{name}: {}/{wanted}",
            percent(&current["averageUtilization"], "<unknown>")
        );
    }
    if target["averageValue"].is_null() {
        return format!("{}/{}", known(&current["value"]), plain(&target["value"]));
    }
    let average = if field == "pods" { "" } else { " (avg)" };
    format!(
        "{}/{}{average}",
        known(&current["averageValue"]),
        plain(&target["averageValue"])
    )
}
