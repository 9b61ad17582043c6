//! The testkit itself: the cluster, its clock, its helpers, its seeded runs.

mod cluster;
mod differences;
mod faults;
mod kubectl;
mod naive;
mod oracles;
mod replicas;
mod seeded;
mod spins;
mod story;
mod support;
mod time;
mod workloads;
