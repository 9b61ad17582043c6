//! What a request costs in process, as a multiple of parsing the object that it carries and serialising it again.

use std::cell::{Cell, RefCell};
use std::hint::black_box;

use bytes::Bytes;
use serde_json::Value;

use super::client::{APPLY, Client, JSON};
use super::object::{WIDGETS, widget};
use crate::Failure;
use crate::harness::{Case, Limit, Suite, microseconds};

/// Requests of one turn.
const ROUNDS: u32 = 500;

const CREATE: Case = case(
    "create-x",
    "create a custom resource of 1.5 KB; peer: parse and serialise it",
    3.0,
);
const UPDATE: Case = case("update-x", "update it; peer: parse and serialise what is sent", 4.0);
const APPLY_: Case = case(
    "apply-x",
    "apply it with a change; peer: parse and serialise what is sent",
    8.0,
);
const GET: Case = case("get-x", "get it; peer: parse and serialise the answer", 1.0);

const fn case(name: &'static str, what: &'static str, times: f64) -> Case {
    Case {
        name,
        what,
        unit: "us",
        limit: Limit::Times(times),
        samples: 21,
    }
}

/// Measures create, update, apply and get.
///
/// # Errors
/// When a request is refused.
pub(crate) async fn run(suite: &mut Suite) -> Result<(), Failure> {
    let client = Client::start().await?;
    create(suite, &client).await?;
    update(suite, &client).await?;
    apply(suite, &client).await?;
    get(suite, &client).await
}

async fn create(suite: &mut Suite, client: &Client) -> Result<(), Failure> {
    let next = Cell::new(0);
    let body = || {
        next.set(next.get() + 1);
        Bytes::from(widget(&format!("created-{:05}", next.get()), 0).to_string())
    };
    let sample = body();
    let ours = async || {
        let bodies = RefCell::new((0..ROUNDS).map(|_| body()).collect::<Vec<_>>());
        microseconds(ROUNDS, async || {
            let body = bodies.borrow_mut().pop().ok_or("there is a body for every round")?;
            client.bytes("POST", WIDGETS, JSON, body).await.map(drop)
        })
        .await
    };
    suite.compare(CREATE, ours, async || peer(&sample).await).await
}

async fn update(suite: &mut Suite, client: &Client) -> Result<(), Failure> {
    let path = format!("{WIDGETS}/updated");
    let stored = client.send("POST", WIDGETS, JSON, &widget("updated", 0)).await?;
    // What the server answered goes back with a change, managedFields included, and names the version that it changes.
    let body = |change: usize| {
        let mut object = stored.clone();
        object["spec"]["image"] = format!("registry.example.com/team/widget:1.{change}").into();
        object["metadata"]["resourceVersion"] = "@".into();
        let text = object.to_string();
        let (front, back) = text.split_once('@').ok_or("the version was just set")?;
        Ok::<_, Failure>((front.to_owned(), back.to_owned()))
    };
    let (front, back) = body(1000)?;
    let sample = Bytes::from(format!("{front}1000{back}"));
    let version = RefCell::new(version_in(stored.to_string().as_bytes())?);
    let next = Cell::new(0);
    let ours = async || {
        let bodies = RefCell::new(Vec::new());
        for _ in 0..ROUNDS {
            next.set(next.get() + 1);
            bodies.borrow_mut().push(body(next.get())?);
        }
        microseconds(ROUNDS, async || {
            let (front, back) = bodies.borrow_mut().pop().ok_or("there is a body for every round")?;
            let body = format!("{front}{}{back}", version.borrow());
            let answer = client.bytes("PUT", &path, JSON, body.into()).await?;
            *version.borrow_mut() = version_in(&answer)?;
            Ok(())
        })
        .await
    };
    suite.compare(UPDATE, ours, async || peer(&sample).await).await
}

/// The resourceVersion in the text of an object.
fn version_in(text: &[u8]) -> Result<String, Failure> {
    let text = std::str::from_utf8(text)?;
    let (_, rest) = text
        .split_once("\"resourceVersion\":\"")
        .ok_or("an answer without a version")?;
    Ok(rest.split('"').next().unwrap_or_default().to_owned())
}

async fn apply(suite: &mut Suite, client: &Client) -> Result<(), Failure> {
    let path = format!("{WIDGETS}/applied?fieldManager=bench&force=true");
    let next = Cell::new(0);
    let body = |i: usize| Bytes::from(widget("applied", i).to_string());
    let sample = body(1000);
    let ours = async || {
        let bodies = RefCell::new(Vec::new());
        for _ in 0..ROUNDS {
            next.set(next.get() + 1);
            bodies.borrow_mut().push(body(next.get()));
        }
        microseconds(ROUNDS, async || {
            let body = bodies.borrow_mut().pop().ok_or("there is a body for every round")?;
            client.bytes("PATCH", &path, APPLY, body).await.map(drop)
        })
        .await
    };
    suite.compare(APPLY_, ours, async || peer(&sample).await).await
}

async fn get(suite: &mut Suite, client: &Client) -> Result<(), Failure> {
    client.send("POST", WIDGETS, JSON, &widget("read", 0)).await?;
    let path = format!("{WIDGETS}/read");
    let answer = client.bytes("GET", &path, JSON, Bytes::new()).await?;
    let ours = async || {
        microseconds(ROUNDS, async || {
            client.bytes("GET", &path, JSON, Bytes::new()).await.map(drop)
        })
        .await
    };
    suite.compare(GET, ours, async || peer(&answer).await).await
}

/// Parses a text into a value and serialises that again.
async fn peer(text: &Bytes) -> Result<f64, Failure> {
    microseconds(ROUNDS, async || {
        let value: Value = serde_json::from_slice(black_box(text))?;
        black_box(serde_json::to_vec(&value)?);
        Ok(())
    })
    .await
}
