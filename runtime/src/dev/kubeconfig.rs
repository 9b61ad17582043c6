//! The kubeconfig file that `dev` leaves for kubectl while it runs.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use serde_json::json;

/// Marks a file as written by `dev`: the name of its context, user and cluster.
const MARK: &str = "kubewright-dev";

/// The file could not be written, or belongs to somebody else.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum KubeconfigError {
    /// There is a file that `dev` did not write.
    #[error("{0} exists and was not written by `dev`: name another file with --write-kubeconfig, or move it away")]
    Foreign(String),
    /// The operating system refused.
    #[error("cannot write the kubeconfig {path}: {cause}: name another file with --write-kubeconfig")]
    Write {
        /// The file.
        path: String,
        /// What the operating system said.
        cause: io::Error,
    },
}

/// A kubeconfig on disk, readable by its owner only. Dropping it removes the file if it still holds what was written.
#[derive(Debug)]
pub(crate) struct Kubeconfig {
    path: PathBuf,
    content: String,
}

impl Kubeconfig {
    /// Where the file of an operator lies by default: the user's runtime directory, else their cache, else the
    /// directory for temporary files. The same at each start, so that an exported KUBECONFIG stays good.
    pub(crate) fn default_path(operator: &str) -> PathBuf {
        let of = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let base = of("XDG_RUNTIME_DIR")
            .filter(|dir| dir.is_dir())
            .or_else(|| of("XDG_CACHE_HOME"))
            .or_else(|| of("HOME").map(|home| home.join(".cache")))
            .unwrap_or_else(std::env::temp_dir);
        base.join("kubewright").join(format!("{operator}.kubeconfig"))
    }

    /// Writes the file: to a neighbour first, then renamed, so that no reader ever sees half of it.
    pub(crate) fn write(path: &Path, url: &str, certificate: &str, token: &str) -> Result<Self, KubeconfigError> {
        let failed = |cause| KubeconfigError::Write {
            path: path.display().to_string(),
            cause,
        };
        match fs::read_to_string(path) {
            Ok(there) if !there.contains(MARK) => {
                return Err(KubeconfigError::Foreign(path.display().to_string()));
            }
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(failed(e)),
        }
        if let Some(folder) = path.parent() {
            private_folder(folder).map_err(failed)?;
        }
        let content = content(url, certificate, token);
        let draft = path.with_extension(format!("{}.tmp", std::process::id()));
        let written = private_file(&draft, &content).and_then(|()| fs::rename(&draft, path));
        if let Err(e) = written {
            let _ = fs::remove_file(&draft);
            return Err(failed(e));
        }
        Ok(Self {
            path: path.to_owned(),
            content,
        })
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Kubeconfig {
    fn drop(&mut self) {
        // Another `dev` may have taken the place over in the meantime; then the file is its, not ours.
        if fs::read_to_string(&self.path).is_ok_and(|there| there == self.content) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// JSON is YAML, and needs no quoting rules of ours.
fn content(url: &str, certificate: &str, token: &str) -> String {
    let authority = base64::engine::general_purpose::STANDARD.encode(certificate);
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": MARK, "cluster": { "server": url, "certificate-authority-data": authority } }],
        "users": [{ "name": MARK, "user": { "token": token } }],
        "contexts": [{ "name": MARK, "context": { "cluster": MARK, "user": MARK, "namespace": "default" } }],
        "current-context": MARK,
    });
    format!("{config:#}\n")
}

#[cfg(unix)]
fn private_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn private_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

fn private_file(path: &Path, content: &str) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    // Left by a process of the same id that was killed.
    let _ = fs::remove_file(path);
    options.open(path)?.write_all(content.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("a temporary folder")
    }

    #[test]
    fn the_file_is_for_its_owner_only_and_goes_with_its_guard() {
        let folder = folder();
        let path = folder.path().join("deep/er/op.kubeconfig");
        let file = Kubeconfig::write(&path, "https://127.0.0.1:1", "PEM", "secret").expect("written");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs::metadata(&path).expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        drop(file);
        assert!(!path.exists());
    }

    #[test]
    fn a_file_that_dev_did_not_write_is_left_alone() {
        let folder = folder();
        let path = folder.path().join("config");
        fs::write(&path, "clusters: []\n").expect("written");
        let refused = Kubeconfig::write(&path, "https://127.0.0.1:1", "PEM", "secret");
        assert!(matches!(refused, Err(KubeconfigError::Foreign(_))));
        assert_eq!(fs::read_to_string(&path).expect("there"), "clusters: []\n");
    }

    #[test]
    fn a_later_dev_takes_the_file_over_and_keeps_it() {
        let folder = folder();
        let path = folder.path().join("op.kubeconfig");
        let first = Kubeconfig::write(&path, "https://127.0.0.1:1", "PEM", "one").expect("written");
        let second = Kubeconfig::write(&path, "https://127.0.0.1:2", "PEM", "two").expect("written");
        drop(first);
        assert!(path.exists());
        drop(second);
        assert!(!path.exists());
    }
}
