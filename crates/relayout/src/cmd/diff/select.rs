//! Which types are loaded, and which are shown in what order.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::PathBuf;

use relayout_diff::{DiffSide, DiffStatus, LayoutDiff, TypeKey};
use relayout_layout::suggestions;

use super::hot::HotDiff;
use super::{Args, DiffSort, WantedStatus, growth};

/// A name that no type in either file has.
#[derive(Debug, thiserror::Error)]
#[error(
    "neither {} nor {} has a struct, union or class named `{name}`{}",
    old.display(), new.display(), suggestions::suggestion_suffix(close)
)]
pub struct UnknownComparedType {
    old: PathBuf,
    new: PathBuf,
    name: String,
    close: Vec<String>,
}

/// Loads the types that were named, from both files.
pub(super) fn load_named(
    args: &Args,
    old: &mut DiffSide<'_, '_>,
    new: &mut DiffSide<'_, '_>,
) -> anyhow::Result<()> {
    for asked in &args.types {
        let in_old = load_matching(old, asked)?;
        let in_new = load_matching(new, asked)?;
        if !in_old && !in_new {
            let names = old.catalog().type_names().into_iter();
            let mut names: Vec<&str> = names.chain(new.catalog().type_names()).collect();
            names.sort_unstable();
            names.dedup();
            return Err(UnknownComparedType {
                old: args.old.clone(),
                new: args.new.clone(),
                name: asked.clone(),
                close: suggestions::similar_names(names, bare_name(asked)),
            }
            .into());
        }
    }
    Ok(())
}

fn load_matching(side: &mut DiffSide<'_, '_>, asked: &str) -> anyhow::Result<bool> {
    if !asked.contains(['*', '?', ' ', ':', '<']) {
        return Ok(side.load_name(asked, |_| true)?);
    }
    let pattern = TypeKey::unscoped_name(bare_name(asked));
    let names = side.catalog().type_names().into_iter();
    let names: Vec<&str> = names
        .filter(|name| TypeKey::name_matches(&pattern, name))
        .collect();
    let mut found = false;
    for name in names {
        found |= side.load_name(name, |key| key.is_meant_by(asked))?;
    }
    Ok(found)
}

/// Without `struct` and the like.
fn bare_name(asked: &str) -> &str {
    match asked.split_once(' ') {
        Some(("struct" | "class" | "union", name)) => name.trim(),
        _ => asked,
    }
}

/// The types to show, in order: indices in `Diff::types`.
///
/// `hot` has what a profile says of them, by the same indices.
pub(super) fn select_shown(
    args: &Args,
    diff: &LayoutDiff,
    asked: &[bool],
    hot: &BTreeMap<usize, HotDiff<'_>>,
) -> Vec<usize> {
    let named = |index: usize| !args.types.is_empty() && asked[index];
    let wanted = |index: &usize| {
        let each = &diff.types[*index];
        let status = match each.status {
            DiffStatus::Added => WantedStatus::Added,
            DiffStatus::Removed => WantedStatus::Removed,
            DiffStatus::Changed => WantedStatus::Changed,
            DiffStatus::Same => WantedStatus::Same,
        };
        let by_status = if args.status.is_empty() {
            each.status != DiffStatus::Same || args.all || named(*index)
        } else {
            args.status.contains(&status)
        };
        // Who holds a type that changed is said there, and not repeated a thousand times.
        let folded = each.status == DiffStatus::Changed && !each.by_itself;
        let full = args.affected || args.json || named(*index) || hot.contains_key(index);
        by_status && (!folded || full)
    };
    let mut indices: Vec<usize> = (0..diff.types.len()).filter(wanted).collect();
    match args.sort {
        None => {}
        Some(DiffSort::Name) => {
            indices.sort_by_cached_key(|index| diff.layout(&diff.types[*index]).key.qualified());
        }
        Some(DiffSort::Size) => {
            indices.sort_by_key(|index| Reverse(growth(diff, *index).unsigned_abs()));
        }
        Some(DiffSort::Affects) => {
            indices.sort_by_cached_key(|index| Reverse(diff.affected_holders(*index).len()));
        }
    }
    // Stable, so that the rest keeps its order.
    let transfers = |index: &usize| hot.get(index).map_or(0, |hot| hot.hot_type.transfers);
    indices.sort_by_key(|index| Reverse(transfers(index)));
    indices
}
