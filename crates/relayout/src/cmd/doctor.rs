//! `relayout doctor`: what works here, and what to install.

use relayout_messages::{RecordingProgress as _, UserError};
use relayout_report::Document as _;
use relayout_report::documents::doctor::survey_document;
use relayout_report::text::doctor::survey_text;
use relayout_session::survey::survey_machine;

use crate::exit::ExitStatus;
use crate::print::print_text;
use crate::progress::TerminalProgress;

/// Say what recording and measuring need, what of it is here, and how to get the rest
///
/// Ends with 3 if neither a kernel nor a program can be recorded here.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON (schema relayout/doctor/1)
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// Standard output cannot be written to.
pub fn run(args: &Args) -> Result<ExitStatus, UserError> {
    let progress = TerminalProgress::when_slow();
    progress.step("trying compilers and QEMU");
    let survey = progress.finish_after(survey_machine());
    print_text(&match args.json {
        true => survey_document(&survey).to_json()?,
        false => survey_text(&survey),
    })?;
    Ok(match survey.can_record() {
        true => ExitStatus::Done,
        false => ExitStatus::Environment,
    })
}
