//! Commands of a longer work, with a time limit and a log.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use relayout_files::{InterruptFlag, cannot, free_bytes, open_own_file};
use relayout_measure::{ProgramCommand, ProgramLaunch, ProgramStarter};

use relayout_messages::UserError;

/// Bytes that are free at least where a failure is blamed on the command and not on the disk.
const FREE_BYTES_MIN: u64 = 32 << 20;

/// Runs commands one after the other.
pub(crate) struct CommandRunner {
    starter: ProgramStarter,
    interrupt: InterruptFlag,
    limit: Option<Duration>,
}

/// A command that failed, or did not end in time.
#[derive(Debug)]
pub(crate) struct FailedCommand {
    pub(crate) error: UserError,
    /// Its exit code; `None` if it was killed or not started.
    pub(crate) exit_code: Option<i32>,
    /// Its output.
    pub(crate) log: PathBuf,
}

impl FailedCommand {
    /// Returns the failure in one line, with the place of the log.
    pub(crate) fn words(&self) -> String {
        let text = self.error.to_string();
        let first = text.lines().next().unwrap_or_default();
        let first = first.trim_end_matches([':', ' ']);
        format!("{first} (log: {})", self.log.display())
    }
}

impl CommandRunner {
    pub(crate) fn new(
        interrupt: InterruptFlag,
        limit: Option<Duration>,
    ) -> Result<Self, UserError> {
        Ok(Self {
            starter: ProgramStarter::new(interrupt)?,
            interrupt,
            limit,
        })
    }

    /// Runs a command in `dir`, and keeps its output in `log`.
    ///
    /// # Errors
    /// The user interrupts, the disk is full, or the log cannot be written. A failed command is in
    /// the inner result.
    pub(crate) fn run(
        &self,
        command: &ProgramCommand,
        dir: &Path,
        log: &Path,
    ) -> Result<Result<(), FailedCommand>, UserError> {
        let ended = self.starter.run(&ProgramLaunch {
            command,
            dir: Some(dir),
            schedule: None,
            time_limit: self.limit,
            disturbed_code: None,
        });
        self.keep_log(log)?;
        match ended {
            Ok(_) => Ok(Ok(())),
            Err(_) if self.interrupt.is_set() => Err(UserError::interrupted()),
            Err(error) => {
                require_space(log.parent().unwrap_or(log))?;
                Ok(Err(FailedCommand {
                    exit_code: match error {
                        relayout_measure::Error::Failed { exit_code, .. } => exit_code,
                        _ => None,
                    },
                    error: error.into(),
                    log: log.to_owned(),
                }))
            }
        }
    }

    fn keep_log(&self, log: &Path) -> Result<(), UserError> {
        let mut text = Vec::new();
        for name in ["stdout", "stderr"] {
            let path = self.starter.dir().join(name);
            // A program that could not be started wrote nothing.
            text.extend(fs::read(&path).unwrap_or_default());
        }
        // The log of a suite's job is locked, so the file stays and its text is replaced.
        let write = || -> io::Result<()> {
            let mut file = open_own_file(log)?;
            file.set_len(0)?;
            file.write_all(&text)
        };
        Ok(write().map_err(cannot("write", log))?)
    }
}

/// Rejects a disk that is full: a command that failed there says nothing about a change.
pub(crate) fn require_space(folder: &Path) -> Result<(), UserError> {
    match free_bytes(folder) {
        Some(..FREE_BYTES_MIN) => {
            let full = io::Error::from(rustix::io::Errno::NOSPC);
            Err(cannot("write to", folder)(full).into())
        }
        _ => Ok(()),
    }
}
