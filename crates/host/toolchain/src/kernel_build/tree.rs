//! A private copy of a kernel's source, with a patch or without; the user's own is only read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use relayout_files::{cannot, run_git, write_atomically};
use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};

use super::{BuildWatch, Error, KernelPatch};

/// Name of the file that lists the source files of the last copy.
const MANIFEST_FILE: &str = "manifest.json";
/// Files of the copy that may differ from the source, for a patch touched them.
const TOUCHED_FILE: &str = "touched.json";
/// Files by which kbuild tells that a tree was built in place.
const BUILT_IN_PLACE: &[&str] = &[".config", "include/config", "arch/x86/include/generated"];
/// Number of files copied between two updates of the progress.
const FILES_PER_UPDATE: usize = 500;

/// Properties of a source file that are known without reading it. `make` looks at the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct FileStamp {
    is_link: bool,
    bytes: u64,
    changed_s: i64,
    changed_ns: i64,
}

/// All files of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceManifest(BTreeMap<String, FileStamp>);

impl SourceManifest {
    /// Lists the files in `source`, which must be the clean source of a kernel.
    pub fn read(source: &Path) -> Result<Self, Error> {
        let not_source = |why: String| Error::NotSource {
            path: source.to_owned(),
            why,
        };
        for needed in ["Makefile", "Kconfig", "arch/x86/Makefile"] {
            if !source.join(needed).is_file() {
                return Err(not_source(format!("it has no {needed}")));
            }
        }
        if let Some(leftover) = BUILT_IN_PLACE
            .iter()
            .find(|leftover| source.join(leftover).exists())
        {
            return Err(Error::BuiltInPlace {
                path: source.to_owned(),
                what: (*leftover).to_owned(),
            });
        }
        let mut files = BTreeMap::new();
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            let path = source.join(&folder);
            for entry in fs::read_dir(&path).map_err(cannot("read", &path))? {
                let entry = entry.map_err(cannot("read", &path))?;
                let name = folder.join(entry.file_name());
                let metadata = entry.metadata().map_err(cannot("read", &entry.path()))?;
                if metadata.is_dir() {
                    if entry.file_name() != ".git" {
                        folders.push(name);
                    }
                    continue;
                }
                let name = name.to_str().ok_or_else(|| {
                    not_source(format!("the name of {} is not UTF-8", name.display()))
                })?;
                let entry = FileStamp {
                    is_link: metadata.is_symlink(),
                    bytes: metadata.len(),
                    changed_s: metadata.mtime(),
                    changed_ns: metadata.mtime_nsec(),
                };
                // A worktree of git has a file of that name.
                if metadata.is_file() && name != ".git" || metadata.is_symlink() {
                    files.insert(name.to_owned(), entry);
                }
            }
        }
        Ok(Self(files))
    }

    /// A number that is another one when a file is.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = FxHasher::default();
        self.0.hash(&mut hasher);
        hasher.finish()
    }

    pub fn bytes(&self) -> u64 {
        self.0.values().map(|entry| entry.bytes).sum()
    }
}

/// The copy.
pub struct SourceCopy<'s> {
    /// The user's.
    pub source: &'s Path,
    /// The folder around it, ours alone.
    pub folder: &'s Path,
}

