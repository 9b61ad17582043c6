//! The rules of the server's verbs, asked in raw HTTP, in process and on paused time.

mod client;
mod lists;
mod watches;
mod writes;
