//! Operators on an API server in the process, on paused time.

mod engine_deletion;
mod engine_isolation;
mod engine_manager;
mod engine_outcomes;
mod engine_wakeups;
mod leader_handover;
mod support;
