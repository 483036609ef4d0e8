//! Matching of the definitions of two files: by name, and among several of one name by their place
//! of declaration.

use relayout_layout::SourceLine;
use rustc_hash::FxHashMap;

use crate::type_layout::{TypeKey, TypeLayout};

/// Definition that is in both files or in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DefinitionMatch {
    /// Index of the old definition.
    pub old: Option<usize>,
    /// Index of the new definition.
    pub new: Option<usize>,
    /// Matched by order alone: the name has several definitions, and debug information does not
    /// tell their places of declaration.
    pub by_order: bool,
}

/// Matches all definitions in the order of the new file; definitions of the old file alone come
/// last.
pub(super) fn match_definitions(old: &[TypeLayout], new: &[TypeLayout]) -> Vec<DefinitionMatch> {
    let mut olds: FxHashMap<&TypeKey, Vec<usize>> = FxHashMap::default();
    for (index, layout) in old.iter().enumerate() {
        olds.entry(&layout.key).or_default().push(index);
    }
    let mut news: FxHashMap<&TypeKey, Vec<usize>> = FxHashMap::default();
    for (index, layout) in new.iter().enumerate() {
        news.entry(&layout.key).or_default().push(index);
    }
    let mut matches: Vec<DefinitionMatch> = Vec::new();
    for (key, news) in news {
        let olds = olds.remove(key).unwrap_or_default();
        matches.extend(match_same_name(old, new, &olds, &news));
    }
    let removed = olds.into_values().flatten();
    matches.extend(removed.map(|index| DefinitionMatch {
        old: Some(index),
        new: None,
        by_order: false,
    }));
    matches.sort_by_key(|matched| (matched.new.is_none(), matched.new, matched.old));
    matches
}

fn match_same_name(
    old: &[TypeLayout],
    new: &[TypeLayout],
    olds: &[usize],
    news: &[usize],
) -> Vec<DefinitionMatch> {
    if let ([old], [new]) = (olds, news) {
        return vec![matched_pair(*old, *new, false)];
    }
    let mut matches = Vec::new();
    let mut olds = olds.to_vec();
    let mut news = news.to_vec();
    // Signs from the strongest to the weakest. Each removes its matches from both lists.
    let signs: [fn(&TypeLayout, &TypeLayout) -> bool; 4] = [
        |old, new| same_declaration(old, new, true) && old.fingerprint == new.fingerprint,
        |old, new| same_declaration(old, new, true),
        |old, new| same_declaration(old, new, false),
        |old, new| lacks_declaration(old, new) && old.fingerprint == new.fingerprint,
    ];
    for sign in signs {
        news.retain(|&index| {
            let at = olds
                .iter()
                .position(|other| sign(&old[*other], &new[index]));
            let Some(at) = at else { return true };
            matches.push(matched_pair(olds.remove(at), index, false));
            false
        });
    }
    // Two definitions that are declared in different files never match.
    news.retain(|&index| {
        let at = olds
            .iter()
            .position(|other| lacks_declaration(&old[*other], &new[index]));
        let Some(at) = at else { return true };
        matches.push(matched_pair(olds.remove(at), index, true));
        false
    });
    matches.extend(news.into_iter().map(|index| DefinitionMatch {
        old: None,
        new: Some(index),
        by_order: false,
    }));
    matches.extend(olds.into_iter().map(|index| DefinitionMatch {
        old: Some(index),
        new: None,
        by_order: false,
    }));
    matches
}

fn matched_pair(old: usize, new: usize, by_order: bool) -> DefinitionMatch {
    DefinitionMatch {
        old: Some(old),
        new: Some(new),
        by_order,
    }
}

/// Returns true if both are declared in the same file and, if `line` is set, at the same line.
fn same_declaration(old: &TypeLayout, new: &TypeLayout, line: bool) -> bool {
    match (&old.decl, &new.decl) {
        (Some(old), Some(new)) => same_file(old, new) && (!line || old.line == new.line),
        _ => false,
    }
}

/// Returns true if one of the two has no place of declaration.
fn lacks_declaration(old: &TypeLayout, new: &TypeLayout) -> bool {
    old.decl.is_none() || new.decl.is_none()
}

/// Returns true if one path ends with the other. Builds in different folders differ in the
/// beginning.
fn same_file(old: &SourceLine, new: &SourceLine) -> bool {
    let parts = |file: &'_ str| -> Vec<String> {
        let parts = file.split('/').filter(|part| !matches!(*part, "" | "."));
        parts.map(str::to_owned).rev().collect()
    };
    let (old, new) = (parts(&old.file), parts(&new.file));
    let common = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    common > 0 && (common == old.len().min(new.len()) || common >= 2)
}
