//! What is measured, and what must hold.

use crate::harness::{Case, Limit};

/// Notes of a case that does not say otherwise.
pub(super) const NOTES: usize = 2_000;
/// Workers of a case that does not say otherwise.
pub(super) const WORKERS: usize = 4;
/// Reconciles in flight while a wake-up is measured.
pub(super) const IN_FLIGHT: usize = 50_000;

const fn case(name: &'static str, what: &'static str, unit: &'static str, limit: Limit, samples: usize) -> Case {
    Case {
        name,
        what,
        unit,
        limit,
        samples,
    }
}

/// Notes that get a ConfigMap and a status.
pub(super) struct Converging {
    pub(super) notes: usize,
    pub(super) workers: usize,
    pub(super) cpu: Case,
    pub(super) cpu_go: Case,
    /// What is looked at besides.
    pub(super) silence: Option<Silence>,
}

/// What is written, and when it must be nothing.
pub(super) struct Silence {
    pub(super) writes: Case,
    pub(super) reconciles: Case,
    pub(super) later: Case,
    pub(super) restart: Case,
}

impl Converging {
    /// All cases that one measurement gives.
    pub(super) fn all(&self) -> Vec<&Case> {
        let mut all = vec![&self.cpu, &self.cpu_go];
        if let Some(silence) = &self.silence {
            all.extend([&silence.writes, &silence.reconciles, &silence.later, &silence.restart]);
        }
        all
    }
}

/// Changes that ask for nothing.
pub(super) struct Storm {
    pub(super) notes: usize,
    pub(super) workers: usize,
    pub(super) cpu: Case,
    pub(super) cpu_go: Case,
}

const THIRD: Limit = Limit::Times(1.0 / 3.0);
const SIXTH: Limit = Limit::Times(1.0 / 6.0);

const fn converging(
    notes: usize,
    workers: usize,
    names: [&'static str; 2],
    what: [&'static str; 2],
    samples: usize,
) -> Converging {
    Converging {
        notes,
        workers,
        cpu: case(names[0], what[0], "us", THIRD, samples),
        cpu_go: case(names[1], what[1], "us", SIXTH, samples),
        silence: None,
    }
}

pub(super) const CONVERGING: &[Converging] = &[
    Converging {
        silence: Some(Silence {
            writes: case(
                "writes-per-object",
                "writes until a note has its ConfigMap and its status; peer: kube-runtime",
                "",
                Limit::AtMost(2.0),
                5,
            ),
            reconciles: case("reconciles-per-object", "reconciles until then", "", Limit::None, 5),
            later: case(
                "writes-when-converged",
                "writes of all 2 000 in the 3 s after that",
                "",
                Limit::AtMost(0.0),
                5,
            ),
            restart: case(
                "writes-after-restart",
                "writes of all 2 000 after a restart of the process",
                "",
                Limit::AtMost(0.0),
                5,
            ),
        }),
        ..converging(
            NOTES,
            WORKERS,
            ["cpu-converge", "cpu-converge-go"],
            [
                "CPU time for each of 2 000 notes until all have both, 4 workers; peer: kube-runtime",
                "the same; peer: controller-runtime",
            ],
            5,
        )
    },
    converging(
        NOTES,
        1,
        ["cpu-converge-1", "cpu-converge-1-go"],
        [
            "the same with 1 worker; peer: kube-runtime",
            "the same; peer: controller-runtime",
        ],
        3,
    ),
    converging(
        NOTES,
        16,
        ["cpu-converge-16", "cpu-converge-16-go"],
        [
            "the same with 16 workers; peer: kube-runtime",
            "the same; peer: controller-runtime",
        ],
        3,
    ),
    converging(
        20_000,
        WORKERS,
        ["cpu-converge-20k", "cpu-converge-20k-go"],
        [
            "the same for 20 000 notes; peer: kube-runtime",
            "the same; peer: controller-runtime",
        ],
        1,
    ),
];

const fn storm(
    notes: usize,
    workers: usize,
    names: [&'static str; 2],
    what: [&'static str; 2],
    samples: usize,
) -> Storm {
    Storm {
        notes,
        workers,
        cpu: case(names[0], what[0], "us", THIRD, samples),
        cpu_go: case(names[1], what[1], "us", SIXTH, samples),
    }
}

pub(super) const STORMS: &[Storm] = &[
    storm(
        NOTES,
        WORKERS,
        ["cpu-noop-event", "cpu-noop-event-go"],
        [
            "CPU time of a change of one of 2 000 notes and its reconcile, which does nothing; peer: kube-runtime",
            "the same; peer: controller-runtime",
        ],
        5,
    ),
    storm(
        NOTES,
        1,
        ["cpu-noop-event-1", "cpu-noop-event-1-go"],
        [
            "the same with 1 worker; peer: kube-runtime",
            "the same; peer: controller-runtime",
        ],
        3,
    ),
    storm(
        NOTES,
        16,
        ["cpu-noop-event-16", "cpu-noop-event-16-go"],
        [
            "the same with 16 workers; peer: kube-runtime",
            "the same; peer: controller-runtime",
        ],
        3,
    ),
    storm(
        20_000,
        WORKERS,
        ["cpu-noop-event-20k", "cpu-noop-event-20k-go"],
        [
            "the same among 20 000 notes; peer: kube-runtime",
            "the same; peer: controller-runtime",
        ],
        5,
    ),
];

pub(super) const P99: Case = case(
    "p99-event",
    "from a change to its reconcile, 99th percentile, 500 changes a second; peer: kube-runtime",
    "us",
    Limit::Times(1.0),
    5,
);
pub(super) const P99_GO: Case = case(
    "p99-event-go",
    "the same; peer: controller-runtime",
    "us",
    Limit::Times(1.0),
    5,
);
pub(super) const FIRST: Case = case(
    "first-turn-first",
    "notes not looked at once when half were looked at twice, 2 000 notes, 4 workers; peer: kube-runtime",
    "",
    Limit::AtMost(0.0),
    3,
);
pub(super) const FIRST_GO: Case = case(
    "first-turn-first-go",
    "the same; peer: controller-runtime",
    "",
    Limit::AtMost(0.0),
    3,
);
pub(super) const WAKE_0: Case = case(
    "wake-0",
    "CPU time from a wake-up to the end of a reconcile that does nothing; peer: kube-runtime's applier",
    "us",
    Limit::Times(1.0),
    9,
);
pub(super) const WAKE_50K: Case = case(
    "wake-50k",
    "the same while 50 000 are in flight; peer: ours with none",
    "us",
    Limit::Times(1.5),
    9,
);
pub(super) const WAKE_50K_PEER: Case = case(
    "wake-50k-kube-runtime",
    "the same of kube-runtime's applier, for comparison",
    "us",
    Limit::None,
    1,
);
