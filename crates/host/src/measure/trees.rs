//! Two copies of a source tree, with a patch applied in one.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::Error;
use crate::file_error::cannot;
use crate::git::run;

/// Names of the two copies. Of the same length: the length of a path can change where a program's stack
/// begins, and with it how fast it is (Mytkowicz et al., *Producing wrong data without doing
/// anything obviously wrong*, ASPLOS 2009).
const NAMES: [&str; 2] = ["tree-a", "tree-b"];

/// The two copies, removed when dropped.
pub struct Trees {
    /// Top of the repository, if the copies are its worktrees.
    repository: Option<PathBuf>,
    tops: [PathBuf; 2],
    /// Where the source lies in the copies.
    prefix: PathBuf,
    /// Things to tell that are no failure.
    pub notes: Vec<String>,
}

impl Trees {
    /// Makes two copies of the source in `folder`, and applies the patch in the second. Of a git
    /// repository the copies are worktrees of what is committed; of another folder they are copies of
    /// what is there.
    ///
    /// # Errors
    /// The source cannot be copied, or the patch does not apply to it.
    pub fn make(source: &Path, patch: &Path, folder: &Path) -> Result<Self, Error> {
        let source = fs::canonicalize(source).map_err(cannot("find", source))?;
        let patch_path = fs::canonicalize(patch).map_err(cannot("read", patch))?;
        if !source.is_dir() {
            let error = std::io::ErrorKind::NotADirectory.into();
            return Err(cannot("copy", &source)(error).into());
        }
        let tops = NAMES.map(|name| folder.join(name));
        let mut trees = Self {
            repository: repository(&source)?,
            tops,
            prefix: PathBuf::new(),
            notes: Vec::new(),
        };
        match trees.repository.clone() {
            Some(top) => trees.add_worktrees(&top, &source)?,
            None => trees.copy(&source)?,
        }
        trees.apply(&patch_path, &source)?;
        Ok(trees)
    }

    /// Where the source lies without the patch.
    pub fn before(&self) -> PathBuf {
        self.tops[0].join(&self.prefix)
    }

    /// Where it lies with the patch.
    pub fn after(&self) -> PathBuf {
        self.tops[1].join(&self.prefix)
    }

    fn add_worktrees(&mut self, top: &Path, source: &Path) -> Result<(), Error> {
        self.prefix = source.strip_prefix(top).unwrap_or(Path::new("")).to_owned();
        for tree in &self.tops {
            let arguments = [
                OsStr::new("worktree"),
                "add".as_ref(),
                "--detach".as_ref(),
                "--quiet".as_ref(),
            ];
            let arguments = arguments
                .into_iter()
                .chain([tree.as_os_str(), "HEAD".as_ref()]);
            git_done(top, arguments)?;
        }
        let changed = git(
            source,
            ["status", "--porcelain", "--untracked-files=no", "."],
        )?;
        if !changed.stdout.is_empty() {
            self.notes.push(format!(
                "{} has changes that are not committed; they are in neither side",
                source.display()
            ));
        }
        if top.join(".gitmodules").exists() {
            let note = "submodules are empty in both sides; let --build fetch them";
            self.notes.push(note.to_owned());
        }
        Ok(())
    }

    fn copy(&self, source: &Path) -> Result<(), Error> {
        for tree in &self.tops {
            fs::create_dir(tree).map_err(cannot("create", tree))?;
            let mut command = Command::new("cp");
            command
                .args(["-a", "--reflink=auto"])
                .arg(source.join("."))
                .arg(tree);
            let output = run(command, "cp", "copy the source", "coreutils")?;
            done(&output, format!("cp -a {}", source.display()))?;
        }
        Ok(())
    }

    /// Paths in a patch are relative to the top of the repository, or to the source.
    fn apply(&self, patch: &Path, source: &Path) -> Result<(), Error> {
        let tree = &self.tops[1];
        let mut said = None;
        for folder in [Path::new(""), &self.prefix] {
            for strip in ["-p1", "-p0"] {
                let mut directory = std::ffi::OsString::from("--directory=");
                directory.push(folder);
                let words = ["apply", "--whitespace=nowarn", strip].map(OsStr::new);
                let arguments = words.into_iter().chain([&*directory, patch.as_os_str()]);
                let output = git(tree, arguments)?;
                if output.status.success() && self.is_changed()? {
                    return Ok(());
                }
                said.get_or_insert(String::from_utf8_lossy(&output.stderr).into_owned());
            }
        }
        Err(Error::Patch {
            patch: patch.to_owned(),
            source_dir: source.to_owned(),
            said: said.unwrap_or_default(),
        })
    }

    /// Whether the patch did something: git passes over files outside of where it runs, and is content.
    fn is_changed(&self) -> Result<bool, Error> {
        match self.repository {
            None => Ok(true),
            Some(_) => Ok(!git(&self.tops[1], ["status", "--porcelain"])?
                .stdout
                .is_empty()),
        }
    }
}

impl Drop for Trees {
    fn drop(&mut self) {
        // What fails here is only left behind; the folder itself goes with its owner.
        let Some(top) = &self.repository else {
            for tree in &self.tops {
                let _ = fs::remove_dir_all(tree);
            }
            return;
        };
        for tree in self.tops.iter().filter(|tree| tree.exists()) {
            let words = ["worktree", "remove", "--force"].map(OsStr::new);
            let _ = git(top, words.into_iter().chain([tree.as_os_str()]));
        }
        let _ = git(top, ["worktree", "prune"]);
    }
}

/// Top of the repository that has the source in its last commit.
fn repository(source: &Path) -> Result<Option<PathBuf>, Error> {
    let top = git(source, ["rev-parse", "--show-toplevel"])?;
    let is_committed = git(source, ["ls-tree", "--name-only", "HEAD", "."])?;
    if !top.status.success() || !is_committed.status.success() || is_committed.stdout.is_empty() {
        return Ok(None);
    }
    let path = String::from_utf8_lossy(&top.stdout)
        .trim_end_matches('\n')
        .to_owned();
    Ok(Some(PathBuf::from(path)).filter(|top| top.is_dir()))
}

fn git<A: AsRef<OsStr>>(
    dir: &Path,
    arguments: impl IntoIterator<Item = A>,
) -> Result<Output, Error> {
    // A copy that lies within some repository is none of it.
    let ceiling = dir.parent().map(|parent| ceiling(dir, parent));
    crate::git::git(dir, ceiling, arguments)
}

/// For our copies the folder around them; else nothing.
fn ceiling<'p>(dir: &'p Path, parent: &'p Path) -> &'p Path {
    let is_copy = NAMES
        .iter()
        .any(|name| dir.file_name() == Some(OsStr::new(name)));
    if is_copy { parent } else { Path::new("") }
}

fn git_done<A: AsRef<OsStr>>(
    dir: &Path,
    arguments: impl IntoIterator<Item = A>,
) -> Result<(), Error> {
    let output = git(dir, arguments)?;
    done(&output, format!("git worktree add of {}", dir.display()))
}

fn done(output: &Output, command: String) -> Result<(), Error> {
    if output.status.success() {
        return Ok(());
    }
    Err(Error::Failed {
        command,
        how: super::error::how(output.status),
        said: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

#[cfg(test)]
mod tests;
