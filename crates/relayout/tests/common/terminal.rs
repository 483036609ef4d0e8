//! A command in a terminal: tmux draws it, takes keys, and tells what is on the screen.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::Place;

/// Time for a change of the screen. A loaded machine may need most of it.
pub const DEADLINE: Duration = Duration::from_secs(120);
/// Time between two looks at the screen.
pub const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// A shell in a terminal of a size. It ends with the value.
pub struct Terminal<'p> {
    place: &'p Place,
    /// Socket of its tmux: one that ends may still have the socket of the one before.
    socket: PathBuf,
}

impl<'p> Terminal<'p> {
    /// Starts a shell script in a terminal. The script finds the command as `$relayout`; what the terminal shows stays
    /// after its end.
    #[track_caller]
    pub fn start(place: &'p Place, (columns, rows): (u16, u16), script: &str) -> Self {
        relayout_testkit::require_programs(&["tmux"]);
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let terminal = Self {
            place,
            socket: place.path(&format!("tmux-{number}")),
        };
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let script = format!(
            "relayout={}; {script}; sleep 1000",
            env!("CARGO_BIN_EXE_relayout")
        );
        terminal.tmux(&["new-session", "-d", "-x", &columns, "-y", &rows, &script]);
        terminal
    }

    /// Runs a command of tmux, and returns what it prints.
    #[track_caller]
    pub fn tmux(&self, arguments: &[&str]) -> String {
        let mut command: Command = self.place.command(Path::new("tmux"), &["-f", "/dev/null"]);
        command.arg("-S").arg(&self.socket).args(arguments);
        self.place.with_system(&mut command);
        command.env("LC_ALL", "C.UTF-8").env("SHELL", "/bin/sh");
        let ended = self.place.ended(&mut command);
        assert_eq!(ended.code, Some(0), "tmux {arguments:?}: {ended:?}");
        ended.stdout
    }

    /// Presses keys, by tmux's names.
    #[track_caller]
    pub fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    #[track_caller]
    pub fn resize(&self, (columns, rows): (u16, u16)) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.tmux(&["resize-window", "-x", &columns, "-y", &rows]);
    }

    /// Returns the text on the screen.
    #[track_caller]
    pub fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Waits until the screen is as wanted, and returns it.
    #[track_caller]
    pub fn wait_until(&self, is_wanted: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let screen = self.screen();
            if is_wanted(&screen) {
                return screen;
            }
            assert!(begun.elapsed() < DEADLINE, "still on the screen:\n{screen}");
            std::thread::sleep(LOOK_INTERVAL);
        }
    }

    /// Waits until the screen has a text, and returns it.
    #[track_caller]
    pub fn wait_for(&self, text: &str) -> String {
        self.wait_until(|screen| screen.contains(text))
    }

    /// Returns the number of the process that the shell runs.
    #[track_caller]
    pub fn child(&self) -> i32 {
        let shell = self.tmux(&["display-message", "-p", "#{pane_pid}"]);
        let shell = shell.trim();
        let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children"));
        let children = children.unwrap();
        children.split_whitespace().next().unwrap().parse().unwrap()
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        let mut command = self.place.command(Path::new("tmux"), &["-S"]);
        command.arg(&self.socket).arg("kill-server");
        self.place.with_system(&mut command);
        let _ = command.output();
    }
}
