//! What a write costs as the number of stored objects and of watchers grows that it does not concern.

use std::cell::{Cell, RefCell};

use bytes::Bytes;
use futures::StreamExt as _;
use http_body_util::BodyExt as _;

use super::client::{Client, JSON, MERGE};
use super::object::{WIDGETS, widget};
use crate::Failure;
use crate::harness::{Case, Limit, Suite, microseconds};

/// Writes of one turn.
const ROUNDS: u32 = 500;
/// A step that visits objects in no order, without a common factor with their number.
const STRIDE: usize = 7_919;

const OBJECTS: Case = Case {
    name: "write-100k-x",
    what: "an update among 100 000 objects; peer: among 1 000",
    unit: "us",
    limit: Limit::Times(1.5),
    samples: 21,
};

const WATCHERS: Case = Case {
    name: "write-1k-watchers-x",
    what: "an update with 1 000 watchers whose selectors do not match; peer: with 10",
    unit: "us",
    limit: Limit::Times(1.2),
    samples: 21,
};

/// Measures both.
///
/// # Errors
/// When a request is refused.
pub(crate) async fn run(suite: &mut Suite) -> Result<(), Failure> {
    if suite.wants(&OBJECTS) {
        let (many, few) = (Updates::among(100_000).await?, Updates::among(1_000).await?);
        suite
            .compare(OBJECTS, async || many.turn().await, async || few.turn().await)
            .await?;
    }
    if suite.wants(&WATCHERS) {
        let (many, few) = (Updates::among(1_000).await?, Updates::among(1_000).await?);
        let _watches = (many.watchers(1_000).await?, few.watchers(10).await?);
        suite
            .compare(WATCHERS, async || many.turn().await, async || few.turn().await)
            .await?;
    }
    Ok(())
}

/// A server with so many objects, which are updated in no order.
struct Updates {
    client: Client,
    count: usize,
    next: Cell<usize>,
}

impl Updates {
    async fn among(count: usize) -> Result<Self, Failure> {
        let client = Client::start().await?;
        for i in 0..count {
            let body = widget(&format!("widget-{i}"), 0).to_string();
            client.bytes("POST", WIDGETS, JSON, body.into()).await?;
        }
        Ok(Self {
            client,
            count,
            next: Cell::new(0),
        })
    }

    async fn turn(&self) -> Result<f64, Failure> {
        let mut bodies = Vec::new();
        for _ in 0..ROUNDS {
            let change = self.next.get() + 1;
            self.next.set(change);
            let name = format!("widget-{}", change * STRIDE % self.count);
            let body = Bytes::from(widget(&name, change).to_string());
            bodies.push((format!("{WIDGETS}/{name}?fieldManager=bench"), body));
        }
        let bodies = RefCell::new(bodies);
        microseconds(ROUNDS, async || {
            let (path, body) = bodies.borrow_mut().pop().ok_or("there is a body for every round")?;
            self.client.bytes("PATCH", &path, MERGE, body).await.map(drop)
        })
        .await
    }

    /// Watches that match nothing: by label, by name and by namespace, in turn.
    async fn watchers(&self, count: usize) -> Result<Vec<tokio::task::JoinHandle<()>>, Failure> {
        let mut watchers = Vec::new();
        for i in 0..count {
            let everywhere = "/apis/bench.dev/v1/widgets";
            let path = match i % 3 {
                0 => format!("{everywhere}?watch=1&timeoutSeconds=3000&labelSelector=shard%3D{i}"),
                1 => format!("{WIDGETS}?watch=1&timeoutSeconds=3000&fieldSelector=metadata.name%3Dnone-{i}"),
                _ => format!("/apis/bench.dev/v1/namespaces/other-{i}/widgets?watch=1&timeoutSeconds=3000"),
            };
            let response = self.client.open("GET", &path, JSON, Bytes::new()).await?;
            let mut events = response.into_body().into_data_stream();
            watchers.push(tokio::spawn(async move { while events.next().await.is_some() {} }));
        }
        Ok(watchers)
    }
}
