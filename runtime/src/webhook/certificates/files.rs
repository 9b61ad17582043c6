//! Certificates in files.

use std::path::Path;
use std::time::Duration;

use tokio::time::sleep;

use crate::webhook::identity::{Identity, Pem};

/// How often files are looked at: a mounted Secret is changed by exchanging a link, which no notification tells reliably.
const EVERY: Duration = Duration::from_secs(5);

/// Shows what the files hold, and what they hold after they change.
pub(super) async fn watch(directory: &Path, identity: &Identity) {
    let mut told = String::new();
    loop {
        match load(directory, identity) {
            Ok(true) => tracing::info!(directory = %directory.display(), "webhooks show the certificate of the files"),
            Ok(false) => {}
            // Between two writes the files may not fit together: what is shown stays.
            Err(why) if why != told => {
                tracing::warn!("webhooks: {}: {why}", directory.display());
                told = why;
            }
            Err(_) => {}
        }
        sleep(EVERY).await;
    }
}

fn load(directory: &Path, identity: &Identity) -> Result<bool, String> {
    let read = |name: &str| {
        let path = directory.join(name);
        std::fs::read_to_string(&path).map_err(|error| format!("cannot read {name}: {error}"))
    };
    let pem = Pem {
        certificate: read("tls.crt")?,
        key: read("tls.key")?,
    };
    identity.set(&pem)
}
