//! A recorded case and its steps.

use std::path::PathBuf;

use crate::json::Json;

/// The folder of the recordings.
pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/conformance")
}

/// One recorded case.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) steps: Vec<Json>,
    pub(crate) drop: Vec<String>,
    pub(crate) cleanup: Vec<String>,
    /// What its webhooks answer, by path; null for cases without webhooks.
    pub(crate) hooks: Json,
    /// How the reviews of a step are compared.
    pub(crate) order: Order,
    /// Webhooks that are called at the same time as others.
    pub(crate) parallel: Vec<String>,
    /// Whether what the calls' headers were is recorded, which only a socket can tell.
    pub(crate) headers: bool,
    /// How long to wait after a step for reviews that nobody waits for, in seconds.
    pub(crate) settle: f64,
    /// Whether the case runs in a namespace of its own.
    pub(crate) namespace: bool,
}

/// How reviews are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// In the order of the calls.
    AsCalled,
    /// In the order of the calls, without repetitions.
    Distinct,
    /// In any order.
    Sorted,
    /// In any order, without repetitions; a part of the recorded ones is enough.
    Set,
}

/// The cases of a file.
pub(crate) fn read(folder_name: &str, file: &str) -> Vec<Case> {
    let path = folder().join(folder_name).join(format!("{file}.json"));
    let text = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let cases = Json::parse(&text).unwrap_or_else(|| panic!("{} is not JSON", path.display()));
    cases.items().iter().map(Case::of).collect()
}

impl Case {
    fn of(case: &Json) -> Self {
        let texts = |field: &str| {
            case.get(field)
                .items()
                .iter()
                .filter_map(Json::as_str)
                .map(ToOwned::to_owned)
                .collect()
        };
        Self {
            name: case.get("case").as_str().unwrap_or_default().to_owned(),
            steps: case.get("steps").items().to_vec(),
            drop: texts("drop"),
            cleanup: texts("cleanup"),
            hooks: case.get("hooks").clone(),
            order: match case.get("calls").as_str() {
                Some("distinct") => Order::Distinct,
                Some("sorted") => Order::Sorted,
                Some("set") => Order::Set,
                _ => Order::AsCalled,
            },
            parallel: texts("parallel"),
            headers: case.has("call-headers"),
            settle: case.get("settle").as_f64().unwrap_or_default(),
            namespace: !matches!(case.get("namespace"), Json::Bool(false)),
        }
    }
}
