//! API services.

use super::column::{AGE, Column, NAME, Table};

pub(super) const TABLES: &[Table] = &[("apiregistration.k8s.io", "APIService", API_SERVICE)];

const API_SERVICE: &[Column] = &[
    NAME,
    Column::text(
        "Service",
        "The reference to the service that hosts this API endpoint.",
        |row| {
            if row.at("/spec/service").is_null() {
                return "Local".into();
            }
            format!(
                "{}/{}",
                row.text("/spec/service/namespace"),
                row.text("/spec/service/name")
            )
            .into()
        },
    ),
    Column::text("Available", "Whether this service is available.", |row| {
        let condition = row.list("/status/conditions").iter().find(|c| c["type"] == "Available");
        match condition {
            Some(c) if c["status"] == "True" => "True".into(),
            Some(c) => format!(
                "{} ({})",
                c["status"].as_str().unwrap_or_default(),
                c["reason"].as_str().unwrap_or_default()
            )
            .into(),
            None => "Unknown".into(),
        }
    }),
    AGE,
];
