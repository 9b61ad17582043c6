//! Requests to the API server.

use super::registry::Metrics;

impl Metrics {
    /// Counts a request; `code` is `<error>` where no answer came, as client-go has it.
    pub fn request(&self, code: Option<u16>, method: &str, host: &str) {
        let code = code.map_or_else(|| "<error>".to_owned(), |code| code.to_string());
        let labels = vec![("code", code), ("method", method.to_owned()), ("host", host.to_owned())];
        self.0.requests.get_or_create(&labels).inc();
    }
}
