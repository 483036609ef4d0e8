//! `relayout completions`: scripts by which shells complete the command line.
//!
//! The script asks the command itself at each Tab, so that values complete too: workloads, kernels, types of the named
//! file.

use clap_complete::CompleteEnv;
use clap_complete::env::{EnvCompleter, Shells};
use relayout_messages::UserError;

use crate::exit::ExitStatus;
use crate::print::print_text;

/// Variable by which the script of a shell asks for completions.
const VARIABLE: &str = "RELAYOUT_COMPLETE";

const EXAMPLES: &str = "\
Examples:
  relayout completions bash > ~/.local/share/bash-completion/completions/relayout
  relayout completions zsh > ~/.zfunc/_relayout        (with ~/.zfunc in $fpath)
  relayout completions fish > ~/.config/fish/completions/relayout.fish";

/// Print a script for a shell by which it completes relayout's commands, options, workloads and types
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The shell
    shell: CompletedShell,
}

/// Shell whose command line is completed.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum CompletedShell {
    /// GNU Bash 4.0 or later
    Bash,
    /// Zsh
    Zsh,
    /// fish
    Fish,
    /// Elvish
    Elvish,
}

impl CompletedShell {
    fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Zsh => "zsh",
            Self::Fish => "fish",
            Self::Elvish => "elvish",
        }
    }

    fn completer(self) -> Option<&'static dyn EnvCompleter> {
        let shells: &[&'static dyn EnvCompleter] = Shells::builtins().0;
        shells.iter().copied().find(|shell| shell.is(self.name()))
    }
}

/// Runs the command. `root` is the definition of all commands.
///
/// # Errors
/// Standard output cannot be written to.
pub fn run(args: &Args, root: clap::Command) -> Result<ExitStatus, UserError> {
    let name = root.get_name();
    let mut script = Vec::new();
    if let Some(completer) = args.shell.completer() {
        completer.write_registration(VARIABLE, name, name, name, &mut script)?;
    }
    print_text(&String::from_utf8_lossy(&script))?;
    Ok(ExitStatus::Done)
}

/// Answers a shell that asks for completions, and ends the process; does nothing if none asks.
pub fn answer_shell(root: fn() -> clap::Command) {
    CompleteEnv::with_factory(root).var(VARIABLE).complete();
}
