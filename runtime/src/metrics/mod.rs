//! What Prometheus scrapes. Names and labels are those of controller-runtime where it has them, so that dashboards
//! and alerts for its operators work unchanged; what is ours begins with `kubewright_`.
//!
//! | metric | labels |
//! |---|---|
//! | `controller_runtime_reconcile_total` | controller, result |
//! | `controller_runtime_reconcile_errors_total`, `_terminal_reconcile_errors_total`, `_reconcile_panics_total`, `_reconcile_timeouts_total` | controller |
//! | `controller_runtime_reconcile_time_seconds` | controller |
//! | `controller_runtime_active_workers`, `controller_runtime_max_concurrent_reconciles` | controller |
//! | `workqueue_adds_total`, `_retries_total`, `_depth`, `_queue_duration_seconds`, `_work_duration_seconds`, `_unfinished_work_seconds`, `_longest_running_processor_seconds` | name, controller |
//! | `leader_election_master_status` | name |
//! | `rest_client_requests_total` | code, method, host |
//! | `kubewright_reconcile_reasons_total` | controller, reason |
//! | `kubewright_applies_skipped_total` | controller |
//! | `kubewright_fence_refusals_total`, `kubewright_fence_abandoned_total` | – |
//! | `kubewright_events_total` | result |
//! | `kubewright_workqueue_delayed` | name, controller |
//! | `kubewright_cache_objects`, `kubewright_cache_bytes`, `kubewright_watch_synced`, `kubewright_watch_staleness_seconds`, `kubewright_watch_restarts_total`, `kubewright_watch_errors_total` | group, version, kind |

//!
//! No label names an object: the number of series follows from the declarations, the kinds and the status codes.

mod controller;
mod registry;
mod requests;
mod scrape;

pub use controller::ControllerMetrics;
pub use registry::Metrics;
pub use scrape::{Sample, Source};
