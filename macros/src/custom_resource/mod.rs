//! `#[derive(CustomResource)]` and `#[derive(KubeSchema)]`: kube's derives, told to find everything through this
//! framework.
//!
//! Each hands kube's derive a twin of the item: the same name, visibility and attributes, with `crates(…)` added. An
//! attribute on the twin removes it again once kube's derive has seen it. So users name neither kube nor k8s-openapi
//! in their manifests, and everything that kube's derives know keeps working.

mod attrs;
mod described;
mod schema;
mod twin;

pub(crate) use attrs::{crate_path, has_key, path_text};
pub(crate) use schema::crates as crates_of_schema;
pub(crate) use schema::kube_schema;
pub(crate) use twin::custom_resource;
