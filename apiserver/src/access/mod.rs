//! Who may do what: tokens, impersonation, RBAC, access reviews.
