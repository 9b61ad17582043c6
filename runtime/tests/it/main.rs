//! Operators, their caches and their clients on an API server in the process, on paused time.

mod cache_faults;
mod cache_index;
mod cache_reads;
mod cache_restart;
mod cache_rig;
mod cache_schedules;
mod cache_watch;
mod context_dynamic;
mod context_stale;
mod engine_deletion;
mod engine_isolation;
mod engine_manager;
mod engine_outcomes;
mod engine_sources;
mod engine_wakeups;
mod invariants;
mod leader_handover;
mod support;
