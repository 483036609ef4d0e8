//! The best candidate as an edit of the source.

mod edits;
mod source_tree;
mod tree_files;

use std::path::Path;

use super::compile_test::CompileTest;

use relayout_advice::{
    AdvisedType, GuardableStore, LayoutChoice, LayoutPool, PoolLayout, RecommendationLimits,
    ResolvedProfile,
};
use relayout_patch::FileLine;
use relayout_search::{RankedLayout, Recommendation};
use source_tree::SourceTree;
pub(super) use tree_files::TreeFiles;

/// Outcome for a type with better candidates.
#[derive(Clone, Debug)]
pub enum PatchOutcome {
    /// A candidate was written as a patch.
    Diff(WrittenPatch),
    /// No candidate was written, with the reason for the best one.
    Refused(String),
}

impl PatchOutcome {
    /// True if a patch was written and a compile test failed.
    pub fn is_bad(&self) -> bool {
        matches!(self, Self::Diff(written) if written.is_bad())
    }
}

/// Configurations of the source in which a patch changes the layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchReach {
    /// All configurations.
    All,
    /// All, but a part of the patch is about members that only some configurations have.
    Partly,
    /// Some: the whole patch is about members that only some configurations have.
    Some,
}

impl PatchReach {
    /// Returns the reach of changes, each of which is about a conditional member or not.
    fn from_conditions(conditional: impl IntoIterator<Item = bool>) -> Self {
        let (mut is_any, mut is_all) = (false, true);
        for is_conditional in conditional {
            is_any |= is_conditional;
            is_all &= is_conditional;
        }
        match (is_any, is_all) {
            (false, _) => Self::All,
            (true, false) => Self::Partly,
            (true, true) => Self::Some,
        }
    }

    /// Returns a sentence for the reader of the patch, unless it reaches all configurations.
    pub fn sentence(self) -> Option<&'static str> {
        match self {
            Self::All => None,
            Self::Partly => Some(
                "Part of it is about members that only some configurations have; in others, only the \
                 rest is done.",
            ),
            Self::Some => Some(
                "It is about a member that only some configurations have; in others, lines stay as \
                 they are.",
            ),
        }
    }
}

/// A candidate as an edit of the source.
#[derive(Clone, Debug)]
pub struct EditedCandidate {
    /// The layout in its pool.
    pub layout: PoolLayout,
    /// True for a candidate with guarded stores.
    pub is_guarded: bool,
    /// Edited files, relative to the top of the tree; the first is the subject of the patch.
    pub paths: Vec<String>,
    /// Unified diff.
    pub diff: String,
    /// Configurations in which it changes the layout.
    pub reach: PatchReach,
    /// Comments of the source about cache lines that the new layout may make wrong.
    pub comments_to_review: Vec<CommentToReview>,
}

/// A comment about cache lines above a member that an edit places elsewhere. The edit adds no
/// comment of its own there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommentToReview {
    /// Member with another place.
    pub member: String,
    /// Beginning of the comment in the unedited file.
    pub place: FileLine,
}

impl EditedCandidate {
    /// Returns the layouts that it was chosen from.
    pub fn pool<'a>(&self, advised: &'a AdvisedType<'_>) -> Option<LayoutPool<'a>> {
        match self.is_guarded {
            true => advised.guarded_pool(),
            false => advised.unguarded_pool(),
        }
    }

    /// Returns the candidate that it makes.
    pub fn candidate<'a>(&self, advised: &'a AdvisedType<'_>) -> Option<&'a RankedLayout> {
        self.layout.ranked(self.pool(advised)?)
    }

    /// Returns the number of lines that the diff removes and adds.
    pub fn changed_lines(&self) -> usize {
        let is_changed = |line: &&str| {
            let is_header = line.starts_with("+++ ") || line.starts_with("--- ");
            line.starts_with(['+', '-']) && !is_header
        };
        self.diff.lines().filter(is_changed).count()
    }
}

/// An edit with the results of compiling it.
#[derive(Clone, Debug)]
pub struct WrittenPatch {
    /// Edit of the source.
    pub edited: EditedCandidate,
    /// Reason why it does not make the recommended candidate.
    pub instead_reason: Option<String>,
    /// Results of the compile tests.
    pub compile_tests: Vec<CompileTest>,
}

