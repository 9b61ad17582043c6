//! From a request to what serves it.

use std::future::pending;
use std::io;
use std::sync::Arc;

use http::{HeaderValue, Method, Response, header};

use super::accept;
use super::body::{self, Body};
use super::guard;
use super::health;
use super::incoming::Incoming;
use super::intercept::{Interceptor, Verdict};
use super::log::RequestRecord;
use super::resource;
use super::respond;
use super::route::Route;
use crate::access::User;
use crate::discovery::{self, Ask};
use crate::error::ApiError;
use crate::registry::sight::Sight;
use crate::server::Core;

/// Answers a request that was read.
///
/// # Errors
/// An interceptor breaks the connection.
pub(crate) async fn handle(core: Arc<Core>, incoming: Incoming) -> io::Result<Response<Body>> {
    let media = accept::for_errors(&incoming.accept());
    let Some(route) = Route::parse(incoming.method.as_str(), &incoming.path, &incoming.query) else {
        let error = ApiError::bad_request(format!("the path {:?} has a malformed escape", incoming.path));
        return Ok(respond::error(&error, media));
    };
    let id = core.next_request();
    let mut name = String::new();
    let admitted = guard::admit(&core, &incoming, &route, &mut name);
    let interceptor = core.interceptor();
    let record = |user: &str, code: u16| RequestRecord {
        id,
        caller: incoming.caller.clone(),
        user_agent: incoming.header(&header::USER_AGENT).to_owned(),
        user: user.to_owned(),
        verb: route.verb.clone(),
        group: route.group.clone(),
        version: route.version.clone(),
        resource: route.resource.clone(),
        subresource: route.subresource.clone(),
        namespace: route.namespace.clone(),
        name: route.name.clone(),
        path: incoming.path.clone(),
        query: incoming.query_text.clone(),
        code,
    };
    let answer = match (admitted, &interceptor) {
        (Ok(user), Some(interceptor)) => {
            let mut record = record(&name, 0);
            if record.name.is_empty() && record.verb == "create" {
                record.name = incoming.name_in_body();
            }
            match interceptor.before(&record).await {
                Verdict::Pass => {
                    let asked = Asked {
                        user,
                        id,
                        sight: Sight::of(&**interceptor, &record),
                    };
                    serve(&core, &incoming, &route, asked).await
                }
                Verdict::Answer(error) => Err(*error),
                Verdict::Cut => return Err(body::reset()),
                Verdict::Refuse => return Err(body::refused()),
                Verdict::Lose => return pending().await,
            }
        }
        (Ok(user), None) => serve(&core, &incoming, &route, Asked::plainly(user, id)).await,
        (Err(error), _) => Err(error),
    };
    let mut response = answer.unwrap_or_else(|error| respond::error(&error, media));
    let mut verdict = Verdict::Pass;
    if let Some(interceptor) = &interceptor {
        verdict = interceptor.after(&record(&name, response.status().as_u16())).await;
        if let Verdict::Answer(error) = &verdict {
            response = respond::error(error, media);
        }
    }
    response
        .headers_mut()
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-cache, private"));
    let answered = matches!(verdict, Verdict::Pass | Verdict::Answer(_));
    let code = if answered { response.status().as_u16() } else { 0 };
    core.logs.tell(|| record(&name, code));
    match verdict {
        Verdict::Pass | Verdict::Answer(_) => Ok(response),
        Verdict::Cut | Verdict::Refuse => Err(body::reset()),
        Verdict::Lose => pending().await,
    }
}

/// Who asks, as which request, and how much of what was written the answer may show.
pub(crate) struct Asked {
    pub(crate) user: Arc<User>,
    pub(crate) id: u64,
    pub(crate) sight: Sight,
}

impl Asked {
    fn plainly(user: Arc<User>, id: u64) -> Self {
        Self {
            user,
            id,
            sight: Sight::default(),
        }
    }
}

impl Sight {
    fn of(interceptor: &dyn Interceptor, record: &RequestRecord) -> Self {
        match record.verb.as_str() {
            "list" => Self::of_list(interceptor.list(record)),
            "watch" => interceptor.watch(record).map(Self::of_watch).unwrap_or_default(),
            _ => Self::default(),
        }
    }
}

async fn serve(core: &Arc<Core>, incoming: &Incoming, route: &Route, asked: Asked) -> Result<Response<Body>, ApiError> {
    if route.is_resource {
        return Box::pin(resource::serve(core, incoming, route, asked)).await;
    }
    let path = incoming.path.strip_suffix('/').unwrap_or(&incoming.path);
    let plain = "text/plain; charset=utf-8";
    match (&incoming.method, path) {
        (&Method::POST, "/kubewright/compact") => {
            core.store.compact_views(core.first_revision());
            Ok(respond::text(200, plain, "ok"))
        }
        (&Method::GET | &Method::HEAD, "") => {
            Ok(respond::text(200, "application/json", health::paths(&core.catalog())))
        }
        (&Method::GET | &Method::HEAD, "/metrics") => {
            Ok(respond::text(200, plain, health::metrics(core, &core.catalog())))
        }
        (&Method::GET | &Method::HEAD, _) => match health::probe(path, &incoming.query) {
            Some(text) => Ok(respond::text(200, plain, text)),
            None => document(core, incoming, route),
        },
        _ if path.starts_with("/api") => Err(ApiError::method_not_allowed()),
        _ => Err(ApiError::page_not_found()),
    }
}

/// Discovery and OpenAPI documents.
fn document(core: &Core, incoming: &Incoming, route: &Route) -> Result<Response<Body>, ApiError> {
    let catalog = core.catalog();
    let resources: Vec<_> = catalog.iter().cloned().collect();
    let accept = incoming.accept();
    let ask = Ask {
        path: &incoming.path,
        query: &incoming.query_text,
        accept: &accept,
        if_none_match: incoming.header(&header::IF_NONE_MATCH),
    };
    if let Some(answer) = discovery::respond(&resources, &ask) {
        return answer.map(respond::document);
    }
    if let Some(answer) = core.open_api.respond(&ask) {
        return Ok(respond::document(answer));
    }
    Err(no_such_path(core, route))
}

/// 404 as the real server words it: a Status inside the groups of built-in kinds, plain text elsewhere.
pub(crate) fn no_such_path(core: &Core, route: &Route) -> ApiError {
    let known = !route.version.is_empty() && core.has_builtin_group(&route.group);
    if known {
        ApiError::no_such_path()
    } else {
        ApiError::page_not_found()
    }
}
