//! Ends what a program started when this process is killed, which can do nothing itself then.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use relayout_files::{FileError, cannot};
use rustix::process::Pid;

/// Reads the number of the process group that runs, or an empty line while none does. At the end of
/// the input it ends the group: `make` and compilers remove unfinished files when they are asked to.
const SCRIPT: &str = "g=; while read -r line; do g=$line; done; [ -n \"$g\" ] || exit; \
                      kill -s TERM -- \"-$g\"; sleep 1; kill -s KILL -- \"-$g\"";

/// A shell that waits for the end of this process.
#[derive(Debug)]
pub(super) struct GroupWatch(Child);

impl GroupWatch {
    /// Starts the shell.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn start() -> Result<Self, FileError> {
        let shell = "/bin/sh";
        let mut command = Command::new(shell);
        command
            .args(["-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C is for relayout.
            .process_group(0);
        Ok(Self(
            command.spawn().map_err(cannot("run", shell.as_ref()))?,
        ))
    }

    /// Watches a process group.
    pub(super) fn begin(&self, group: Pid) {
        self.tell(&group.as_raw_nonzero().to_string());
    }

    /// Watches none.
    pub(super) fn end(&self) {
        self.tell("");
    }

    /// A shell that was killed hears nothing, and nothing is watched then.
    fn tell(&self, line: &str) {
        if let Some(mut input) = self.0.stdin.as_ref() {
            let _ = input.write_all(format!("{line}\n").as_bytes());
        }
    }
}

impl Drop for GroupWatch {
    fn drop(&mut self) {
        self.end();
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}
