//! The three kinds of patch that change an object in place: JSON patch, merge patch, strategic merge patch.

mod json;
mod merge;
mod strategic;

pub use json::json;
pub use merge::merge;
pub use strategic::strategic;
