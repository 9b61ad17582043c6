//! List and watch over raw bytes: what the server says of a collection, kept up for as long as it is wanted.

mod frames;

pub use frames::Frames;
