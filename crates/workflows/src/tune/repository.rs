//! Git repository of a run: a clone of the user's, in which changes are committed.
//!
//! The user's repository is only read, until the branch is fetched into it at the end. No hook of
//! either runs.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use relayout_files::{cannot, git_author, run_git, run_program, write_atomically};
use relayout_layout::word_lists::word_list;
use relayout_messages::UserError;

use crate::logged_command::require_space;

use super::state::remove_if_there;

/// Author of commits where git knows no name.
const AUTHOR_UNKNOWN: &str = "relayout <relayout@localhost>";
/// Changed files that are named.
const FILES_NAMED_MAX: usize = 5;
/// Message of the first commit of a source that was in no repository.
const IMPORT_MESSAGE: &str = "Source before relayout tune";

/// The user's source, and its repository if it is in one.
#[derive(Clone, Debug)]
pub(super) struct UserSource {
    /// Folder of the source.
    pub(super) path: PathBuf,
    /// Top of the repository and the commit that is checked out.
    pub(super) repository: Option<(PathBuf, String)>,
}

impl UserSource {
    /// Looks at the source.
    ///
    /// # Errors
    /// It is no folder, or git fails.
    pub(super) fn open(path: &Path) -> Result<Self, UserError> {
        let path = fs::canonicalize(path).map_err(cannot("find", path))?;
        if !path.is_dir() {
            let error = std::io::ErrorKind::NotADirectory.into();
            return Err(cannot("use", &path)(error).into());
        }
        let top = run(&path, ["rev-parse", "--show-toplevel"])?;
        let commit = run(&path, ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?;
        let tracked = run(&path, ["ls-tree", "--name-only", "HEAD", "."])?;
        let outputs = [&top, &commit, &tracked];
        let is_tracked =
            outputs.iter().all(|output| output.status.success()) && !tracked.stdout.is_empty();
        let repository = is_tracked.then(|| (PathBuf::from(line_of(&top)), line_of(&commit)));
        Ok(Self { path, repository })
    }

    /// Commit that is checked out.
    pub(super) fn commit(&self) -> Option<&str> {
        Some(&self.repository.as_ref()?.1)
    }

    /// Path of the source within the repository.
    pub(super) fn prefix(&self) -> &Path {
        match &self.repository {
            Some((top, _)) => self.path.strip_prefix(top).unwrap_or(Path::new("")),
            None => Path::new(""),
        }
    }

    /// Rejects changes that are not committed, and a branch that exists.
    pub(super) fn verify(&self, branch: &str) -> Result<(), UserError> {
        let name = run(&self.path, ["check-ref-format", "--branch", branch])?;
        if !name.status.success() {
            return Err(UserError::input(format!(
                "'{branch}' is no name of a branch (git check-ref-format)"
            )));
        }
        let Some((top, _)) = &self.repository else {
            return Ok(());
        };
        let changed = run(top, ["status", "--porcelain", "--untracked-files=no"])?;
        let text = String::from_utf8_lossy(&changed.stdout);
        let files: Vec<&str> = text.lines().filter_map(|line| line.get(3..)).collect();
        if !files.is_empty() {
            let message = format!(
                "{} has changes that are not committed: {}",
                self.path.display(),
                word_list(&files, FILES_NAMED_MAX)
            );
            return Err(UserError::input(message).with_remedy(
                "commit or stash them, so that each change of the run can be told from yours",
            ));
        }
        let reference = format!("refs/heads/{branch}");
        let existing = run(top, ["show-ref", "--verify", "--quiet", &reference])?;
        match existing.status.success() {
            true => {
                let message = format!("{} has a branch {branch} already", top.display());
                Err(UserError::input(message).with_remedy("give another name with --branch"))
            }
            false => Ok(()),
        }
    }
}

/// Clone in the state folder.
#[derive(Debug)]
pub(super) struct TuneRepository {
    top: PathBuf,
    prefix: PathBuf,
    branch: String,
    author: String,
}

impl TuneRepository {
    /// Names the clone at `top`, which [`create`](Self::create) makes.
    pub(super) fn new(top: PathBuf, source: &UserSource, branch: &str) -> Self {
        Self {
            top,
            prefix: source.prefix().to_owned(),
            branch: branch.to_owned(),
            author: git_author(&source.path).unwrap_or_else(|| AUTHOR_UNKNOWN.to_owned()),
        }
    }

