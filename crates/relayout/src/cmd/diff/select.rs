//! Which types are loaded, and which are shown in what order.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::PathBuf;

use relayout_layout::close;
use relayout_layout::diff::{Diff, Key, Side, Status};

use super::hot::HotDiff;
use super::{Args, Sort, Wanted, growth};

/// A name that no type in either file has.
#[derive(Debug, thiserror::Error)]
#[error(
    "neither {} nor {} has a struct, union or class named `{name}`{}",
    old.display(), new.display(), close::sentence(close)
)]
pub struct UnknownType {
    old: PathBuf,
    new: PathBuf,
    name: String,
    close: Vec<String>,
}

/// Loads the types that were named, from both files.
pub(super) fn load(
    args: &Args,
    old: &mut Side<'_, '_>,
    new: &mut Side<'_, '_>,
) -> anyhow::Result<()> {
    for asked in &args.types {
        let in_old = load_one(old, asked)?;
        let in_new = load_one(new, asked)?;
        if !in_old && !in_new {
            let names = old.catalog().names().into_iter();
            let mut names: Vec<&str> = names.chain(new.catalog().names()).collect();
            names.sort_unstable();
            names.dedup();
            return Err(UnknownType {
                old: args.old.clone(),
                new: args.new.clone(),
                name: asked.clone(),
                close: close::names(names, bare(asked)),
            }
            .into());
        }
    }
    Ok(())
}

fn load_one(side: &mut Side<'_, '_>, asked: &str) -> anyhow::Result<bool> {
    if !asked.contains(['*', '?', ' ', ':', '<']) {
        return Ok(side.load_name(asked, |_| true)?);
    }
    let pattern = Key::last_name(bare(asked));
    let names = side.catalog().names().into_iter();
    let names: Vec<&str> = names
        .filter(|name| Key::name_fits(&pattern, name))
        .collect();
    let mut found = false;
    for name in names {
        found |= side.load_name(name, |key| key.is_meant_by(asked))?;
    }
    Ok(found)
}

/// Without `struct` and the like.
fn bare(asked: &str) -> &str {
    match asked.split_once(' ') {
        Some(("struct" | "class" | "union", name)) => name.trim(),
        _ => asked,
    }
}

/// The types to show, in order: indices in `Diff::types`.
///
/// `hot` has what a profile says of them, by the same indices.
pub(super) fn shown(
    args: &Args,
    diff: &Diff,
    asked: &[bool],
    hot: &BTreeMap<usize, HotDiff<'_>>,
) -> Vec<usize> {
    let named = |index: usize| !args.types.is_empty() && asked[index];
    let wanted = |index: &usize| {
        let each = &diff.types[*index];
        let status = match each.status {
            Status::Added => Wanted::Added,
            Status::Removed => Wanted::Removed,
            Status::Changed => Wanted::Changed,
            Status::Same => Wanted::Same,
        };
        let by_status = if args.status.is_empty() {
            each.status != Status::Same || args.all || named(*index)
        } else {
            args.status.contains(&status)
        };
        // Who holds a type that changed is said there, and not repeated a thousand times.
        let folded = each.status == Status::Changed && !each.own;
        let full = args.affected || args.json || named(*index) || hot.contains_key(index);
        by_status && (!folded || full)
    };
    let mut indices: Vec<usize> = (0..diff.types.len()).filter(wanted).collect();
    match args.sort {
        None => {}
        Some(Sort::Name) => {
            indices.sort_by_cached_key(|index| diff.shape(&diff.types[*index]).key.qualified());
        }
        Some(Sort::Size) => {
            indices.sort_by_key(|index| Reverse(growth(diff, *index).unsigned_abs()));
        }
        Some(Sort::Affects) => {
            indices.sort_by_cached_key(|index| Reverse(diff.affected(*index).len()));
        }
    }
    // Stable, so that the rest keeps its order.
    let transfers = |index: &usize| hot.get(index).map_or(0, |hot| hot.of.transfers);
    indices.sort_by_key(|index| Reverse(transfers(index)));
    indices
}
