//! How long a watch waits after a failure.

use std::time::Duration;

use crate::env::Env;

const FIRST: Duration = Duration::from_millis(800);
const LONGEST: Duration = Duration::from_secs(30);

/// Grows from 0.8 to 30 seconds, with jitter, until there is a success that lasts.
#[derive(Debug)]
pub(super) struct Backoff {
    env: Env,
    next: Duration,
}

impl Backoff {
    pub(super) fn new(env: Env) -> Self {
        Self { env, next: FIRST }
    }

    /// The wait after one more failure; never less than the server asks for.
    pub(super) fn wait(&mut self, asked: Option<Duration>) -> Duration {
        let base = self.next;
        self.next = (base * 2).min(LONGEST);
        // From the whole to three halves of the base, so that many watches do not come back at once.
        let own = base.mul_f64(1.0 + self.env.fraction() / 2.0).min(LONGEST);
        match asked {
            Some(asked) => own.max(asked.mul_f64(1.0 + self.env.fraction() / 10.0)),
            None => own,
        }
    }

    pub(super) fn reset(&mut self) {
        self.next = FIRST;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn waits_grow_to_half_a_minute_and_honour_the_server() {
        let mut backoff = Backoff::new(Env::seeded(jiff::Timestamp::UNIX_EPOCH, 1));
        let waits: Vec<Duration> = (0..8).map(|_| backoff.wait(None)).collect();
        assert!(waits[0] >= FIRST && waits[0] < FIRST * 2, "{waits:?}");
        assert!(
            waits.windows(2).all(|pair| pair[0] <= pair[1].mul_f64(1.5)),
            "{waits:?}"
        );
        assert_eq!(waits[7], LONGEST);
        assert!(backoff.wait(Some(Duration::from_secs(60))) >= Duration::from_secs(60));
        backoff.reset();
        assert!(backoff.wait(None) < FIRST * 2);
    }
}
