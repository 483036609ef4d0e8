//! `relayout view` in a terminal of a fixed size, which tmux draws.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use super::kept_folder::RunFolder;
use super::rows::{CommandWords, TerminalSize};

/// Longest time for a change of the screen.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time between two looks at the screen. Two equal ones in a row are a finished screen.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Keys by tmux's names, and a text that the screen then has.
const TOUR: [(&str, &str); 11] = [
    ("", " of "),
    ("s", "s by saving"),
    ("Enter", "n/p next/previous"),
    ("a", "Esc back"),
    ("Escape", "n/p next/previous"),
    ("n", "n/p next/previous"),
    ("Escape", "Enter details"),
    ("i", "up/down scroll"),
    ("Escape", "Enter details"),
    ("?", "Keys in the list"),
    ("q", "ended "),
];

/// Returns the screen after each step of the tour, by the number of the step and its key. A tour ends early where a
/// screen does not come, which its last screen tells.
///
/// # Errors
/// tmux cannot be started.
pub fn view_screens(
    run: &RunFolder<'_>,
    command: &CommandWords<'_>,
    size: TerminalSize,
) -> anyhow::Result<Vec<(String, String)>> {
    let terminal = DrawnTerminal::start(run, command, size)?;
    let mut screens = Vec::new();
    for (number, (key, awaited)) in TOUR.iter().enumerate() {
        if !key.is_empty() {
            terminal.tmux(&["send-keys", key])?;
        }
        let name = format!("{number:02}{key}");
        let Some(screen) = terminal.wait_for(awaited)? else {
            let last = terminal.tmux(&["capture-pane", "-p", "-e"])?;
            screens.push((name, format!("{last}\nnever shown: {awaited}\n")));
            break;
        };
        screens.push((name, screen));
    }
    Ok(screens)
}

/// A terminal that ends with the value.
struct DrawnTerminal<'r> {
    run: &'r RunFolder<'r>,
    variables: Vec<(&'r str, &'r str)>,
    /// Folder of the socket: the path of a socket is short.
    folder: tempfile::TempDir,
}

impl<'r> DrawnTerminal<'r> {
    fn start(
        run: &'r RunFolder<'r>,
        command: &CommandWords<'r>,
        size: TerminalSize,
    ) -> anyhow::Result<Self> {
        let terminal = Self {
            run,
            variables: command.variables.clone(),
            folder: tempfile::tempdir()?,
        };
        let script = format!(
            "'{}' {}; echo ended $?; sleep 1000",
            run.relayout_path().display(),
            command.words.join(" ")
        );
        let (columns, rows) = (size.columns.to_string(), size.rows.to_string());
        terminal.tmux(&["new-session", "-d", "-x", &columns, "-y", &rows, &script])?;
        Ok(terminal)
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("tmux")
    }

    /// Runs a command of tmux, and returns what it prints.
    fn tmux<S: AsRef<OsStr>>(&self, words: &[S]) -> anyhow::Result<String> {
        let mut command = self
            .run
            .program(Path::new("tmux"), self.variables.iter().copied());
        command
            .args(["-f", "/dev/null", "-S"])
            .arg(self.socket())
            .args(words);
        let ended = command
            .output()
            .context("cannot start tmux (package tmux)")?;
        let errors = String::from_utf8_lossy(&ended.stderr);
        ensure!(ended.status.success(), "tmux: {errors}");
        Ok(String::from_utf8_lossy(&ended.stdout).into_owned())
    }

    /// Waits until the screen has a text and stays as it is, and returns it. Returns None if the text never comes.
    fn wait_for(&self, awaited: &str) -> anyhow::Result<Option<String>> {
        let begun = Instant::now();
        let mut last = String::new();
        while begun.elapsed() < PATIENCE {
            sleep(LOOK_INTERVAL);
            // Colours are outputs, but stand between words.
            let screen = self.tmux(&["capture-pane", "-p", "-e"])?;
            if screen == last && self.tmux(&["capture-pane", "-p"])?.contains(awaited) {
                return Ok(Some(screen));
            }
            last = screen;
        }
        Ok(None)
    }
}

impl Drop for DrawnTerminal<'_> {
    fn drop(&mut self) {
        // The server ends; there is nobody to tell if it did so before.
        let _ = self.tmux(&["kill-server"]);
    }
}
