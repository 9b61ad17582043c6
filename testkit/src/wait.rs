//! Waiting, in the test's time.

use std::time::Duration;

use kubewright::{Kind, Object};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::cluster::TestCluster;
use crate::diff;
use crate::failure::{self, Seen};

/// How long a wait lasts at most. Generous, since on paused time it costs nothing.
const PATIENCE: Duration = Duration::from_secs(120);

/// Looks soon at first, then ever more seldom: a look is a request, and long waits need no sharp end.
struct Looks(Duration);

impl Looks {
    const FIRST: Duration = Duration::from_millis(10);
    const SLOWEST: Duration = Duration::from_millis(500);

    fn new() -> Self {
        Self(Self::FIRST)
    }

    async fn next(&mut self) {
        sleep(self.0).await;
        self.0 = (self.0 * 5 / 4).min(Self::SLOWEST);
    }
}

impl TestCluster {
    /// Waits until the object exists and `holds` answers true for it; answers the object.
    ///
    /// # Panics
    ///
    /// When it does not hold within two minutes of the test's time.
    pub async fn wait_for<K: Object>(&self, name: &str, holds: impl Fn(&K) -> bool) -> K {
        let what = "come to what the test waits for";
        match self.look_until(name, holds).await {
            Ok(object) => object,
            Err(seen) => self.never_came::<K>(name, what, &seen.to_string()),
        }
    }

    /// Waits until the object holds these fields: maps are compared field by field and may have others beside, lists
    /// and plain values whole. Answers the object.
    ///
    /// ```
    /// # use kubewright::k8s_openapi::api::core::v1::ConfigMap;
    /// # use kubewright_testkit::TestCluster;
    /// # use serde_json::json;
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// # let cluster = TestCluster::start();
    /// # cluster.apply_yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}}").await;
    /// cluster.wait_for_fields::<ConfigMap>("a", json!({ "data": { "k": "v" } })).await;
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// When it does not hold them within two minutes of the test's time; the message shows what differs.
    pub async fn wait_for_fields<K: Object>(&self, name: &str, fields: Value) -> K {
        let holds = |object: &K| {
            let object = serde_json::to_value(object).unwrap_or_default();
            within(&fields, &object) == fields
        };
        match self.look_until(name, holds).await {
            Ok(object) => object,
            Err(seen) => {
                let there = seen.last().map_or(Value::Null, |object| within(&fields, object));
                let differs = diff::lines(&format!("{fields:#}"), &format!("{there:#}"));
                let instead = format!("\n- expected, + as it is:\n{differs}{seen}");
                self.never_came::<K>(name, "come to hold the fields", &instead)
            }
        }
    }

    /// Looks at an object until `holds`; an error is what was seen.
    async fn look_until<K: Object>(&self, name: &str, holds: impl Fn(&K) -> bool) -> Result<K, Seen> {
        let end = Instant::now() + PATIENCE;
        let mut looks = Looks::new();
        let mut seen = Seen::default();
        loop {
            let object = self.get::<K>(name).await;
            seen.look(object.as_ref());
            match object {
                Some(object) if holds(&object) => return Ok(object),
                _ if Instant::now() >= end => return Err(seen),
                _ => looks.next().await,
            }
        }
    }

    fn never_came<K: Object>(&self, name: &str, what: &str, instead: &str) -> ! {
        let kind = Kind::of::<K>();
        let expected = format!("{kind} {name} did not {what} within {} s", PATIENCE.as_secs());
        panic!("{}", failure::message(self, &expected, instead));
    }

    /// Waits until the object is gone.
    ///
    /// # Panics
    ///
    /// When it is still there after two minutes of the test's time.
    pub async fn wait_gone<K: Object>(&self, name: &str) {
        let end = Instant::now() + PATIENCE;
        let mut looks = Looks::new();
        while let Some(object) = self.get::<K>(name).await {
            if Instant::now() >= end {
                let expected = format!(
                    "{} {name} is still there after {} s",
                    Kind::of::<K>(),
                    PATIENCE.as_secs()
                );
                let mut seen = Seen::default();
                seen.look(Some(&object));
                panic!("{}", failure::message(self, &expected, &seen.to_string()));
            }
            looks.next().await;
        }
    }

    /// Waits until `holds` answers true. `what` says in the failure's message what was expected.
    ///
    /// # Panics
    ///
    /// When it does not hold within two minutes of the test's time.
    pub async fn eventually<F: Future<Output = bool>>(&self, what: &str, mut holds: impl FnMut() -> F) {
        let end = Instant::now() + PATIENCE;
        let mut looks = Looks::new();
        while !holds().await {
            if Instant::now() >= end {
                let expected = format!("within {} s it should hold that {what}", PATIENCE.as_secs());
                panic!("{}", failure::message(self, &expected, ""));
            }
            looks.next().await;
        }
    }

    /// Checks that `holds` answers true now and for as long as `lasting`. `what` says what was expected.
    ///
    /// # Panics
    ///
    /// At the first look at which it does not hold.
    pub async fn stays<F: Future<Output = bool>>(&self, what: &str, lasting: Duration, mut holds: impl FnMut() -> F) {
        let began = Instant::now();
        let between = (lasting / 200).max(Looks::FIRST);
        loop {
            if !holds().await {
                let expected = format!("after {:?} it no longer holds that {what}", began.elapsed());
                panic!("{}", failure::message(self, &expected, ""));
            }
            if began.elapsed() >= lasting {
                return;
            }
            sleep(between.min(lasting.saturating_sub(began.elapsed()))).await;
        }
    }

    /// Lets the test's time pass until the operators have sent nothing for `quiet` but watches and Lease renewals.
    ///
    /// # Panics
    ///
    /// When they are still busy after ten minutes of the test's time.
    pub async fn settled(&self, quiet: Duration) {
        if !self.rests(quiet, Duration::from_secs(600)).await {
            panic!("{}", failure::message(self, "the operators do not come to rest", ""));
        }
    }

    /// Waits until the operators have sent nothing for `quiet` but watches and Lease renewals; whether it came to that
    /// within `patience`.
    pub(crate) async fn rests(&self, quiet: Duration, patience: Duration) -> bool {
        let began = Instant::now();
        let since = || self.story().busy().map_or(began, |busy| busy.max(began));
        while since().elapsed() < quiet {
            if began.elapsed() >= patience {
                return false;
            }
            sleep((quiet / 20).max(Looks::FIRST)).await;
        }
        true
    }
}

/// What `object` holds of the fields of `wanted`.
fn within(wanted: &Value, object: &Value) -> Value {
    let (Value::Object(wanted), Value::Object(object)) = (wanted, object) else {
        return object.clone();
    };
    let held = wanted
        .iter()
        .filter_map(|(name, wanted)| match (wanted, object.get(name)) {
            // Asked to be absent, and it is.
            (Value::Null, None) => Some((name.clone(), Value::Null)),
            (_, held) => Some((name.clone(), within(wanted, held?))),
        });
    Value::Object(held.collect())
}
