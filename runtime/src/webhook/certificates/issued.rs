//! Certificates that the operator issues itself.

use jiff::Timestamp;
use kube::Client;
use tokio::time::sleep;

use super::inject::Targets;
use super::plan::{Plan, Policy, State};
use super::store::{Store, Written};
use crate::env::Env;
use crate::webhook::identity::{Identity, Pem};

/// How often a replica tries again at once when another one was faster.
const MOST_CONFLICTS: usize = 5;

/// Issues and renews the certificates of one operator's webhooks. Each replica has one; they agree through a Secret.
pub struct Issuer {
    client: Client,
    store: Store,
    operator: String,
    names: Vec<String>,
    policy: Policy,
}

impl Issuer {
    /// One replica's issuer. `names` are the names and addresses by which the API server calls.
    #[must_use]
    pub fn new(client: Client, operator: &str, namespace: &str, names: Vec<String>, policy: Policy) -> Self {
        Self {
            store: Store::new(client.clone(), operator, namespace),
            client,
            operator: operator.to_owned(),
            names,
            policy,
        }
    }

    /// Keeps the Secret, the bundles and the identity up to date, for ever.
    ///
    /// # Cancel safety
    ///
    /// Safe: what was written stays, and the next run goes on from there.
    pub async fn run(&self, targets: Targets, identity: Identity, env: Env) {
        let mut told = String::new();
        loop {
            match self.step(&targets, &identity, &env).await {
                Ok(()) => told.clear(),
                Err(why) if why != told => {
                    tracing::warn!("the webhooks' certificates: {why}; it is tried again");
                    told = why;
                }
                Err(_) => {}
            }
            // Replicas that started together need not ask together.
            let check = if told.is_empty() {
                self.policy.check
            } else {
                self.policy.check / 10
            };
            sleep(check.mul_f64(0.9 + 0.2 * env.fraction())).await;
        }
    }

    /// Does what is due now.
    ///
    /// # Errors
    ///
    /// What could not be done; what could is done.
    ///
    /// # Cancel safety
    ///
    /// As [`run`](Self::run).
    pub async fn step(&self, targets: &Targets, identity: &Identity, env: &Env) -> Result<(), String> {
        for _ in 0..MOST_CONFLICTS {
            let (secret, state) = self
                .store
                .read()
                .await
                .map_err(|error| format!("the Secret: {error}"))?;
            // Trust comes before what needs it.
            let injected = match &state {
                Some(state) => targets.inject(&self.client, &state.bundle()).await,
                None => Ok(()),
            };
            if let Some(state) = &state {
                show(state, identity)?;
            }
            match self.next(state.as_ref(), injected.is_ok(), env)? {
                None => return injected,
                Some(new) => match self.store.write(secret, &new).await {
                    // Read it again: the bundle is still to be given to everybody.
                    Ok(Written::Done | Written::Conflict) => {}
                    Err(error) => return Err(format!("the Secret: {error}")),
                },
            }
        }
        Err("other replicas were faster each time".to_owned())
    }

    fn next(&self, state: Option<&State>, injected: bool, env: &Env) -> Result<Option<State>, String> {
        let plan = Plan {
            policy: self.policy,
            operator: &self.operator,
            names: &self.names,
            mark: env.next_u64(),
        };
        let now: Timestamp = env.now();
        plan.next(state, injected, now)
            .map_err(|error| format!("a certificate cannot be made: {error}"))
    }
}

impl std::fmt::Debug for Issuer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Issuer")
            .field("operator", &self.operator)
            .field("names", &self.names)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

fn show(state: &State, identity: &Identity) -> Result<(), String> {
    let pem = Pem {
        certificate: state.serving.certificate.clone(),
        key: state.serving.key.clone(),
    };
    if identity.set(&pem)? {
        tracing::info!(until = %state.serving.until, "webhooks show a new certificate");
    }
    Ok(())
}
