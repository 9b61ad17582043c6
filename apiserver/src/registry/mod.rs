//! What each verb does to an object, for every kind alike.
//!
//! A verb works on a `Scope`: who asks, and for what. Reads answer stored text as it is wherever they can; writes
//! run the steps of the real server in its order (`create`, `update`, `patch`, `delete`), with what differs
//! between kinds behind `strategy`.

mod autoscaler;
pub(crate) mod bootstrap;
mod connect;
pub(crate) mod conversion;
pub(crate) mod convert;
pub(crate) mod create;
pub(crate) mod decode;
pub(crate) mod definitions;
pub(crate) mod delete;
mod events;
pub(crate) mod fields;
pub(crate) mod labels;
pub(crate) mod loopback;
pub(crate) mod options;
pub(crate) mod owners;
pub(crate) mod page;
pub(crate) mod patch;
pub(crate) mod pods;
pub(crate) mod read;
pub(crate) mod scale;
pub(crate) mod shape;
pub(crate) mod sight;
pub(crate) mod special;
pub(crate) mod strategy;
pub(crate) mod traits;
pub(crate) mod update;
pub(crate) mod watch;

use std::sync::Arc;

use self::shape::Shown;
use self::sight::Sight;
use crate::access::User;
use crate::catalog::Catalog;
use crate::http::log::{Caller, WriteRecord};
use crate::resource::Resource;
use crate::server::Core;
use crate::storage::Stored;

pub(crate) use self::patch::PatchKind;

/// Who asks, and for what.
#[derive(Clone)]
pub(crate) struct Scope {
    pub(crate) core: Arc<Core>,
    /// What is served for the length of this request.
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) resource: Arc<Resource>,
    /// Empty for cluster-scoped kinds, and for all namespaces.
    pub(crate) namespace: String,
    /// Empty for collections.
    pub(crate) name: String,
    /// Empty for the object itself.
    pub(crate) subresource: String,
    pub(crate) user: Arc<User>,
    /// The field manager where the request names none.
    pub(crate) agent: String,
    /// Number of the request in the log; 0 for the server's own controllers.
    pub(crate) request: u64,
    /// Who asks, where an in-process client said so.
    pub(crate) caller: Option<Caller>,
    /// How much of what was written is shown where the newest state is not asked for.
    pub(crate) sight: Sight,
}

impl Scope {
    /// The last revision that is shown where the newest state is not asked for.
    pub(crate) fn shown(&self) -> u64 {
        let present = self.core.store.revision();
        match &self.sight.horizon {
            Some(horizon) => present.min(horizon.revision()),
            None => present,
        }
    }

    /// The same request for another object of the resource.
    pub(crate) fn named(&self, namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            ..self.clone()
        }
    }

    /// To be called after every write of an object.
    fn written(&self, old: Option<&Arc<Stored>>, new: &Arc<Stored>) {
        self.core.logs.wrote(|| WriteRecord {
            request: self.request,
            agent: self.agent.clone(),
            revision: new.revision,
            old: old.cloned(),
            new: Some(Arc::clone(new)),
        });
        self.core.written(&self.resource, new);
        conversion::spread(self, new);
    }

    /// To be called after every removal of an object.
    fn removed(&self, old: &Arc<Stored>, revision: u64) {
        self.core.logs.wrote(|| WriteRecord {
            request: self.request,
            agent: self.agent.clone(),
            revision,
            old: Some(Arc::clone(old)),
            new: None,
        });
        self.core.removed(&self.resource, old);
    }
}

/// A verb's answer.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) code: u16,
    pub(crate) shown: Shown,
    /// Texts for `Warning` headers.
    pub(crate) warnings: Vec<String>,
}

impl Outcome {
    pub(crate) fn ok(shown: Shown) -> Self {
        Self {
            code: 200,
            shown,
            warnings: Vec::new(),
        }
    }
}

/// The default field manager: the User-Agent up to the first slash, printable characters only.
pub(crate) fn manager_of(user_agent: &str) -> String {
    let name: String = user_agent
        .split('/')
        .next()
        .unwrap_or_default()
        .chars()
        .filter(|c| !c.is_control())
        .take(128)
        .collect();
    if name.is_empty() { "unknown".to_owned() } else { name }
}
