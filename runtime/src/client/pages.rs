//! A collection read page by page, so that no more than one page of it is in memory.

use std::fmt;

use crate::client::error::ClientError;
use crate::client::origin::Origin;
use crate::client::params::{ListParams, Page};
use crate::client::transport::{PAGE, Transport};
use crate::kind::Kind;

/// The pages of a collection; made by [`Transport::pages`].
pub struct Pages {
    transport: Transport,
    origin: Origin,
    kind: Kind,
    namespace: Option<String>,
    params: ListParams,
    ended: bool,
}

impl Pages {
    pub(crate) fn new(
        transport: Transport,
        origin: Origin,
        kind: Kind,
        namespace: Option<String>,
        params: ListParams,
    ) -> Self {
        let params = ListParams {
            limit: params.limit.or(Some(PAGE)),
            ..params
        };
        Self {
            transport,
            origin,
            kind,
            namespace,
            params,
            ended: false,
        }
    }

    /// The next page; `None` after the last.
    ///
    /// All pages show the collection at one moment. Where the server has given up that moment between two pages, as it
    /// may after some minutes, it goes on from the same place with a later one, if it can.
    ///
    /// # Errors
    ///
    /// [`ClientError`]; 410 where the moment is gone and the server cannot go on. The page can be asked for again.
    ///
    /// # Cancel safety
    ///
    /// The page that was asked for is asked for again.
    pub async fn next(&mut self) -> Option<Result<Page, ClientError>> {
        let mut again = true;
        while !self.ended {
            let namespace = self.namespace.as_deref();
            let page = self
                .transport
                .list(&self.origin, &self.kind, namespace, &self.params)
                .await;
            match page {
                Ok(page) => {
                    self.params.continue_token.clone_from(&page.continue_token);
                    self.ended = page.continue_token.is_none();
                    return Some(Ok(page));
                }
                Err(error) => {
                    let later = error.status().and_then(|status| status.continue_token.clone());
                    match later.filter(|_| error.is_expired() && std::mem::take(&mut again)) {
                        Some(later) => self.params.continue_token = Some(later),
                        None => return Some(Err(error)),
                    }
                }
            }
        }
        None
    }
}

impl fmt::Debug for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pages")
            .field("kind", &format_args!("{}", self.kind))
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}
