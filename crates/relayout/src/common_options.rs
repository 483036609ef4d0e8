//! Options of every command: colours, silence, the pager.

use std::ffi::OsString;
use std::io::{IsTerminal, stderr, stdout};

use clap::ValueEnum as _;

use crate::print::OutputSettings;

/// Options that every command takes.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Everywhere")]
pub struct CommonOptions {
    /// Colour the text: `auto` does on a terminal, unless $NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t = ColorWhen::Auto,
          hide_possible_values = true, help = "Colour the text: auto, always or never [default: auto]; \
          auto does on a terminal, unless $NO_COLOR is set", hide_default_value = true)]
    pub color: ColorWhen,
    /// Say less: results, warnings and errors only
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Print long text to the terminal without a pager ($RELAYOUT_PAGER, $PAGER or less)
    #[arg(long, global = true)]
    pub no_pager: bool,
}

/// Condition for colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ColorWhen {
    /// On a terminal, unless the environment asks for none.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl ColorWhen {
    /// Finds the option among the words of a command line that is not parsed yet, so that errors of parsing and help
    /// obey it too.
    pub fn find(words: &[OsString]) -> Self {
        let texts = words.iter().map(|word| word.to_str().unwrap_or_default());
        let mut texts = texts.take_while(|&word| word != "--");
        while let Some(word) = texts.next() {
            let value = match word.strip_prefix("--color") {
                Some("") => texts.next(),
                Some(rest) => rest.strip_prefix('='),
                None => None,
            };
            if let Some(when) = value.and_then(|value| Self::from_str(value, true).ok()) {
                return when;
            }
        }
        Self::Auto
    }

    /// Returns the choice of clap for its help and its errors.
    pub fn for_clap(self) -> clap::ColorChoice {
        match self {
            Self::Auto => clap::ColorChoice::Auto,
            Self::Always => clap::ColorChoice::Always,
            Self::Never => clap::ColorChoice::Never,
        }
    }

    fn applies_to(self, is_terminal: bool) -> bool {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        match self {
            Self::Auto => is_terminal && !is_dumb && !is_set("NO_COLOR"),
            Self::Always => true,
            Self::Never => false,
        }
    }
}

impl CommonOptions {
    /// Returns how to print, with a pager only if `is_long` says that the command prints long text.
    pub fn output_settings(&self, is_long: bool) -> OutputSettings {
        let is_terminal = stdout().is_terminal();
        OutputSettings {
            quiet: self.quiet,
            colored: self.color.applies_to(is_terminal),
            colored_notes: self.color.applies_to(stderr().is_terminal()),
            paged: is_long && is_terminal && !self.no_pager,
            error_documents: false,
        }
    }
}
