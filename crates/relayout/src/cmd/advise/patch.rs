//! The best candidate as an edit of the source.

use std::path::Path;

use anyhow::Context as _;
use relayout_layout::abi::Shape;
use relayout_patch::{Alignment, Change as Edit};
use relayout_search::{Change, Scored, Verdict};

use super::TypeAdvice;
use crate::input::Input;

/// Candidates whose edits are tried before giving up.
const TRIED_MAX: usize = 100;

/// What became of a patch.
pub enum Outcome {
    /// A unified diff.
    Diff {
        /// The candidate that it makes: index into [`Advice::candidates`](relayout_search::Advice).
        candidate: usize,
        /// The text.
        diff: String,
        /// Why it does not make the first candidate, if it does not.
        instead: Option<String>,
    },
    /// Not written, and why (for the first candidate).
    Refused(String),
}

impl Outcome {
    /// The diff, if there is one.
    pub fn diff(&self) -> Option<&str> {
        match self {
            Self::Diff { diff, .. } => Some(diff),
            Self::Refused(_) => None,
        }
    }
}

/// Writes the diffs to a file; false if there is none, and nothing was written.
pub fn save(patches: &[Option<Outcome>], path: &Path) -> anyhow::Result<bool> {
    let diffs = patches.iter().flatten().filter_map(Outcome::diff);
    let text: String = diffs.collect();
    if text.is_empty() {
        return Ok(false);
    }
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(true)
}

/// A patch for the best candidate, or else the next that can be edited: one with as few transfers,
/// or one on the front that is clearly better than today's layout; none that hurts another workload or
/// configuration. `None` where no candidate is left.
pub fn of_best(
    input: &Input<'_>,
    one: &TypeAdvice<'_>,
    source: &Path,
    top: usize,
) -> Option<Outcome> {
    let advice = one.outcome.as_ref().ok()?;
    if advice.verdict != Verdict::Better {
        return None;
    }
    let best = advice.candidates.first()?.tally.transfers();
    let kernel = input.profile.meta.target == "kernel";
    let line = kernel.then_some(u64::from(input.line_bytes));
    let better = |scored: &Scored| {
        let less = scored.interval.is_some_and(|interval| interval.is_less());
        scored.tally.transfers() == best || scored.pareto && less
    };
    let mut worth = (advice.candidates.iter().enumerate())
        .filter(|(index, scored)| better(scored) && one.candidate_is_harmless(top, *index))
        .take(TRIED_MAX)
        .peekable();
    if worth.peek().is_none() && !one.others.is_empty() {
        let why = "each layout that is clearly better hurts another workload or configuration";
        return Some(Outcome::Refused(why.to_owned()));
    }
    let mut instead = None;
    for (candidate, scored) in worth {
        match write(one, &scored.changes, source, line) {
            Ok(diff) => {
                return Some(Outcome::Diff {
                    candidate,
                    diff,
                    instead,
                });
            }
            Err(why) => instead = instead.or(Some(why)),
        }
    }
    instead.map(Outcome::Refused)
}

/// `kernel_line`: bytes of a line, if the source is the kernel's.
fn write(
    one: &TypeAdvice<'_>,
    changes: &[Change],
    source: &Path,
    kernel_line: Option<u64>,
) -> Result<String, String> {
    let decl = one.aggregate.decl.as_ref();
    let decl = decl.ok_or("the debug information does not say where it is declared")?;
    let edits: Result<Vec<Edit>, String> = changes
        .iter()
        .map(|change| edit(&one.shape, change, kernel_line))
        .collect();
    let edits = edits?;
    let candidates = relayout_patch::source_path_candidates(&decl.file);
    let found = candidates.iter().find(|path| source.join(path).is_file());
    let path = found.ok_or_else(|| format!("{} is not in {}", decl.file, source.display()))?;
    let old = std::fs::read_to_string(source.join(path)).map_err(|e| format!("{path}: {e}"))?;
    let new = relayout_patch::edit_struct(path, &old, &one.name, Some(decl.line), &edits)
        .map_err(|refusal| refusal.to_string())?;
    Ok(relayout_patch::unified_diff(path, &old, &new))
}

fn edit(shape: &Shape, change: &Change, kernel_line: Option<u64>) -> Result<Edit, String> {
    let alignment = |to: u64| match kernel_line {
        Some(line) if line == to => Alignment::Macro("____cacheline_aligned_in_smp".to_owned()),
        _ => Alignment::Bytes(u32::try_from(to).unwrap_or(u32::MAX)),
    };
    let single = |atom: usize| match &shape.atoms[atom].names[..] {
        [name] => Ok(name.clone()),
        names => Err(format!(
            "{} would have to move or align as one",
            names.join(", ")
        )),
    };
    match *change {
        Change::Move { atom, after } => {
            let last = |atom: usize| shape.atoms[atom].names.last().cloned();
            let after = match after {
                Some(after) => {
                    Some(last(after).ok_or("it would come after a member without a name")?)
                }
                None => None,
            };
            Ok(Edit::MoveMember {
                member: single(atom)?,
                after,
                reason: None,
            })
        }
        Change::AlignMember { atom, to } => Ok(Edit::AlignMember {
            member: single(atom)?,
            alignment: alignment(to),
            reason: None,
        }),
        Change::AlignType { to } => Ok(Edit::AlignType {
            alignment: alignment(to),
            reason: None,
        }),
        Change::Pad { .. } => Err("it adds a member".to_owned()),
    }
}
