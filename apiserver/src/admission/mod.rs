//! Checks between authorization and storage.
