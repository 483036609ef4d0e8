//! `relayout fleet pays`

use std::path::PathBuf;

use relayout_fleet::FleetError;
use relayout_fleet::questions::{PayingLayouts, score_over_recordings};

use super::output::{QuestionArgs, SelectionArgs};
use super::progress::LineProgress;

/// Score a layout of a type over all recordings that can replay it
///
/// Each profile with transfers on the type is read where it was when it was added, and replayed as by `relayout what-if`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub question: QuestionArgs,
    /// Struct to lay out
    #[arg(value_name = "TYPE")]
    pub type_name: String,
    /// Score this layout, as `relayout what-if --layout` takes it; may be given more than once
    #[arg(long, value_name = "FILE", required = true)]
    pub layout: Vec<PathBuf>,
    /// Use this debug file (vmlinux, or the program) [default: the one recorded with]; may be given more than once
    #[arg(long, value_name = "FILE")]
    pub debug: Vec<PathBuf>,
    #[command(flatten)]
    pub selection: SelectionArgs,
}

/// Runs the command.
///
/// # Errors
/// The data set or a layout cannot be read, nothing has the type, or no profile can be replayed.
pub async fn run(args: &Args) -> Result<(), FleetError> {
    let engine = args.question.open().await?;
    let layouts = PayingLayouts {
        type_name: args.type_name.clone(),
        files: args.layout.clone(),
        debug: args.debug.clone(),
    };
    let progress = LineProgress::start();
    let selection = args.selection.selection();
    let answer = score_over_recordings(&engine, &layouts, &selection, &progress).await;
    progress.clear();
    args.question.print(&engine, &answer?)
}
