//! Figures, printed as they come.

/// What was measured so far.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    broken: usize,
}

impl Figures {
    /// A figure that must not exceed its limit.
    pub(crate) fn at_most(&mut self, what: &str, measured: f64, limit: f64, unit: &str) {
        let holds = measured <= limit;
        self.broken += usize::from(!holds);
        let verdict = if holds { "holds" } else { "BROKEN" };
        println!("{verdict:<7} {what:<62} {measured:>9.1} {unit:<9} (at most {limit} {unit})");
    }

    /// Something that must be so.
    pub(crate) fn must(&mut self, what: &str, holds: bool) {
        self.broken += usize::from(!holds);
        println!("{:<7} {what}", if holds { "holds" } else { "BROKEN" });
    }

    /// A figure without a limit.
    pub(crate) fn note(&self, what: &str, measured: f64, unit: &str) {
        println!("{:<7} {what:<62} {measured:>9.1} {unit}", "");
    }

    /// Whether every limit held.
    pub(crate) fn all_hold(&self) -> bool {
        self.broken == 0
    }
}