impl SourceCopy<'_> {
    /// Folder of the copy.
    pub fn dir(&self) -> PathBuf {
        self.folder.join("src")
    }

    /// Makes the copy equal to the source, with the patch if there is one. Files that are equal
    /// already keep their times, so that `make` builds no more than necessary.
    pub fn synchronize(
        &self,
        manifest: &SourceManifest,
        patch: Option<&KernelPatch>,
        watch: &BuildWatch<'_>,
    ) -> Result<(), Error> {
        let previous: SourceManifest = self.load_json(MANIFEST_FILE);
        let mut touched: BTreeSet<String> = self.load_json(TOUCHED_FILE);
        let differs = |(name, entry): &(&String, &FileStamp)| {
            touched.contains(*name) || previous.0.get(*name) != Some(entry)
        };
        let stale: Vec<&String> = manifest
            .0
            .iter()
            .filter(differs)
            .map(|(name, _)| name)
            .collect();
        for (nth, name) in stale.iter().enumerate() {
            if nth.is_multiple_of(FILES_PER_UPDATE) {
                watch.stop_if_interrupted()?;
                (watch.update)(&format!(
                    "copying the source: {nth} of {} files",
                    stale.len()
                ));
            }
            self.copy_file(name, &manifest.0[*name])?;
        }
        for name in previous
            .0
            .keys()
            .chain(&touched)
            .filter(|name| !manifest.0.contains_key(*name))
        {
            remove_if_present(&self.dir().join(name))?;
        }
        self.save_json(MANIFEST_FILE, manifest)?;
        touched.clear();
        if let Some(patch) = patch {
            touched.extend(patch.changed_files(self.source)?);
        }
        // Saved before the patch is applied, so that these files are restored even if relayout ends
        // meanwhile.
        self.save_json(TOUCHED_FILE, &touched)?;
        match patch {
            Some(patch) => patch.apply(&self.dir(), self.source),
            None => Ok(()),
        }
    }

    /// Copies one file, if the copy has other contents.
    fn copy_file(&self, name: &str, entry: &FileStamp) -> Result<(), Error> {
        let (from, to) = (self.source.join(name), self.dir().join(name));
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder).map_err(cannot("create", folder))?;
        }
        if entry.is_link {
            let target = fs::read_link(&from).map_err(cannot("read", &from))?;
            if fs::read_link(&to).is_ok_and(|old| old == target) {
                return Ok(());
            }
            remove_if_present(&to)?;
            return Ok(std::os::unix::fs::symlink(target, &to).map_err(cannot("write", &to))?);
        }
        let same_size = fs::symlink_metadata(&to).is_ok_and(|old| old.len() == entry.bytes);
        if same_size {
            let read = |path: &Path| fs::read(path).map_err(cannot("read", path));
            if read(&from)? == read(&to)? {
                return Ok(());
            }
        }
        remove_if_present(&to)?;
        fs::copy(&from, &to).map_err(cannot("copy", &from))?;
        Ok(())
    }

    /// Reads a value that an earlier build saved; the default if the file is missing or damaged, so
    /// that all files are compared again.
    fn load_json<T: Default + for<'de> Deserialize<'de>>(&self, name: &str) -> T {
        let bytes = fs::read(self.folder.join(name)).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    fn save_json<T: Serialize>(&self, name: &str, value: &T) -> Result<(), Error> {
        let path = self.folder.join(name);
        let bytes = serde_json::to_vec(value).map_err(|why| cannot("write", &path)(why.into()))?;
        Ok(write_atomically(&path, &bytes)?)
    }
}

fn remove_if_present(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(cannot("remove", path)(error).into())
        }
        _ => Ok(()),
    }
}

impl KernelPatch {
    /// The files that it changes.
    ///
    /// # Errors
    /// The patch does not apply to `source`, which is only read.
    pub fn changed_files(&self, source: &Path) -> Result<Vec<String>, Error> {
        self.run_git_apply(source, source, &["--check"])?;
        // Old and new names, by a NUL each; numbers of lines stand before the names, by tabs.
        let numstat = self.run_git_apply(source, source, &["--numstat", "-z"])?;
        let files: Vec<String> = (numstat.split('\0'))
            .map(|part| part.rsplit('\t').next().unwrap_or_default())
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        match files.is_empty() {
            true => Err(Error::EmptyPatch {
                patch: self.path.clone(),
            }),
            false => Ok(files),
        }
    }

    fn apply(&self, dir: &Path, source: &Path) -> Result<(), Error> {
        self.run_git_apply(dir, source, &[]).map(drop)
    }

    /// Runs `git apply` in `dir`, a copy of `source`, and returns its output.
    fn run_git_apply(&self, dir: &Path, source: &Path, words: &[&str]) -> Result<String, Error> {
        let mut arguments = vec!["apply", "--whitespace=nowarn", "-p1"];
        arguments.extend(words);
        if self.reverse {
            arguments.push("--reverse");
        }
        let path = self.path.to_string_lossy();
        arguments.push(&path);
        let output = run_git(dir, dir.parent(), arguments)
            .map_err(relayout_measure::Error::from)
            .map_err(Error::Measure)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let mut message = String::from_utf8_lossy(&output.stderr).into_owned();
        if self.reverse {
            message.push_str(
                "(tried in reverse: --reverse is for a source that has the patch already)",
            );
        }
        Err(Error::Measure(relayout_measure::Error::Patch {
            patch: self.path.clone(),
            source_dir: source.to_owned(),
            output: message,
        }))
    }
}

#[cfg(test)]
mod tests;
