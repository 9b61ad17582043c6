//! Webhooks: what a review costs, and whether another certificate stalls those on their way.

mod object;
mod reload;

use std::hint::black_box;

use bytes::Bytes;
use http::Request;
use kubewright::Result as Outcome;
use kubewright::k8s_openapi::api::apps::v1::Deployment;
use kubewright::webhook::{Declaration, Handler, Mutate, Request as Asked, Validate, Verdict, Webhooks};

use crate::Failure;
use crate::harness::{Case, Limit, Options, Suite, microseconds};

/// Reviews of one turn.
const ROUNDS: u32 = 2_000;

const VALIDATE: Case = Case {
    name: "webhook-x",
    what: "validate a Deployment of 1.5 KB; peer: parse it as its type and serialise it",
    unit: "us",
    limit: Limit::Times(2.0),
    samples: 21,
};
const MUTATE: Case = Case {
    name: "mutate-x",
    what: "change one field of it; peer: the same",
    unit: "us",
    limit: Limit::None,
    samples: 21,
};

/// Judges Deployments.
struct Judge;

impl Webhooks for Judge {
    type Kind = Deployment;

    fn declare(d: Declaration<Self>) -> Declaration<Self> {
        d.for_::<Deployment>().validate().mutate()
    }
}

impl Validate<Deployment> for Judge {
    async fn create(&self, deployment: &Deployment, _: &Asked) -> Outcome<Verdict> {
        let mut verdict = Verdict::allowed();
        let replicas = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
        if replicas > 100 {
            verdict.invalid("spec.replicas", replicas, "must be 100 or less");
        }
        Ok(verdict)
    }
}

impl Mutate<Deployment> for Judge {
    async fn mutate(&self, mut deployment: Deployment, _: &Asked) -> Outcome<Deployment> {
        let labels = deployment.metadata.labels.get_or_insert_default();
        labels.insert("seen".to_owned(), "true".to_owned());
        Ok(deployment)
    }
}

/// Runs the suite; answers whether every limit held.
///
/// # Errors
/// When something could not be measured.
pub(crate) async fn run(options: &Options) -> Result<bool, Failure> {
    let mut suite = Suite::start("webhook", options)?;
    let handler = Handler::of("bench", Judge);
    for (case, path) in [
        (VALIDATE, "/validate/deployments.apps/v1?timeout=10s"),
        (MUTATE, "/mutate/deployments.apps/v1?timeout=10s"),
    ] {
        let review = Bytes::from(object::review().to_string());
        let ours = async || microseconds(ROUNDS, async || ask(&handler, path, review.clone()).await).await;
        let peer = async || microseconds(ROUNDS, async || parse_and_serialise()).await;
        suite.compare(case, ours, peer).await?;
    }
    reload::run(&mut suite, &handler).await?;
    Ok(suite.finish())
}

async fn ask(handler: &Handler, path: &str, review: Bytes) -> Result<(), Failure> {
    let request = Request::post(path)
        .header("content-type", "application/json")
        .body(review)?;
    let answer = handler.call(request).await;
    if answer.status() != 200 {
        return Err(format!("a review got {}: {:?}", answer.status(), answer.body()).into());
    }
    black_box(answer);
    Ok(())
}

fn parse_and_serialise() -> Result<(), Failure> {
    thread_local! {
        static TEXT: String = object::deployment().to_string();
    }
    TEXT.with(|text| {
        let deployment: Deployment = serde_json::from_str(black_box(text))?;
        black_box(serde_json::to_vec(&deployment)?);
        Ok(())
    })
}