impl WrittenPatch {
    /// True if a compile test failed.
    pub fn is_bad(&self) -> bool {
        self.compile_tests.iter().any(CompileTest::is_bad)
    }
}

/// An edit, and the reason why it does not make the recommended candidate.
pub(super) struct ChosenEdit {
    pub edited: EditedCandidate,
    pub instead_reason: Option<String>,
}

/// Writes the chosen layout. If that is the recommended one, it may have guards, and the next that
/// can be edited takes its place if it cannot.
///
/// Returns `None` if no candidate is worth its edits, and an error with the reason if no candidate
/// can be edited.
pub(super) fn write_chosen_layout(
    resolved: &ResolvedProfile<'_>,
    advised: &AdvisedType<'_>,
    source: &Path,
    choice: LayoutChoice,
) -> Option<Result<ChosenEdit, String>> {
    let limits = advised.limits;
    let pool = advised.unguarded_pool()?;
    let tree = SourceTree::new(resolved, source);
    let layout = match choice {
        LayoutChoice::Recommended => return write_recommended(&tree, advised, pool, limits),
        LayoutChoice::NextRecommended(skipped) => {
            let recommended = pool.recommendations(limits);
            let left = recommended.get(skipped..).unwrap_or_default();
            return tree.write_first_editable(advised, pool, left, limits.top);
        }
        LayoutChoice::Given => PoolLayout::Given(0),
        LayoutChoice::Picked(number) => {
            let shown = pool.advice.shown_candidates(limits.top);
            match number.checked_sub(1).and_then(|place| shown.get(place)) {
                Some(index) => PoolLayout::Candidate(*index),
                None => return Some(Err(unknown_number_reason(number, shown.len()))),
            }
        }
    };
    let edited = tree.edit_layout(&advised.searched.gathered, pool, layout);
    Some(edited.map(|edited| ChosenEdit {
        edited,
        instead_reason: None,
    }))
}

fn unknown_number_reason(number: usize, count: usize) -> String {
    match count {
        0 => format!("there is no candidate {number}: none was found"),
        _ => format!("there is no candidate {number}: the candidates are 1 to {count}"),
    }
}

/// Writes the recommended candidate, with guards where those are clearly better.
fn write_recommended(
    tree: &SourceTree<'_>,
    advised: &AdvisedType<'_>,
    unguarded: LayoutPool<'_>,
    limits: RecommendationLimits,
) -> Option<Result<ChosenEdit, String>> {
    let mut guards_refused = None;
    if let Some((pool, recommended)) = advised.guarded_recommendations() {
        match tree.write_first_editable(advised, pool, &recommended, limits.top) {
            Some(Ok(chosen)) => return Some(Ok(chosen)),
            Some(Err(reason)) => guards_refused = Some(reason),
            None => guards_refused = hurts_scenario_reason(pool),
        }
    }
    let recommended: Vec<Recommendation> = unguarded.recommendations(limits);
    match tree.write_first_editable(advised, unguarded, &recommended, limits.top) {
        Some(Ok(chosen)) => Some(Ok(ChosenEdit {
            instead_reason: guards_refused.or(chosen.instead_reason),
            ..chosen
        })),
        Some(Err(reason)) => Some(Err(guards_refused.unwrap_or(reason))),
        None => guards_refused
            .or_else(|| {
                let is_worth_its_edits = !unguarded.unlimited_recommendations().is_empty();
                is_worth_its_edits.then(|| hurts_scenario_reason(unguarded))?
            })
            .map(Err),
    }
}

/// Returns the reason why none of a pool's candidates is written, if they were scored in other
/// scenarios.
fn hurts_scenario_reason(pool: LayoutPool<'_>) -> Option<String> {
    let guards: Vec<String> = pool
        .statements
        .iter()
        .map(GuardableStore::guard_words)
        .collect();
    let with_guards = match guards.is_empty() {
        true => String::new(),
        false => format!(" with \"{}\"", guards.join(", ")),
    };
    let hurts = "hurts another workload or configuration";
    { !pool.scenarios.is_empty() }
        .then(|| format!("each layout{with_guards} that is clearly better {hurts}"))
}
