//! `relayout view`: the report as a terminal application.

mod keys;
mod screen;

use std::io::{IsTerminal as _, stdin, stdout};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crossterm::event;
use relayout_advice::ProbedMachine;
use relayout_files::{InterruptFlag, wait_for_key};
use relayout_messages::UserError;
use relayout_report::view::{ReportView, ViewOutcome, ViewPalette};
use relayout_session::{ProfileCache, read_machine, read_source_file, verify_profile_path};

use crate::arguments;
use crate::exit::ExitStatus;
use crate::kept_advice::AdviceQuestion;
use crate::rendered_report;
use keys::{PressedKey, pressed_key};
use screen::TakenScreen;

const EXAMPLES: &str = "\
Examples:
  relayout view out.relayout
  relayout view out.relayout --source linux

The keys are in the bottom line, and ? shows all of them.";

/// Time after which a signal is noticed while no key is pressed.
const SIGNAL_DELAY_MAX: Duration = Duration::from_millis(200);

/// Browse the findings of a profile in the terminal
///
/// A list of findings that sorts, filters and searches, and the details of each: its line with the
/// members to scale, who invalidated it for whom, the code, and the advice.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Profile written by `relayout record`
    pub profile: PathBuf,
    /// Use this debug file (vmlinux, or the program) [default: the one recorded with]; may be given
    /// more than once, for shared libraries too, which are told by their build ids
    #[arg(long, value_name = "FILE")]
    pub debug: Vec<PathBuf>,
    /// Show the source lines around accesses, from this source tree
    #[arg(long, value_name = "DIR")]
    pub source: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// No terminal, or a profile or debug file that cannot be read or do not go together.
pub fn run(args: &Args) -> Result<ExitStatus, UserError> {
    verify_profile_path("view", &args.profile, &[])?;
    let profile = args.profile.display().to_string();
    for (name, is_terminal) in [
        ("output", stdout().is_terminal()),
        ("input", stdin().is_terminal()),
    ] {
        if !is_terminal {
            return Err(UserError::input(format!(
                "standard {name} is no terminal: `relayout report {profile}` prints the findings"
            )));
        }
    }
    arguments::verify_source(args.source.as_deref())?;
    let document = rendered_report::report_json(&args.profile, &args.debug)?;
    let palette = palette(std::env::var_os("TERM"), std::env::var_os("NO_COLOR"));
    let mut view = ReportView::from_json(&document, &profile, palette)?;
    drop(document);
    if args.source.is_some() {
        view.show_source();
    }
    let files = ViewFiles {
        tree: args.source.as_deref(),
        cache: ProfileCache::locate(&args.profile, &args.debug),
        machine: read_machine(None, None, None)?,
    };
    let interrupt = InterruptFlag::catch();
    let mut screen = TakenScreen::take().map_err(UserError::wrap("cannot use the terminal"))?;
    let ended = show_until_end(&mut view, &files, &mut screen, interrupt);
    drop(screen);
    ended.map_err(UserError::wrap("cannot use the terminal"))
}

/// Returns what the terminal can show, from `$TERM` and `$NO_COLOR`.
fn palette(term: Option<std::ffi::OsString>, no_color: Option<std::ffi::OsString>) -> ViewPalette {
    let term = term.unwrap_or_default();
    match (term.to_str(), no_color) {
        (Some("" | "dumb"), _) => ViewPalette::Plain,
        (_, Some(set)) if !set.is_empty() => ViewPalette::Attributes,
        (Some(name), _) if name.starts_with("vt") || name.ends_with("-m") => {
            ViewPalette::Attributes
        }
        _ => ViewPalette::Colours,
    }
}

/// Files that the view shows parts of.
struct ViewFiles<'a> {
    /// Source tree of the user.
    tree: Option<&'a Path>,
    cache: ProfileCache,
    /// Machine that advice is for unless the user names one.
    machine: ProbedMachine,
}

impl ViewFiles<'_> {
    /// Gives the view what it misses for its screen.
    fn complete(&self, view: &mut ReportView) {
        if let Some(tree) = self.tree {
            for name in view.missing_sources() {
                let source = read_source_file(&name, tree);
                view.add_source(name, source);
            }
        }
        if let Some(type_name) = view.missing_advice().map(str::to_owned) {
            let questions = AdviceQuestion::plain(&type_name, &self.machine);
            let text = { questions.iter() }.find_map(|question| self.cache.read(question));
            view.add_advice(&type_name, text);
        }
    }
}

/// Shows the view until the user quits, a signal arrives, or the terminal goes away.
fn show_until_end(
    view: &mut ReportView,
    files: &ViewFiles<'_>,
    screen: &mut TakenScreen,
    interrupt: InterruptFlag,
) -> std::io::Result<ExitStatus> {
    while !interrupt.is_set() {
        files.complete(view);
        screen.draw(view)?;
        // crossterm reads a terminal that has gone away for ever, so that it is asked only while there is one.
        while !event::poll(Duration::ZERO)? {
            let is_there = wait_for_key(&stdin(), SIGNAL_DELAY_MAX)?;
            if interrupt.is_set() || !is_there {
                return Ok(ExitStatus::Interrupted);
            }
        }
        // Keys that arrived meanwhile come before the next drawing, which a slow line may take long for.
        while !interrupt.is_set() && event::poll(Duration::ZERO)? {
            match pressed_key(&event::read()?) {
                Some(PressedKey::Interrupt) => return Ok(ExitStatus::Interrupted),
                Some(PressedKey::Redraw) => screen.clear()?,
                Some(PressedKey::View(key)) if view.update(key) == ViewOutcome::Quit => {
                    return Ok(ExitStatus::Done);
                }
                Some(PressedKey::View(_)) | None => {}
            }
        }
    }
    Ok(ExitStatus::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(term: &str, no_color: Option<&str>, expect: ViewPalette) {
        let found = palette(Some(term.into()), no_color.map(Into::into));
        assert_eq!(found, expect, "{term} {no_color:?}");
    }

    #[test]
    fn colours_are_for_terminals_that_have_them() {
        check("xterm-256color", None, ViewPalette::Colours);
        check("linux", Some(""), ViewPalette::Colours);
        check("xterm", Some("1"), ViewPalette::Attributes);
        check("vt100", None, ViewPalette::Attributes);
        check("xterm-mono-m", None, ViewPalette::Attributes);
        check("dumb", None, ViewPalette::Plain);
        check("", Some("1"), ViewPalette::Plain);
    }
}
