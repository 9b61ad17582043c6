//! The disk: one directory per object, marked with the object's uid.
//!
//! The files are small and local, so plain blocking calls do; a remote store would be asynchronous.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Holds the uid of the object that a directory belongs to.
const MARK: &str = ".uid";

/// What names an object's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// uid of the object: one that was deleted and made again is another.
    pub uid: String,
}

/// What the disk refused.
#[derive(Debug)]
pub enum StoreError {
    /// A file name that is none.
    Name(String),
    /// A directory that belongs to somebody else.
    Foreign(PathBuf),
    /// The operating system refused.
    Disk(PathBuf, io::Error),
}

impl std::fmt::Display for StoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name(name) => write!(
                f,
                "{name:?} is no file name: use one without `/` that does not begin with `.`"
            ),
            Self::Foreign(path) => write!(f, "{} is not ours: move it away, or rename the object", path.display()),
            Self::Disk(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for StoreError {}

/// All directories, under one root.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// Directories under `root`, which is made when first needed.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Makes the directory hold exactly these files; answers where it lies. Files that are right stay untouched.
    ///
    /// # Errors
    ///
    /// When a name is none, the directory is somebody else's, or the disk refuses.
    pub fn write(&self, place: &Place, files: &BTreeMap<String, String>) -> Result<PathBuf, StoreError> {
        if let Some(bad) = files.keys().find(|name| !is_file_name(name)) {
            return Err(StoreError::Name(bad.clone()));
        }
        let path = self.claim(place)?;
        for (name, content) in files {
            let file = path.join(name);
            if fs::read_to_string(&file).ok().as_ref() != Some(content) {
                fs::write(&file, content).map_err(|e| StoreError::Disk(file, e))?;
            }
        }
        for entry in fs::read_dir(&path).map_err(|e| StoreError::Disk(path.clone(), e))? {
            let name = entry.map_err(|e| StoreError::Disk(path.clone(), e))?.file_name();
            let wanted = name
                .to_str()
                .is_some_and(|name| name == MARK || files.contains_key(name));
            if !wanted {
                let file = path.join(name);
                fs::remove_file(&file).map_err(|e| StoreError::Disk(file, e))?;
            }
        }
        Ok(path)
    }

    /// Removes the directory. One that is gone, or never was this object's, is success.
    ///
    /// # Errors
    ///
    /// When the disk refuses.
    pub fn remove(&self, place: &Place) -> Result<(), StoreError> {
        let path = self.path(place);
        let mark = path.join(MARK);
        match fs::read_to_string(&mark) {
            Ok(uid) if uid == place.uid => remove_marked(&path).map_err(|e| StoreError::Disk(path, e)),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            // Whose it is cannot be told, so nothing is known to be done.
            Err(error) => Err(StoreError::Disk(mark, error)),
        }
    }

    /// Where an object's directory lies.
    #[must_use]
    pub fn path(&self, place: &Place) -> PathBuf {
        self.root.join(&place.namespace).join(&place.name)
    }

    /// Makes the directory ours, or finds that it is.
    fn claim(&self, place: &Place) -> Result<PathBuf, StoreError> {
        let path = self.path(place);
        let mark = path.join(MARK);
        match fs::read_to_string(&mark) {
            Ok(uid) if uid == place.uid => return Ok(path),
            // Left by an object of that name whose clean-up never ran.
            Ok(_) => remove_marked(&path).map_err(|e| StoreError::Disk(path.clone(), e))?,
            Err(_) if is_in_use(&path) => return Err(StoreError::Foreign(path)),
            Err(_) => {}
        }
        fs::create_dir_all(&path).map_err(|e| StoreError::Disk(path.clone(), e))?;
        fs::write(&mark, &place.uid).map_err(|e| StoreError::Disk(mark, e))?;
        Ok(path)
    }
}

/// Removes a directory, its mark last: a crash in between leaves one that is still known to be somebody's.
fn remove_marked(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_name() == MARK {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    fs::remove_file(path.join(MARK))?;
    fs::remove_dir(path)
}

fn is_file_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0'])
}

/// Whether something lies there that is not an empty directory.
fn is_in_use(path: &Path) -> bool {
    match fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(uid: &str) -> Place {
        Place {
            namespace: "ns".to_owned(),
            name: "x".to_owned(),
            uid: uid.to_owned(),
        }
    }

    fn files(names: &[&str]) -> BTreeMap<String, String> {
        names.iter().map(|n| ((*n).to_owned(), "text".to_owned())).collect()
    }

    #[test]
    fn a_file_that_is_no_longer_asked_for_goes() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let store = Store::new(root.path());
        let path = store.write(&place("1"), &files(&["a", "b"])).expect("written");
        store.write(&place("1"), &files(&["b"])).expect("written");
        assert!(!path.join("a").exists());
        assert!(path.join("b").exists());
    }

    #[test]
    fn a_directory_without_our_mark_is_left_alone() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let store = Store::new(root.path());
        let path = store.path(&place("1"));
        fs::create_dir_all(&path).expect("made");
        fs::write(path.join("theirs"), "text").expect("written");
        assert!(matches!(
            store.write(&place("1"), &files(&["a"])),
            Err(StoreError::Foreign(_))
        ));
        store.remove(&place("1")).expect("nothing to remove");
        assert!(path.join("theirs").exists());
    }

    #[test]
    fn a_mark_that_cannot_be_read_is_no_success() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let store = Store::new(root.path());
        let path = store.path(&place("1"));
        fs::create_dir_all(path.join(MARK)).expect("made");
        assert!(matches!(store.remove(&place("1")), Err(StoreError::Disk(..))));
    }

    #[test]
    fn a_directory_goes_with_all_that_was_put_into_it() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let store = Store::new(root.path());
        let path = store.write(&place("1"), &files(&["a"])).expect("written");
        fs::create_dir_all(path.join("deep/er")).expect("made");
        store.remove(&place("1")).expect("removed");
        assert!(!path.exists());
    }

    #[test]
    fn a_name_that_leads_out_of_the_directory_is_refused() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let store = Store::new(root.path());
        for bad in ["../a", "a/b", ".uid", "", ".."] {
            assert!(
                matches!(store.write(&place("1"), &files(&[bad])), Err(StoreError::Name(_))),
                "{bad:?}"
            );
        }
    }

    #[test]
    fn a_later_object_of_the_same_name_starts_anew_and_outlives_the_first_ones_clean_up() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let store = Store::new(root.path());
        store.write(&place("1"), &files(&["a"])).expect("written");
        let path = store.write(&place("2"), &files(&["b"])).expect("written");
        assert!(!path.join("a").exists());
        store.remove(&place("1")).expect("not its own any more");
        assert!(path.join("b").exists());
    }
}
