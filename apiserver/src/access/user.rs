//! The authenticated user of a request.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The group of every authenticated user.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// The group of requests without credentials.
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The user of requests without credentials.
pub(crate) const ANONYMOUS: &str = "system:anonymous";
/// The group that may do everything, whatever RBAC says.
pub(crate) const MASTERS: &str = "system:masters";
/// What the user name of a service account starts with.
pub(crate) const SERVICE_ACCOUNT_PREFIX: &str = "system:serviceaccount:";

/// A user as authentication found it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// Name, such as `admin` or `system:serviceaccount:<namespace>:<name>`.
    pub name: String,
    /// Unique id; empty when the authenticator knows none.
    pub uid: String,
    /// Groups, `system:authenticated` among them, in the order in which they are shown.
    pub groups: Vec<String>,
    /// What else the authenticator knows.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// An authenticated user: `system:authenticated` is appended to the groups when it is missing.
    pub fn new(name: impl Into<String>, groups: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let mut user = Self {
            name: name.into(),
            groups: groups.into_iter().map(Into::into).collect(),
            ..Self::default()
        };
        user.join(AUTHENTICATED);
        user
    }

    /// The user of a request without credentials.
    #[must_use]
    pub fn anonymous() -> Self {
        Self {
            name: ANONYMOUS.to_owned(),
            groups: vec![UNAUTHENTICATED.to_owned()],
            ..Self::default()
        }
    }

    /// The user that a service account is, with its three groups.
    #[must_use]
    pub fn service_account(namespace: &str, name: &str, uid: &str) -> Self {
        Self {
            name: format!("{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}"),
            uid: uid.to_owned(),
            groups: service_account_groups(namespace),
            extra: BTreeMap::new(),
        }
    }

    /// Adds a group unless the user is in it.
    pub fn join(&mut self, group: &str) {
        if !self.is_in(group) {
            self.groups.push(group.to_owned());
        }
    }

    /// Whether the user is in a group.
    #[must_use]
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|g| g == group)
    }

    /// Namespace and name when the user is a service account.
    #[must_use]
    pub fn as_service_account(&self) -> Option<(&str, &str)> {
        split_service_account(&self.name)
    }

    /// The user as `authentication.k8s.io/v1` UserInfo writes it; empty fields are left out.
    #[must_use]
    pub fn to_user_info(&self) -> Value {
        let mut info = json!({});
        if !self.name.is_empty() {
            info["username"] = self.name.clone().into();
        }
        if !self.uid.is_empty() {
            info["uid"] = self.uid.clone().into();
        }
        if !self.groups.is_empty() {
            info["groups"] = self.groups.clone().into();
        }
        if !self.extra.is_empty() {
            info["extra"] = json!(self.extra);
        }
        info
    }
}

/// The groups of every service account of a namespace.
#[must_use]
pub(crate) fn service_account_groups(namespace: &str) -> Vec<String> {
    vec![
        "system:serviceaccounts".to_owned(),
        format!("system:serviceaccounts:{namespace}"),
        AUTHENTICATED.to_owned(),
    ]
}

/// Namespace and name in `system:serviceaccount:<namespace>:<name>`.
#[must_use]
pub(crate) fn split_service_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(SERVICE_ACCOUNT_PREFIX)?.split_once(':')?;
    (!namespace.is_empty() && !name.is_empty() && !name.contains(':')).then_some((namespace, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_account_is_in_three_groups_and_found_again_by_its_name() {
        let user = User::service_account("web", "app", "u");
        assert_eq!(
            user.groups,
            [
                "system:serviceaccounts",
                "system:serviceaccounts:web",
                "system:authenticated"
            ]
        );
        assert_eq!(user.as_service_account(), Some(("web", "app")));
        assert_eq!(split_service_account("system:serviceaccount:web"), None);
        assert_eq!(split_service_account("system:serviceaccount:a:b:c"), None);
    }

    #[test]
    fn user_info_leaves_out_what_is_empty() {
        assert_eq!(
            User::new("ann", ["g"]).to_user_info(),
            json!({"username": "ann", "groups": ["g", "system:authenticated"]})
        );
        assert_eq!(User::default().to_user_info(), json!({}));
    }
}