    /// Makes the clone, or a repository of a copy of the source. Returns the first commit.
    ///
    /// # Errors
    /// Git fails, or the source cannot be copied.
    pub(super) fn create(&self, source: &UserSource) -> Result<String, UserError> {
        remove_if_there(&self.top)?;
        match &source.repository {
            Some((top, commit)) => {
                let parent = self.top.parent().unwrap_or(Path::new("/"));
                let words = ["clone", "--quiet", "--no-checkout", "--no-tags"].map(OsStr::new);
                let places = [top.as_os_str(), self.top.as_os_str()];
                succeed(parent, words.into_iter().chain(places))?;
                succeed(
                    &self.top,
                    ["checkout", "--quiet", "-B", &self.branch, commit],
                )?;
            }
            None => {
                fs::create_dir(&self.top).map_err(cannot("create", &self.top))?;
                let mut copy = Command::new("cp");
                copy.args(["-a", "--reflink=auto"])
                    .arg(source.path.join("."))
                    .arg(&self.top);
                let output = run_program(copy, "cp", "copy the source")?;
                require_success(&source.path, "cp -a".to_owned(), &output)?;
                remove_if_there(&self.top.join(".git"))?;
                let first = format!("--initial-branch={}", self.branch);
                succeed(&self.top, ["init", "--quiet", &first])?;
                // Files that the source's .gitignore names belong to it.
                succeed(&self.top, ["add", "--all", "--force", "."])?;
                self.commit_index(IMPORT_MESSAGE)?;
            }
        }
        self.head()
    }

    /// Folder of the source in the clone.
    pub(super) fn source(&self) -> PathBuf {
        self.top.join(&self.prefix)
    }

    /// Top of the clone.
    pub(super) fn top(&self) -> &Path {
        &self.top
    }

    /// Path of the source within the clone.
    pub(super) fn prefix(&self) -> &Path {
        &self.prefix
    }

    /// Makes a copy of `commit` in the folder `tree`, with `patch` applied. Returns the folder of the
    /// source in it.
    pub(super) fn export(
        &self,
        tree: &Path,
        commit: &str,
        patch: Option<&Path>,
    ) -> Result<PathBuf, UserError> {
        remove_if_there(tree)?;
        let words = ["clone", "--quiet", "--no-checkout", "--shared"].map(OsStr::new);
        let places = [self.top.as_os_str(), tree.as_os_str()];
        succeed(&self.top, words.into_iter().chain(places))?;
        succeed(tree, ["checkout", "--quiet", "--detach", commit])?;
        if let Some(patch) = patch {
            self.apply(tree, patch, false)?;
        }
        Ok(tree.join(&self.prefix))
    }

    /// Commits `patch` on `parent`, and returns the commit.
    pub(super) fn commit_patch(
        &self,
        parent: &str,
        patch: &Path,
        message: &str,
    ) -> Result<String, UserError> {
        self.check_out(parent)?;
        self.apply(&self.top, patch, true)?;
        self.commit_index(message)?;
        self.head()
    }

    /// Checks out a commit of the branch, whatever a killed run left.
    pub(super) fn check_out(&self, commit: &str) -> Result<(), UserError> {
        succeed(
            &self.top,
            ["checkout", "--quiet", "--force", "-B", &self.branch, commit],
        )
    }

    /// Removes the locks of a git that was killed. The state folder's lock tells that none runs.
    pub(super) fn remove_stale_locks(&self) -> Result<(), UserError> {
        let branch = format!("refs/heads/{}.lock", self.branch);
        for lock in ["index.lock", "HEAD.lock", "config.lock", &branch] {
            remove_if_there(&self.top.join(".git").join(lock))?;
        }
        Ok(())
    }

    /// Returns git's reason why `patch` does not apply to `commit`; `None` if it does.
    pub(super) fn refuse_patch(
        &self,
        commit: &str,
        patch: &Path,
    ) -> Result<Option<String>, UserError> {
        self.check_out(commit)?;
        let mut words = self.apply_words();
        words.extend(["--check".into(), patch.into()]);
        let output = run(&self.top, words)?;
        if output.status.success() {
            return Ok(None);
        }
        require_space(&self.top)?;
        let text = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        Ok(Some(lines.join("; ")))
    }

