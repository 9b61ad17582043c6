//! The way to the API server: requests over raw bytes, and the layers every request passes.

mod error;

pub use error::ClientError;
