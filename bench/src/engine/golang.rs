//! The controller by controller-runtime, in `bench/go`: built where Go is installed.

use std::path::{Path, PathBuf};

use tokio::process::Command;

/// Builds the program into `folder`; says why there is none.
pub(crate) async fn build(folder: &Path) -> Result<PathBuf, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("go");
    let program = folder.join("engine-go");
    let built = Command::new("go")
        .args(["build", "-o"])
        .arg(&program)
        .arg(".")
        .current_dir(&source)
        .output()
        .await
        .map_err(|error| format!("Go does not run here: {error}"))?;
    if built.status.success() {
        return Ok(program);
    }
    let said = String::from_utf8_lossy(&built.stderr);
    Err(format!(
        "`go build` in {} failed: {}",
        source.display(),
        said.lines().last().unwrap_or_default()
    ))
}
