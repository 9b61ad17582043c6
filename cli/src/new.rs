//! `new`: writes a working operator into an empty directory.

use std::fmt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::project::{self, Project};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the operator and its package, in kebab case
    name: String,
    /// Name of the custom kind [default: the operator's name in CamelCase]
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// API group of the custom kind
    #[arg(long, value_name = "GROUP", default_value = "example.dev")]
    group: String,
    /// Where to write it [default: a directory of the operator's name]
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
    /// Use Kubewright from this checkout instead of the registry
    #[arg(long, value_name = "DIR")]
    local: Option<PathBuf>,
}

/// Why no operator was written.
#[derive(Debug)]
pub(crate) enum NewError {
    /// A name that Kubernetes or Rust would refuse.
    Name(String),
    /// The directory holds something already.
    NotEmpty(PathBuf),
    /// The checkout given with `--local` is none.
    NoCheckout(PathBuf),
    /// The disk refused.
    Disk(PathBuf, io::Error),
}

impl fmt::Display for NewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(message) => f.write_str(message),
            Self::NotEmpty(path) => write!(
                f,
                "{} is not empty: choose another directory with --path",
                path.display()
            ),
            Self::NoCheckout(path) => write!(
                f,
                "{} is no checkout of Kubewright: there is no runtime/Cargo.toml in it",
                path.display()
            ),
            Self::Disk(path, error) => write!(f, "cannot write {}: {error}", path.display()),
        }
    }
}

/// Writes the operator; answers what to do next.
pub(crate) fn run(args: &Args) -> Result<String, NewError> {
    let kind = args.kind.clone().unwrap_or_else(|| project::camel_case(&args.name));
    let project = Project::new(&args.name, &kind, &args.group).map_err(NewError::Name)?;
    let local = args.local.as_deref().map(checkout).transpose()?;
    let folder = args.path.clone().unwrap_or_else(|| PathBuf::from(&args.name));
    if fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(NewError::NotEmpty(folder));
    }
    for (name, content) in project.files(local.as_deref()) {
        let file = folder.join(name);
        let written = file
            .parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::write(&file, content));
        written.map_err(|e| NewError::Disk(file, e))?;
    }
    Ok(format!(
        "wrote {0}. Next:\n\n    cd {0}\n    cargo test\n    cargo run -- dev --apply sample.yaml",
        folder.display()
    ))
}

/// The checkout as an absolute path, since the new package may lie anywhere.
fn checkout(path: &Path) -> Result<PathBuf, NewError> {
    let absolute = fs::canonicalize(path).map_err(|_| NewError::NoCheckout(path.to_owned()))?;
    if absolute.join("runtime/Cargo.toml").is_file() {
        Ok(absolute)
    } else {
        Err(NewError::NoCheckout(path.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(name: &str, path: &Path) -> Args {
        Args {
            name: name.to_owned(),
            kind: None,
            group: "example.dev".to_owned(),
            path: Some(path.to_owned()),
            local: None,
        }
    }

    #[test]
    fn a_new_operator_is_complete() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let folder = root.path().join("shop-operator");
        let next = run(&args("shop-operator", &folder)).expect("written");
        assert!(next.contains("cargo run -- dev --apply sample.yaml"));
        for file in ["Cargo.toml", "src/main.rs", "src/tests.rs", "sample.yaml", ".gitignore"] {
            let text = fs::read_to_string(folder.join(file)).expect("written");
            assert!(!text.contains("{{"), "{file} holds an unfilled place:\n{text}");
        }
    }

    #[test]
    fn a_directory_with_something_in_it_is_left_alone() {
        let root = tempfile::tempdir().expect("a temporary folder");
        fs::write(root.path().join("notes"), "mine").expect("written");
        assert!(matches!(run(&args("shop", root.path())), Err(NewError::NotEmpty(_))));
        assert!(!root.path().join("Cargo.toml").exists());
    }

    #[test]
    fn a_checkout_that_is_none_is_refused_before_anything_is_written() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let folder = root.path().join("shop");
        let mut args = args("shop", &folder);
        args.local = Some(root.path().to_owned());
        assert!(matches!(run(&args), Err(NewError::NoCheckout(_))));
        assert!(!folder.exists());
    }
}
