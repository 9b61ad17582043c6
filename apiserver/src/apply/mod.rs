//! Server-side apply: field sets, managedFields, the merge.
