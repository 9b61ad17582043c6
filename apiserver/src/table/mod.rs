//! Lists and objects as Table and PartialObjectMetadata.
