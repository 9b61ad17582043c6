//! The rules of the server's verbs, asked in raw HTTP, in process and on paused time.

#![allow(clippy::unwrap_used, reason = "a test that meets the unexpected fails")]

mod client;
mod connections;
mod faults;
mod hostile;
mod kinds;
mod lists;
mod log;
mod restart;
mod versions;
mod views;
mod watches;
mod writes;
