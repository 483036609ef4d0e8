//! Two copies of a source tree, with a patch applied in one.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use relayout_files::{cannot, open_regular, run_program};

use super::Error;

/// Names of the two copies. Of the same length: the length of a path can change where a program's
/// stack begins, and with it how fast it is (Mytkowicz et al., *Producing wrong data without doing
/// anything obviously wrong*, ASPLOS 2009).
const COPY_NAMES: [&str; 2] = ["tree-a", "tree-b"];

/// The two copies, removed when dropped.
pub struct SourceTrees {
    /// Top of the repository, if the copies are its worktrees.
    repository: Option<PathBuf>,
    tops: [PathBuf; 2],
    /// Path of the source within each copy.
    prefix: PathBuf,
    /// Things to tell that are no failure.
    pub notes: Vec<String>,
}

impl SourceTrees {
    /// Makes two copies of the source in `folder`, and applies the patch in the second. The copies
    /// of a git repository are worktrees of its last commit; those of another folder are plain
    /// copies.
    ///
    /// # Errors
    /// The source cannot be copied, or the patch does not apply to it.
    pub fn create(source: &Path, patch: &Path, folder: &Path) -> Result<Self, Error> {
        let source = fs::canonicalize(source).map_err(cannot("find", source))?;
        let patch_path = fs::canonicalize(patch).map_err(cannot("read", patch))?;
        open_regular(&patch_path).map_err(cannot("read", patch))?;
        if !source.is_dir() {
            let error = std::io::ErrorKind::NotADirectory.into();
            return Err(cannot("copy", &source)(error).into());
        }
        let tops = COPY_NAMES.map(|name| folder.join(name));
        let mut trees = Self {
            repository: find_repository(&source)?,
            tops,
            prefix: PathBuf::new(),
            notes: Vec::new(),
        };
        match trees.repository.clone() {
            Some(top) => trees.add_worktrees(&top, &source)?,
            None => trees.copy_source(&source)?,
        }
        trees.apply_patch(&patch_path, &source)?;
        Ok(trees)
    }

    /// Folder of the source without the patch.
    pub fn unpatched(&self) -> PathBuf {
        self.tops[0].join(&self.prefix)
    }

    /// Folder of the source with the patch.
    pub fn patched(&self) -> PathBuf {
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
            run_git_successfully(top, arguments)?;
        }
        let changed = run_git_within(
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

    fn copy_source(&self, source: &Path) -> Result<(), Error> {
        for tree in &self.tops {
            fs::create_dir(tree).map_err(cannot("create", tree))?;
            let mut command = Command::new("cp");
            command
                .args(["-a", "--reflink=auto"])
                .arg(source.join("."))
                .arg(tree);
            let output = run_program(command, "cp", "copy the source")?;
            require_success(&output, format!("cp -a {}", source.display()))?;
        }
        Ok(())
    }

    /// Paths in a patch are relative to the top of the repository, or to the source.
    fn apply_patch(&self, patch: &Path, source: &Path) -> Result<(), Error> {
        let tree = &self.tops[1];
        let mut output_text = None;
        for folder in [Path::new(""), &self.prefix] {
            for strip in ["-p1", "-p0"] {
                let mut directory = std::ffi::OsString::from("--directory=");
                directory.push(folder);
                let words = ["apply", "--whitespace=nowarn", strip].map(OsStr::new);
                let arguments = words.into_iter().chain([&*directory, patch.as_os_str()]);
                let output = run_git_within(tree, arguments)?;
                if output.status.success() && self.is_changed()? {
                    return Ok(());
                }
                output_text.get_or_insert(String::from_utf8_lossy(&output.stderr).into_owned());
            }
        }
        Err(Error::Patch {
            patch: patch.to_owned(),
            source_dir: source.to_owned(),
            output: output_text.unwrap_or_default(),
        })
    }

    /// Returns true if the patch changed something: git skips files outside of its folder without
    /// an error.
    fn is_changed(&self) -> Result<bool, Error> {
        match self.repository {
            None => Ok(true),
            Some(_) => Ok(!run_git_within(&self.tops[1], ["status", "--porcelain"])?
                .stdout
                .is_empty()),
        }
    }
}

impl Drop for SourceTrees {
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
            let _ = run_git_within(top, words.into_iter().chain([tree.as_os_str()]));
        }
        let _ = run_git_within(top, ["worktree", "prune"]);
    }
}

/// Top of the repository that has the source in its last commit.
fn find_repository(source: &Path) -> Result<Option<PathBuf>, Error> {
    let top = run_git_within(source, ["rev-parse", "--show-toplevel"])?;
    let is_committed = run_git_within(source, ["ls-tree", "--name-only", "HEAD", "."])?;
    if !top.status.success() || !is_committed.status.success() || is_committed.stdout.is_empty() {
        return Ok(None);
    }
    let path = String::from_utf8_lossy(&top.stdout)
        .trim_end_matches('\n')
        .to_owned();
    Ok(Some(PathBuf::from(path)).filter(|top| top.is_dir()))
}

fn run_git_within<A: AsRef<OsStr>>(
    dir: &Path,
    arguments: impl IntoIterator<Item = A>,
) -> Result<Output, Error> {
    // Git must not take a copy within some repository for a part of that repository.
    let ceiling = dir.parent().map(|parent| search_ceiling(dir, parent));
    Ok(relayout_files::run_git(dir, ceiling, arguments)?)
}

/// Returns the folder around a copy; an empty path for other folders.
fn search_ceiling<'p>(dir: &'p Path, parent: &'p Path) -> &'p Path {
    let is_copy = COPY_NAMES
        .iter()
        .any(|name| dir.file_name() == Some(OsStr::new(name)));
    if is_copy { parent } else { Path::new("") }
}

fn run_git_successfully<A: AsRef<OsStr>>(
    dir: &Path,
    arguments: impl IntoIterator<Item = A>,
) -> Result<(), Error> {
    let output = run_git_within(dir, arguments)?;
    require_success(&output, format!("git worktree add of {}", dir.display()))
}

fn require_success(output: &Output, command: String) -> Result<(), Error> {
    if output.status.success() {
        return Ok(());
    }
    Err(Error::Failed {
        command,
        how: super::error::describe_exit(output.status),
        exit_code: output.status.code(),
        output: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

#[cfg(test)]
mod tests;
