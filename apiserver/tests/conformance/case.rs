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
    /// Whether the case runs in a namespace of its own.
    pub(crate) namespace: bool,
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
            namespace: !matches!(case.get("namespace"), Json::Bool(false)),
        }
    }
}
