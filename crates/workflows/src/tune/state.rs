//! Folder with the state of a run: settings, journal, repository, profiles and logs.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use relayout_files::{CacheFolder, FolderLock, cannot, fnv1a, read_regular_text, write_atomically};
use relayout_messages::UserError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::TuneSettings;
use super::journal::StepJournal;

const SETTINGS_FILE: &str = "settings.json";
const LOCK_FILE: &str = "lock";

/// Settings with what they were read from, as the state folder keeps them.
#[derive(Debug, Serialize, Deserialize)]
struct KeptSettings {
    /// Commit that the run begins with; `None` for a plain folder.
    commit: Option<String>,
    settings: TuneSettings,
}

/// State folder of a run, locked.
#[derive(Debug)]
pub(super) struct StateFolder {
    path: PathBuf,
    _lock: FolderLock,
}

impl StateFolder {
    /// Returns the folder of a run with these settings: the same for the same settings and commit.
    pub(super) fn default_path(
        settings: &TuneSettings,
        commit: Option<&str>,
    ) -> Result<PathBuf, UserError> {
        let cache = CacheFolder::locate().ok_or_else(no_state_folder)?;
        let identity = serde_json::to_string(&KeptSettings {
            commit: commit.map(str::to_owned),
            settings: settings.clone(),
        })?;
        let name = settings.source.file_name().unwrap_or_default().display();
        let number = fnv1a(identity.as_bytes());
        Ok(cache
            .dir()
            .join("tune")
            .join(format!("{name}-{number:016x}")))
    }

    /// Opens the folder, or makes it, and locks it.
    ///
    /// # Errors
    /// Another process uses the folder, it holds a run with other settings or something else, or it
    /// cannot be written.
    pub(super) fn open(
        path: &Path,
        settings: &TuneSettings,
        commit: Option<&str>,
        restart: bool,
    ) -> Result<Self, UserError> {
        { DirBuilder::new().recursive(true).mode(0o700).create(path) }
            .map_err(cannot("create", path))?;
        let path = fs::canonicalize(path).map_err(cannot("open", path))?;
        let kept = path.join(SETTINGS_FILE);
        let mut entries = fs::read_dir(&path).map_err(cannot("read", &path))?;
        let is_foreign = |name: &std::ffi::OsStr| name != LOCK_FILE && name != SETTINGS_FILE;
        if !kept.exists()
            && entries.any(|entry| entry.is_ok_and(|entry| is_foreign(&entry.file_name())))
        {
            let message = format!(
                "{} is not empty and holds no run of `relayout tune`",
                path.display()
            );
            return Err(UserError::input(message).with_remedy("give another folder with --state"));
        }
        let lock = lock_file(&path)?;
        if restart {
            clear(&path)?;
        }
        let current = serde_json::to_value(KeptSettings {
            commit: commit.map(str::to_owned),
            settings: settings.clone(),
        })?;
        match kept.exists() {
            false => write_atomically(&kept, serde_json::to_string_pretty(&current)?.as_bytes())?,
            true => {
                let text = read_regular_text(&kept).map_err(cannot("read", &kept))?;
                let earlier = serde_json::from_str(&text).unwrap_or(Value::Null);
                let mut different = Vec::new();
                collect_differences("", &earlier, &current, &mut different);
                if !different.is_empty() {
                    let message = format!(
                        "{} holds a run with other settings ({})",
                        path.display(),
                        different.join(", ")
                    );
                    return Err(UserError::input(message).with_remedy(
                        "give another folder with --state, or begin again with --restart",
                    ));
                }
            }
        }
        Ok(Self { path, _lock: lock })
    }

    /// Returns the path of a file or folder in it.
    pub(super) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Path of the folder.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the journal.
    pub(super) fn journal(&self) -> Result<StepJournal, UserError> {
        StepJournal::open(&self.join("journal.jsonl"))
    }
}

