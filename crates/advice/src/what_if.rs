//! Layouts that the user asks about, scored and predicted without a search.

use relayout_messages::UserError;
use relayout_search::Options;

use super::gains::predict_gains;
use super::layout_edits::LayoutEdits;
use super::layout_files::{LayoutFile, fit_layout_files};
use super::searched::{SearchedType, score_layouts};
use crate::{ProbedMachine, ResolvedProfile};

/// Scores the layouts in `files` and the one that `edits` make of today's for the struct `name`, and
/// predicts their gains; nothing else is searched. Also returns sentences that say why there is no
/// prediction.
///
/// # Errors
/// The profile has no object of the struct, a file does not describe a layout of it, or an edit
/// names no member.
pub fn score_given_layouts<'a>(
    resolved: &ResolvedProfile<'a>,
    name: &str,
    files: &[LayoutFile],
    edits: &LayoutEdits,
    machine: &ProbedMachine,
) -> Result<(SearchedType<'a>, Vec<String>), UserError> {
    let options = Options {
        budget_accesses: 0,
        intervals: 0,
        pair_coefficient: machine.pair_coefficient,
        ..Options::default()
    };
    let mut searched = score_layouts(resolved, name, &options, |shape| {
        let mut layouts = fit_layout_files(resolved, shape, files)?;
        if !edits.is_empty() {
            layouts.push(edits.apply(shape)?);
        }
        Ok::<_, UserError>(layouts)
    })?;
    let mut notes: Vec<String> = machine.missing_note(resolved.profile).into_iter().collect();
    notes.extend(predict_gains(resolved, &mut searched, None, machine, 0));
    Ok((searched, notes))
}
