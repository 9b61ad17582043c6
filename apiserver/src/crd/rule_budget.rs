//! What the rules of a schema may cost, one by one and together.

use crate::error::Cause;

/// The most that one expression may cost.
const ONE: u64 = 10_000_000;
/// The most that all expressions of a schema may cost together.
const ALL: u64 = 100_000_000;
/// How many expensive expressions are named when all together cost too much.
const NAMED: usize = 4;

/// What the expressions of a schema cost so far.
#[derive(Debug, Default)]
pub(super) struct Budget {
    total: u64,
    /// The most expensive, by cost.
    expensive: Vec<(u64, String)>,
}

impl Budget {
    /// Counts an expression; answers the refusal of one that costs too much by itself.
    pub(super) fn spend(&mut self, path: &str, what: &str, cost: u64) -> Option<Cause> {
        self.total = self.total.saturating_add(cost);
        if cost >= ALL / 100 {
            self.expensive.push((cost, path.to_owned()));
            self.expensive.sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
            self.expensive.truncate(NAMED);
        }
        (cost > ONE).then(|| Cause::forbidden(path, exceeds(what, cost, ONE)))
    }

    /// What is wrong when everything together costs too much.
    pub(super) fn check(&self, path: &str, causes: &mut Vec<Cause>) {
        if self.total <= ALL {
            return;
        }
        let why = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
        causes.extend(self.expensive.iter().map(|(_, at)| Cause::forbidden(at.as_str(), why)));
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        causes.push(Cause::forbidden(path, exceeds(what, self.total, ALL)));
    }
}

fn exceeds(what: &str, cost: u64, limit: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "the factor is shown with one decimal")]
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and \
         maxLength where arrays, maps, and strings are declared)"
    )
}
