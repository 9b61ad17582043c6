//! The testkit itself: the cluster, its clock, its helpers.

mod cluster;
mod replicas;
mod support;
mod time;
