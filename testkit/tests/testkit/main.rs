//! The testkit itself: the cluster, its clock, its helpers.

mod cluster;
mod replicas;
mod story;
mod support;
mod time;
