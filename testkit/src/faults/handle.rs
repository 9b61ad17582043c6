//! What a test holds of a fault that it injected.

use std::fmt;
use std::sync::Arc;

use super::active::Active;
use super::director::Faults;

/// A fault in force. Clones are the same fault. Dropping the handle does not end it.
#[derive(Clone)]
pub struct FaultHandle {
    active: Arc<Active>,
    faults: Faults,
}

impl FaultHandle {
    pub(super) fn new(active: Arc<Active>, faults: Faults) -> Self {
        Self { active, faults }
    }

    /// How often it fired: requests or events that it hit; of a lagging view, the changes that it held back.
    #[must_use]
    pub fn fired(&self) -> u64 {
        self.active.fired()
    }

    /// Ends it: what it hit stays as it is, nothing more is hit, a lagging view shows everything. Again, no effect.
    pub fn heal(&self) {
        self.faults.heal(&self.active);
    }

    /// Whether it was ended.
    #[must_use]
    pub fn is_healed(&self) -> bool {
        self.active.is_healed()
    }

    /// Checks that it fired, since a test whose fault never happened shows nothing.
    ///
    /// # Panics
    ///
    /// When it never fired; says how many requests or events the rule fitted, and whether its resource is served at
    /// all.
    #[track_caller]
    pub fn assert_fired(&self) {
        let text = self.active.text();
        match (self.fired(), self.active.fitting()) {
            (0, 0) => panic!(
                "the fault `{text}` never fired: nothing came that its rule fits{}",
                self.hint()
            ),
            (0, fitting) => panic!(
                "the fault `{text}` never fired: its rule fitted {fitting}, and chose none of them by number or \
                 probability"
            ),
            _ => {}
        }
    }

    fn hint(&self) -> String {
        match &self.active.rule.resource {
            Some(resource) => format!(
                "; is it meant for `{resource}`, and does something read or write that? \
                 `println!(\"{{}}\", cluster.story())` shows what came"
            ),
            None => String::new(),
        }
    }
}

impl fmt::Display for FaultHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.active.text())
    }
}

impl fmt::Debug for FaultHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultHandle")
            .field("rule", &self.active.text())
            .field("fired", &self.fired())
            .field("healed", &self.is_healed())
            .finish()
    }
}
