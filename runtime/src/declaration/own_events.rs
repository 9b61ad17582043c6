/// What the echoes of a controller's own writes do: the key `own_events`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OwnEvents {
    /// They wake the key once more, however many there are, and that run sends nothing. A reconciler may go on from what
    /// it wrote: a phase machine takes its next step when the status that it wrote comes back.
    #[default]
    Wake,
    /// They wake nothing. A version that a write of the key's last successful reconcile made is dropped where it is known
    /// that nobody else's change lies before it: each apply carries the resourceVersion that it is based on, and the
    /// stream is unbroken. Never dropped: changes of others, what a relist found, anything after an error or an unknown
    /// outcome, deletions, and changes of the primary's generation or deletion.
    ///
    /// A reconciler that goes on from what it wrote asks for its next turn by itself:
    /// `Action::requeue(Duration::ZERO)`.
    Skip,
}
