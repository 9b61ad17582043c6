//! Who may do what: users, RBAC, impersonation, tokens and the access reviews.
//!
//! Nothing here speaks HTTP. The caller authenticates with [`Tokens`], impersonates with [`impersonate()`], asks the
//! [`Authorizer`] and writes [`forbidden()`] when it refuses. The rules are those of the real server's RBAC
//! authorizer (<https://kubernetes.io/docs/reference/access-authn-authz/rbac/>).

mod attributes;
mod authorizer;
mod impersonate;
mod policy;
mod source;
mod tokens;
mod user;

pub use attributes::{Attributes, forbidden};
pub use authorizer::{Authorizer, Decision};
pub use impersonate::{Impersonation, requested};
pub use policy::Rule;
pub use source::Source;
pub use tokens::{AUDIENCE, Bound, ServiceAccountClaims, Tokens, Verified};
pub use user::User;