    /// Puts the branch with `commit` into the user's repository, unless it is there. Nothing else
    /// changes there.
    ///
    /// # Errors
    /// Git fails, or the branch has commits that are not of this run, and lacks `commit`.
    pub(super) fn publish(&self, user_repository: &Path, commit: &str) -> Result<(), UserError> {
        let reference = format!("refs/heads/{}", self.branch);
        let tip = run(
            user_repository,
            ["rev-parse", "--verify", "--quiet", &reference],
        )?;
        if tip.status.success() {
            let is_before = |dir: &Path, first: &str, second: &str| {
                let found = run(dir, ["merge-base", "--is-ancestor", first, second])?;
                Ok::<_, UserError>(found.status.success())
            };
            let tip = line_of(&tip);
            if is_before(user_repository, commit, &tip)? {
                return Ok(());
            }
            if !is_before(&self.top, &tip, commit)? {
                let branch = &self.branch;
                let message = format!(
                    "{} has a branch {branch} without the changes that are kept",
                    user_repository.display()
                );
                let remedy = format!(
                    "rename it with `git branch -m {branch} NAME`, and give the same command again"
                );
                return Err(UserError::input(message).with_remedy(remedy));
            }
        }
        let refspec = format!("{reference}:{reference}");
        let words = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
        ];
        let places = [self.top.as_os_str(), OsStr::new(&refspec)];
        succeed(
            user_repository,
            words.map(OsStr::new).into_iter().chain(places),
        )
    }

    /// Applies a patch, whose paths are relative to the source, in a copy of the repository.
    fn apply(&self, top: &Path, patch: &Path, is_staged: bool) -> Result<(), UserError> {
        let mut words = self.apply_words();
        if is_staged {
            words.push("--index".into());
        }
        words.push(patch.into());
        succeed(top, words)
    }

    /// Words of git that apply a patch whose paths are relative to the source.
    fn apply_words(&self) -> Vec<OsString> {
        let mut directory = OsString::from("--directory=");
        directory.push(&self.prefix);
        vec!["apply".into(), "--whitespace=nowarn".into(), directory]
    }

    fn commit_index(&self, message: &str) -> Result<(), UserError> {
        let file = self.top.join(".git/relayout-message");
        write_atomically(&file, message.as_bytes())?;
        let (name, address) = self.author.rsplit_once(" <").unwrap_or((&self.author, ""));
        let name = format!("user.name={name}");
        let address = format!("user.email={}", address.trim_end_matches('>'));
        let words = [
            "-c",
            &name,
            "-c",
            &address,
            "-c",
            "commit.gpgSign=false",
            "commit",
        ];
        let options = ["--quiet", "--no-verify", "--cleanup=verbatim", "--file"];
        let words = words.into_iter().chain(options).map(OsStr::new);
        succeed(&self.top, words.chain([file.as_os_str()]))
    }

    fn head(&self) -> Result<String, UserError> {
        let output = run(&self.top, ["rev-parse", "HEAD"])?;
        require_success(&self.top, "rev-parse HEAD".to_owned(), &output)?;
        Ok(line_of(&output))
    }
}

/// Runs git without hooks.
fn run<A: AsRef<OsStr>>(
    dir: &Path,
    arguments: impl IntoIterator<Item = A>,
) -> Result<Output, UserError> {
    let mut words: Vec<OsString> = vec!["-c".into(), "core.hooksPath=/dev/null".into()];
    words.extend(arguments.into_iter().map(|word| word.as_ref().to_owned()));
    Ok(run_git(dir, None, words)?)
}

fn succeed<A: AsRef<OsStr>>(
    dir: &Path,
    arguments: impl IntoIterator<Item = A>,
) -> Result<(), UserError> {
    let words: Vec<A> = arguments.into_iter().collect();
    let command: Vec<String> = words
        .iter()
        .map(|word| word.as_ref().to_string_lossy().into_owned())
        .collect();
    let output = run(dir, words)?;
    require_success(dir, command.join(" "), &output)
}

fn require_success(dir: &Path, command: String, output: &Output) -> Result<(), UserError> {
    if output.status.success() {
        return Ok(());
    }
    require_space(dir)?;
    let text = String::from_utf8_lossy(&output.stderr);
    Err(UserError::input(format!(
        "git {command} failed in {}: {}",
        dir.display(),
        text.trim()
    )))
}

fn line_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout)
        .trim_end_matches('\n')
        .to_owned()
}
