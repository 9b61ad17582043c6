//! Waiting, in the test's time.

use std::time::Duration;

use kubewright::{Kind, Object};
use tokio::time::{Instant, sleep};

use crate::cluster::TestCluster;
use crate::failure;

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
        let end = Instant::now() + PATIENCE;
        let mut looks = Looks::new();
        loop {
            let object = self.get::<K>(name).await;
            match object {
                Some(object) if holds(&object) => return object,
                other if Instant::now() >= end => {
                    let expected = format!(
                        "{} {name} did not come to what the test waits for within {} s",
                        Kind::of::<K>(),
                        PATIENCE.as_secs()
                    );
                    panic!(
                        "{}",
                        failure::message(self, &expected, &failure::object(other.as_ref()))
                    );
                }
                _ => looks.next().await,
            }
        }
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
                panic!("{}", failure::message(self, &expected, &failure::object(Some(&object))));
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
        let end = Instant::now() + Duration::from_secs(600);
        let began = Instant::now();
        let busy = || self.story().busy().map_or(began, |busy| busy.max(began));
        while busy().elapsed() < quiet {
            sleep((quiet / 20).max(Looks::FIRST)).await;
            if Instant::now() >= end {
                panic!("{}", failure::message(self, "the operators do not come to rest", ""));
            }
        }
    }
}
