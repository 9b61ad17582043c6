//! The testkit itself: the cluster, its clock, its helpers.

mod cluster;
mod time;
