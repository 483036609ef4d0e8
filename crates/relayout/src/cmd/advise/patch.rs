//! The best candidate as an edit of the source.

mod edits;
mod save;
mod tree;

use std::path::Path;

use relayout_search::{AdviceVerdict, RankedLayout};

use super::TypeAdvice;
use super::check::GuardableStore;
use super::compiled::CompileTest;
use super::others::LayoutPool;
use crate::resolved::ResolvedProfile;

pub use save::{SavedPatches, rejected_path, save_patches, save_script};
use tree::SourceTree;

/// What became of a patch.
pub enum PatchOutcome {
    /// Written.
    Diff(WrittenPatch),
    /// Not written, and why (for the first candidate).
    Refused(String),
}

impl PatchOutcome {
    /// Whether it was written and is bad.
    pub fn is_bad(&self) -> bool {
        matches!(self, Self::Diff(written) if written.is_bad())
    }
}

/// In which configurations of the source a patch changes the layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchReach {
    /// In all.
    All,
    /// Part of it is about members that are there only in some configurations.
    Partly,
    /// All of it is.
    Some,
}

impl PatchReach {
    /// Of changes, each of which is about a conditional member, or not.
    fn from_conditions(conditional: impl IntoIterator<Item = bool>) -> Self {
        let (mut any_conditional, mut all_conditional) = (false, true);
        for is_conditional in conditional {
            (any_conditional, all_conditional) = (
                any_conditional | is_conditional,
                all_conditional & is_conditional,
            );
        }
        match (any_conditional, all_conditional) {
            (false, _) => Self::All,
            (true, false) => Self::Partly,
            (true, true) => Self::Some,
        }
    }

    /// What a reader of the patch has to know.
    pub fn sentence(self) -> Option<&'static str> {
        match self {
            Self::All => None,
            Self::Partly => Some(
                "Part of it is about members that are there only in some configurations; in others, only the rest is done.",
            ),
            Self::Some => Some(
                "It is about a member that is there only in some configurations; in others, lines stay as they are.",
            ),
        }
    }
}

/// A candidate as an edit of the source.
pub struct WrittenPatch {
    /// The candidate that it makes: index into those of [`pool`](Self::pool).
    pub candidate_index: usize,
    /// Whether it is one with checks before stores.
    pub guarded: bool,
    /// The files that it edits, from the top of the tree; the first is the one that it is about.
    pub paths: Vec<String>,
    /// A unified diff.
    pub diff: String,
    /// Where it changes something.
    pub reach: PatchReach,
    /// Why it does not make the best candidate, if it does not.
    pub instead_reason: Option<String>,
    /// What came of compiling it.
    pub compile_tests: Vec<CompileTest>,
}

impl WrittenPatch {
    /// What it was chosen from.
    pub fn candidate_pool<'a>(&self, type_advice: &'a TypeAdvice<'_>) -> Option<LayoutPool<'a>> {
        match self.guarded {
            true => Some(type_advice.guard_advice.as_ref()?.candidate_pool()),
            false => type_advice.unguarded_pool(),
        }
    }

    /// The candidate that it makes.
    pub fn scored_candidate<'a>(
        &self,
        type_advice: &'a TypeAdvice<'_>,
    ) -> Option<&'a RankedLayout> {
        self.candidate_pool(type_advice)?
            .advice
            .candidates
            .get(self.candidate_index)
    }

    /// Whether it does not compile somewhere, or not to the layout that it should.
    pub fn is_bad(&self) -> bool {
        self.compile_tests.iter().any(CompileTest::is_bad)
    }
}

/// A patch for the best candidate, with checks before stores where that is clearly better; or else the next
/// that can be edited. `None` where no candidate is left.
pub fn write_best_patch(
    input: &ResolvedProfile<'_>,
    type_advice: &TypeAdvice<'_>,
    source: &Path,
    top: usize,
) -> Option<PatchOutcome> {
    let unguarded = type_advice.unguarded_pool()?;
    let tree = SourceTree::new(input, source);
    let mut instead_reason = None;
    if let Some(guard_advice) = type_advice.better_guards() {
        let pool = guard_advice.candidate_pool();
        // The next best with the checks may be behind the best without them.
        let least_cost =
            { unguarded.advice.candidates.first() }.map_or(u64::MAX, RankedLayout::ranked_cost);
        let is_allowed = |index: usize| {
            let is_cheaper = pool.advice.candidates[index].ranked_cost() < least_cost;
            is_cheaper && pool.is_harmless(top, index)
        };
        match tree.write_first_editable(type_advice, pool, is_allowed) {
            Some(Ok(written)) => return Some(PatchOutcome::Diff(written)),
            Some(Err(reason)) => instead_reason = Some(reason),
            None => instead_reason = hurts_scenario_reason(pool),
        }
    }
    let first_editable = match unguarded.advice.verdict {
        AdviceVerdict::Better => tree.write_first_editable(type_advice, unguarded, |index| {
            unguarded.is_harmless(top, index)
        }),
        _ => None,
    };
    match first_editable {
        Some(Ok(written)) => Some(PatchOutcome::Diff(WrittenPatch {
            instead_reason: instead_reason.or(written.instead_reason),
            ..written
        })),
        Some(Err(reason)) => Some(PatchOutcome::Refused(instead_reason.unwrap_or(reason))),
        None if unguarded.advice.verdict == AdviceVerdict::Better => instead_reason
            .or(hurts_scenario_reason(unguarded))
            .map(PatchOutcome::Refused),
        None => instead_reason.map(PatchOutcome::Refused),
    }
}

/// Why none of a pool's candidates is written, if they were scored elsewhere.
fn hurts_scenario_reason(pool: LayoutPool<'_>) -> Option<String> {
    let checks: Vec<String> = pool
        .guarded_statements
        .iter()
        .map(GuardableStore::guard_words)
        .collect();
    let with_guards = match checks.is_empty() {
        true => String::new(),
        false => format!(" with \"{}\"", checks.join(", ")),
    };
    let hurts = "hurts another workload or configuration";
    { !pool.scenarios.is_empty() }
        .then(|| format!("each layout{with_guards} that is clearly better {hurts}"))
}
