//! The folder that holds kept inputs and outputs, and the surroundings that every command is given.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;

use super::folder_files::{copy_entry, remove_folder};

/// Parts of relayout's cache folder that are no results: all commands share them.
const SHARED_CACHE: [&str; 3] = ["kernel", "source", "qemu"];
/// Longest time that a command may take, in seconds.
const TIME_LIMIT_S: &str = "300";
/// Folders of the system's programs.
const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The folder. Outputs name files in it, so it must stay where it is.
pub struct KeptFolder {
    root: PathBuf,
    relayout: PathBuf,
}

impl KeptFolder {
    /// Makes the folder if it is missing.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn open(root: &Path, relayout: &Path) -> anyhow::Result<Self> {
        let make = |folder: &Path| {
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())
        };
        make(root)?;
        let folder = Self {
            root: root.canonicalize()?,
            relayout: relayout.to_owned(),
        };
        for name in ["inputs", "home", "temporary"] {
            make(&folder.root.join(name))?;
        }
        Ok(folder)
    }

    pub fn relayout(&self) -> &Path {
        &self.relayout
    }

    /// Profiles, programs and texts that commands read.
    pub fn inputs(&self) -> PathBuf {
        self.root.join("inputs")
    }

    /// Outputs that later ones are compared with, or those that are compared with them.
    pub fn outputs(&self, are_kept: bool) -> PathBuf {
        self.root
            .join(if are_kept { "outputs" } else { "compared" })
    }

    /// Makes the folder that a row of this name runs in, with copies of the inputs that its commands name, and its
    /// cache folder.
    ///
    /// # Errors
    /// An input cannot be copied.
    pub fn make_run(&self, name: &str, words: &[&str]) -> anyhow::Result<RunFolder<'_>> {
        let run = RunFolder {
            kept: self,
            path: self.root.join("runs").join(name),
            cache: self.root.join("caches").join(name),
        };
        run.remove()?;
        fs::create_dir_all(&run.path)?;
        self.make_cache(&run.cache)?;
        for word in words.iter().flat_map(|word| word.split(['=', ','])) {
            let Some(entry) = word.split('/').next() else {
                continue;
            };
            let (input, copy) = (self.inputs().join(entry), run.path.join(entry));
            let is_input =
                !matches!(entry, "" | "." | "..") && fs::symlink_metadata(&input).is_ok();
            if is_input && fs::symlink_metadata(&copy).is_err() {
                copy_entry(&input, &copy)?;
            }
        }
        Ok(run)
    }

    /// Makes a cache folder without results, and with a measured machine that is the same everywhere.
    ///
    /// # Errors
    /// A link cannot be made.
    pub fn make_cache(&self, cache: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(cache)?;
        let shared = relayout_testkit::cache_folder();
        for name in SHARED_CACHE {
            symlink(shared.join(name), cache.join(name))?;
        }
        let machine = self.inputs().join("machine.json");
        if machine.exists() {
            copy_entry(&machine, &cache.join("machine.json"))?;
        }
        Ok(())
    }
}

/// A folder in which the commands of a row run.
pub struct RunFolder<'k> {
    kept: &'k KeptFolder,
    pub path: PathBuf,
    cache: PathBuf,
}

impl RunFolder<'_> {
    /// Returns a program in fixed surroundings, not yet started. `variables` are further ones of its environment.
    pub fn program<'w>(
        &self,
        program: &Path,
        variables: impl IntoIterator<Item = (&'w str, &'w str)>,
    ) -> Command {
        let own = self.kept.relayout.parent().unwrap_or(Path::new("/"));
        let mut command = Command::new(program);
        command
            .current_dir(&self.path)
            .env_clear()
            .env("PATH", format!("{}:{SYSTEM_PATH}", own.display()))
            .env("HOME", self.kept.root.join("home"))
            .env("TMPDIR", self.kept.root.join("temporary"))
            .env("RELAYOUT_CACHE", &self.cache)
            .envs([("LC_ALL", "C.UTF-8"), ("TZ", "UTC"), ("SHELL", "/bin/sh")])
            .envs([("COLUMNS", "80"), ("TERM", "dumb"), ("NO_COLOR", "1")])
            .envs([
                ("GIT_AUTHOR_NAME", "A U Thor"),
                ("GIT_AUTHOR_EMAIL", "author@localhost"),
            ])
            .envs([
                ("GIT_COMMITTER_NAME", "A U Thor"),
                ("GIT_COMMITTER_EMAIL", "author@localhost"),
            ])
            .envs(variables)
            .stdin(Stdio::null());
        command
    }

    /// Returns relayout with these words, which end after [`TIME_LIMIT_S`] with exit code 124.
    pub fn relayout<'w>(
        &self,
        words: &[&'w str],
        variables: impl IntoIterator<Item = (&'w str, &'w str)>,
    ) -> Command {
        let mut command = self.program(Path::new("timeout"), variables);
        command
            .arg(TIME_LIMIT_S)
            .arg(&self.kept.relayout)
            .args(words);
        command
    }

    /// Path of the command under test.
    pub fn relayout_path(&self) -> &Path {
        &self.kept.relayout
    }

    /// Inputs of all rows.
    pub fn inputs(&self) -> PathBuf {
        self.kept.inputs()
    }

    /// Removes the folder and its cache.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn remove(&self) -> anyhow::Result<()> {
        remove_folder(&self.path)?;
        remove_folder(&self.cache)
    }
}
