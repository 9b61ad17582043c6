//! Schemas: of built-in kinds, from the recorded OpenAPI documents, and of custom ones, from their definition.

/// What an object of one kind and version looks like.
#[derive(Debug)]
pub struct Schema {}
