//! Definitions of two files, matched: by name, and where a name has several by where they are
//! declared.
use relayout_layout::SourceLine;
use rustc_hash::FxHashMap;

use crate::shape::{TypeKey, TypeLayout};

/// A definition in both files, or in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DefinitionMatch {
    /// Index of the old one.
    pub old: Option<usize>,
    /// Index of the new one.
    pub new: Option<usize>,
    /// Only their order says that they are one: their name has several definitions, and nothing
    /// says where they are declared.
    pub by_order: bool,
}

/// Matches all, in the order of the new file; what is only in the old one comes last.
pub(super) fn match_definitions(old: &[TypeLayout], new: &[TypeLayout]) -> Vec<DefinitionMatch> {
    let mut olds: FxHashMap<&TypeKey, Vec<usize>> = FxHashMap::default();
    for (index, shape) in old.iter().enumerate() {
        olds.entry(&shape.key).or_default().push(index);
    }
    let mut news: FxHashMap<&TypeKey, Vec<usize>> = FxHashMap::default();
    for (index, shape) in new.iter().enumerate() {
        news.entry(&shape.key).or_default().push(index);
    }
    let mut matches: Vec<DefinitionMatch> = Vec::new();
    for (key, news) in news {
        let olds = olds.remove(key).unwrap_or_default();
        matches.extend(match_same_name(old, new, &olds, &news));
    }
    let gone = olds.into_values().flatten();
    matches.extend(gone.map(|index| DefinitionMatch {
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
    // From the surest sign to the weakest; each takes what it matches out of both lists.
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
    // Never two that are known to be declared in different files.
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

/// Declared in one file, and if asked at one line.
fn same_declaration(old: &TypeLayout, new: &TypeLayout, line: bool) -> bool {
    match (&old.decl, &new.decl) {
        (Some(old), Some(new)) => same_file(old, new) && (!line || old.line == new.line),
        _ => false,
    }
}

/// Whether one of the two does not say where it is declared.
fn lacks_declaration(old: &TypeLayout, new: &TypeLayout) -> bool {
    old.decl.is_none() || new.decl.is_none()
}

/// Whether one path ends with the other, so that builds in different folders compare.
fn same_file(old: &SourceLine, new: &SourceLine) -> bool {
    let parts = |file: &'_ str| -> Vec<String> {
        let parts = file.split('/').filter(|part| !matches!(*part, "" | "."));
        parts.map(str::to_owned).rev().collect()
    };
    let (old, new) = (parts(&old.file), parts(&new.file));
    let common = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    common > 0 && (common == old.len().min(new.len()) || common >= 2)
}
