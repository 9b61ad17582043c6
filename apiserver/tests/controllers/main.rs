//! The server's own controllers and the simulated workloads, seen over HTTP, in process and on paused time.

mod cluster;
mod collection;
mod namespaces;
mod quiet;
mod services;
mod workloads;
