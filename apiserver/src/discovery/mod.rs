//! Discovery documents, plain and aggregated.
