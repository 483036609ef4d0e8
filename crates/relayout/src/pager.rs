//! A pager between the output and the terminal.

use std::env;
use std::io::{self, Write as _};
use std::process::{Child, Command, Stdio};

/// Pager that is used if the environment names none.
const PAGER_DEFAULT: &str = "less";
/// Options of less: end at once if the text fits on the screen, keep colours, leave the text on the screen.
const LESS_OPTIONS: &str = "FRX";

/// A running pager, which text is written to.
#[derive(Debug)]
pub struct Pager(Child);

impl Pager {
    /// Starts the user's pager; `None` if there is none, or none is wanted.
    pub fn start() -> Option<Self> {
        let command = pager_command(|name| env::var(name).ok())?;
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(&command).stdin(Stdio::piped());
        if env::var_os("LESS").is_none() {
            shell.env("LESS", LESS_OPTIONS);
        }
        let program = command.split_whitespace().next().unwrap_or_default();
        if !program.contains('/') && relayout_files::find_in_path(program).is_none() {
            return None;
        }
        let child = shell.spawn().ok()?;
        // Ctrl-C is for the pager, as long as it runs.
        relayout_files::leave_interrupts_to_child();
        Some(Self(child))
    }

    /// Writes a part of the text.
    ///
    /// # Errors
    /// A broken pipe where the user has left the pager.
    pub fn write(&mut self, text: &[u8]) -> io::Result<()> {
        let Some(stdin) = &mut self.0.stdin else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        stdin.write_all(text)
    }

    /// Ends the text, and waits until the user leaves the pager.
    pub fn finish(mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Returns the command of the pager; `None` if the user wants none.
fn pager_command(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let command = variable("RELAYOUT_PAGER")
        .or_else(|| variable("PAGER"))
        .unwrap_or_else(|| PAGER_DEFAULT.to_owned());
    let command = command.trim();
    (!command.is_empty() && command != "cat").then(|| command.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_variable_wins_and_nothing_or_cat_means_no_pager() {
        let check = |own: Option<&str>, pager: Option<&str>, expected: Option<&str>| {
            let command = pager_command(|name| match name {
                "RELAYOUT_PAGER" => own.map(str::to_owned),
                _ => pager.map(str::to_owned),
            });
            assert_eq!(command.as_deref(), expected);
        };
        check(None, None, Some("less"));
        check(None, Some("more -f"), Some("more -f"));
        check(Some("less -S"), Some("more"), Some("less -S"));
        check(Some(""), Some("more"), None);
        check(None, Some(" cat "), None);
    }
}