/// Makes the error of a run that has no place for its state.
pub(super) fn no_state_folder() -> UserError {
    UserError::input(
        "there is no folder for the state of the run: give one with --state DIR, or set RELAYOUT_CACHE, XDG_CACHE_HOME \
         or HOME",
    )
}

fn lock_file(folder: &Path) -> Result<FolderLock, UserError> {
    let lock = FolderLock::acquire(&folder.join(LOCK_FILE))?;
    lock.ok_or_else(|| {
        UserError::input(format!(
            "another `relayout tune` runs in {}",
            folder.display()
        ))
        .with_remedy("wait for its end, or give another folder with --state")
    })
}

/// Removes all but the lock. The settings go last: a folder without them counts as foreign.
fn clear(folder: &Path) -> Result<(), UserError> {
    for entry in fs::read_dir(folder).map_err(cannot("read", folder))? {
        let entry = entry.map_err(cannot("read", folder))?;
        if entry.file_name() != LOCK_FILE && entry.file_name() != SETTINGS_FILE {
            remove_if_there(&entry.path())?;
        }
    }
    remove_if_there(&folder.join(SETTINGS_FILE))
}

/// Removes a file or folder.
///
/// # Errors
/// It is there and cannot be removed.
pub(super) fn remove_if_there(path: &Path) -> Result<(), UserError> {
    let removed = match path.is_dir() && !path.is_symlink() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(cannot("remove", path)(error).into())
        }
        _ => Ok(()),
    }
}

/// Collects the names of leaves that differ.
fn collect_differences(name: &str, earlier: &Value, current: &Value, found: &mut Vec<String>) {
    match (earlier, current) {
        (Value::Object(old), Value::Object(new)) => {
            let keys = new
                .keys()
                .chain(old.keys().filter(|key| !new.contains_key(*key)));
            for key in keys {
                let part = |object: &serde_json::Map<String, Value>| {
                    object.get(key).cloned().unwrap_or(Value::Null)
                };
                collect_differences(key, &part(old), &part(new), found);
            }
        }
        _ if earlier == current => {}
        _ => found.push(name.replace('_', "-")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{TuneTarget, TunedProgram};
    use super::*;

    fn settings(bench: &str) -> TuneSettings {
        TuneSettings {
            source: "/src/server".into(),
            branch: "tuned".to_owned(),
            target: TuneTarget::Program(TunedProgram {
                build: "make".to_owned(),
                record_build: None,
                bench: bench.to_owned(),
                also: Vec::new(),
                test: None,
                limit_s: 600,
                metrics: Vec::new(),
                shell: false,
            }),
            repeats: 3,
            pairs: 30,
            margin: 0.02,
        }
    }

    #[test]
    fn other_settings_are_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state");
        let open = |bench: &str, commit, restart| {
            StateFolder::open(&path, &settings(bench), Some(commit), restart)
        };
        drop(open("./bench", "c1", false).expect("it opens"));
        drop(open("./bench", "c1", false).expect("it opens again"));
        let error = open("./other", "c2", false).expect_err("two settings differ");
        assert!(error.to_string().contains("(commit, bench)"), "{error}");
        drop(open("./other", "c2", true).expect("it begins again"));
        assert!(open("./bench", "c1", false).is_err());
    }

    #[test]
    fn folders_are_used_by_one_process() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = || StateFolder::open(folder.path(), &settings("./bench"), None, false);
        let held = open().expect("it opens");
        let error = open().expect_err("it is held");
        assert!(
            error
                .to_string()
                .starts_with("another `relayout tune` runs"),
            "{error}"
        );
        drop(held);
        assert!(open().is_ok());
    }

    #[test]
    fn foreign_folders_are_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("thesis.txt"), "").expect("written");
        let open = |restart| StateFolder::open(folder.path(), &settings("./bench"), None, restart);
        for restart in [false, true] {
            let error = open(restart).expect_err("it is foreign");
            assert!(error.to_string().contains("is not empty"), "{error}");
        }
        assert!(folder.path().join("thesis.txt").exists());
    }
}
