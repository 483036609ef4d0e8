//! Types to load, and types to show.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use relayout_diff::{DiffSide, DiffStatus, LayoutDiff};
use relayout_layout::TypePattern;
use relayout_messages::UserError;

use super::hot::HotDiff;
use super::{DiffRequest, size_growth};

/// Types to show, and their order.
#[derive(Clone, Debug, Default)]
pub struct DiffSelection {
    /// Shows types without differences too.
    pub unchanged: bool,
    /// Shows types too that changed only because of a type that they hold.
    pub affected: bool,
    /// Shows only types of these statuses; empty for no limit.
    pub statuses: Vec<DiffStatus>,
    /// Order; `None` for that of the new build, followed by removed types. Hot types come first in
    /// any order.
    pub order: Option<TypeOrder>,
}

/// Order of the types of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeOrder {
    /// By name.
    Name,
    /// Largest change of size first.
    Growth,
    /// Largest number of types that hold it first.
    Holders,
}

/// Loads the named types of both builds.
pub(super) fn load_named(
    request: &DiffRequest,
    old: &mut DiffSide<'_, '_>,
    new: &mut DiffSide<'_, '_>,
) -> Result<(), UserError> {
    for asked in &request.types {
        let pattern = TypePattern::parse(asked).map_err(UserError::input)?;
        let has_scope = pattern.components().len() > 1;
        let mut in_old = old.load_matching(&pattern, has_scope)?;
        let mut in_new = new.load_matching(&pattern, has_scope)?;
        if !in_old && !in_new && !pattern.is_open() {
            // Only a copy has this name.
            in_old = old.load_matching(&pattern, true)?;
            in_new = new.load_matching(&pattern, true)?;
        }
        if !in_old && !in_new {
            let mut names: Vec<&str> = old
                .catalog()
                .type_names()
                .into_iter()
                .chain(new.catalog().type_names())
                .collect();
            names.sort_unstable();
            names.dedup();
            let similar = pattern.similar_definitions(names);
            let message = format!(
                "neither {} nor {} has a struct, union or class named `{asked}`",
                request.old.display(),
                request.new.display()
            );
            return Err(UserError::unknown_name(message, &similar, None));
        }
    }
    Ok(())
}

/// Returns the types to show, in order: indices in [`LayoutDiff::types`]. `asked` and `hot` have
/// the same indices.
pub(super) fn select_shown(
    request: &DiffRequest,
    diff: &LayoutDiff,
    asked: &[bool],
    hot: &BTreeMap<usize, HotDiff>,
) -> Vec<usize> {
    let selection = &request.selection;
    let named = |index: usize| !request.types.is_empty() && asked[index];
    let is_shown = |index: &usize| {
        let type_diff = &diff.types[*index];
        let by_status = if selection.statuses.is_empty() {
            type_diff.status != DiffStatus::Same || selection.unchanged || named(*index)
        } else {
            selection.statuses.contains(&type_diff.status)
        };
        // The changed type lists its holders, which would be repeated a thousand times.
        let is_holder = type_diff.status == DiffStatus::Changed && !type_diff.by_itself;
        let shows_holders = selection.affected || named(*index) || hot.contains_key(index);
        by_status && (!is_holder || shows_holders)
    };
    let mut indices: Vec<usize> = (0..diff.types.len()).filter(is_shown).collect();
    match selection.order {
        None => {}
        Some(TypeOrder::Name) => {
            indices.sort_by_cached_key(|index| diff.layout(&diff.types[*index]).key.qualified());
        }
        Some(TypeOrder::Growth) => {
            indices.sort_by_key(|index| Reverse(size_growth(diff, *index).unsigned_abs()));
        }
        Some(TypeOrder::Holders) => {
            indices.sort_by_cached_key(|index| Reverse(diff.affected_holders(*index).len()));
        }
    }
    // Stable, so that the rest keeps its order.
    let transfers = |index: &usize| hot.get(index).map_or(0, |hot| hot.transfers);
    indices.sort_by_key(|index| Reverse(transfers(index)));
    indices
}
