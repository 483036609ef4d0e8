//! Definitions of two files, matched: by name, and where a name has several by where they are
//! declared.

use rustc_hash::FxHashMap;

use super::shape::{Key, Shape};
use crate::SourceLine;

/// A definition in both files, or in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Match {
    /// Index of the old one.
    pub old: Option<usize>,
    /// Index of the new one.
    pub new: Option<usize>,
    /// Only their order says that they are one: their name has several definitions, and nothing
    /// says where they are declared.
    pub by_order: bool,
}

/// Matches all, in the order of the new file; what is only in the old one comes last.
pub(super) fn all(old: &[Shape], new: &[Shape]) -> Vec<Match> {
    let mut olds: FxHashMap<&Key, Vec<usize>> = FxHashMap::default();
    for (index, shape) in old.iter().enumerate() {
        olds.entry(&shape.key).or_default().push(index);
    }
    let mut news: FxHashMap<&Key, Vec<usize>> = FxHashMap::default();
    for (index, shape) in new.iter().enumerate() {
        news.entry(&shape.key).or_default().push(index);
    }
    let mut found: Vec<Match> = Vec::new();
    for (key, news) in news {
        let olds = olds.remove(key).unwrap_or_default();
        found.extend(of_one_name(old, new, &olds, &news));
    }
    let gone = olds.into_values().flatten();
    found.extend(gone.map(|index| Match {
        old: Some(index),
        new: None,
        by_order: false,
    }));
    found.sort_by_key(|found| (found.new.is_none(), found.new, found.old));
    found
}

fn of_one_name(old: &[Shape], new: &[Shape], olds: &[usize], news: &[usize]) -> Vec<Match> {
    if let ([old], [new]) = (olds, news) {
        return vec![both(*old, *new, false)];
    }
    let mut found = Vec::new();
    let mut olds = olds.to_vec();
    let mut news = news.to_vec();
    // From the surest sign to the weakest; each takes what it matches out of both lists.
    let signs: [fn(&Shape, &Shape) -> bool; 4] = [
        |old, new| same_place(old, new, true) && old.fingerprint == new.fingerprint,
        |old, new| same_place(old, new, true),
        |old, new| same_place(old, new, false),
        |old, new| unplaced(old, new) && old.fingerprint == new.fingerprint,
    ];
    for sign in signs {
        news.retain(|&index| {
            let at = olds
                .iter()
                .position(|other| sign(&old[*other], &new[index]));
            let Some(at) = at else { return true };
            found.push(both(olds.remove(at), index, false));
            false
        });
    }
    // Never two that are known to be declared in different files.
    news.retain(|&index| {
        let at = olds
            .iter()
            .position(|other| unplaced(&old[*other], &new[index]));
        let Some(at) = at else { return true };
        found.push(both(olds.remove(at), index, true));
        false
    });
    found.extend(news.into_iter().map(|index| Match {
        old: None,
        new: Some(index),
        by_order: false,
    }));
    found.extend(olds.into_iter().map(|index| Match {
        old: Some(index),
        new: None,
        by_order: false,
    }));
    found
}

fn both(old: usize, new: usize, by_order: bool) -> Match {
    Match {
        old: Some(old),
        new: Some(new),
        by_order,
    }
}

/// Declared in one file, and if asked at one line.
fn same_place(old: &Shape, new: &Shape, line: bool) -> bool {
    match (&old.decl, &new.decl) {
        (Some(old), Some(new)) => same_file(old, new) && (!line || old.line == new.line),
        _ => false,
    }
}

/// Whether one of the two does not say where it is declared.
fn unplaced(old: &Shape, new: &Shape) -> bool {
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
