//! The testkit itself: the cluster, its clock, its helpers.

mod cluster;
mod faults;
mod kubectl;
mod naive;
mod oracles;
mod replicas;
mod story;
mod support;
mod time;
mod workloads;
