//! A queue of keys for workers. Knows nothing of Kubernetes.

/// What several wake-ups of one key come to.
pub trait Merge {
    /// Takes in what a later wake-up brought.
    fn merge(&mut self, later: Self);
}
