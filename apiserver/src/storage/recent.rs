//! The values of the latest writes, kept so that who reads or changes them next need not parse them.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;

/// How many values are kept at most.
const VALUES: usize = 16;
/// How many bytes of JSON they may stand for; a value takes about four times as much memory.
const BYTES: usize = 512 * 1024;

/// The values of the latest writes, oldest first.
#[derive(Debug, Default)]
pub(super) struct Recent {
    values: VecDeque<(Arc<Value>, usize)>,
    bytes: usize,
}

impl Recent {
    /// Keeps a value whose text has so many bytes, and lets go of the oldest ones beyond the limits.
    pub(super) fn keep(&mut self, value: Arc<Value>, bytes: usize) {
        self.values.push_back((value, bytes));
        self.bytes += bytes;
        while self.values.len() > VALUES || self.bytes > BYTES {
            let Some((_, bytes)) = self.values.pop_front() else {
                break;
            };
            self.bytes -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_go_by_number_and_by_size() {
        let mut recent = Recent::default();
        let first = Arc::new(Value::Null);
        recent.keep(Arc::clone(&first), 1);
        for _ in 1..VALUES {
            recent.keep(Arc::default(), 1);
        }
        assert_eq!(Arc::strong_count(&first), 2);
        recent.keep(Arc::default(), 1);
        assert_eq!(Arc::strong_count(&first), 1);
        recent.keep(Arc::default(), BYTES + 1);
        assert_eq!((recent.values.len(), recent.bytes), (0, 0));
    }
}
