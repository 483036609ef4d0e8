//! A candidate as edits of the files of a source tree.

use std::path::Path;

use relayout_patch::{EditRefusal, conditional_members, edit_struct, guard_store, unified_diff};
use relayout_search::{LayoutAdvice, LayoutChange, RankedLayout};

use super::super::TypeAdvice;
use super::super::check::GuardableStore;
use super::super::others::LayoutPool;
use super::super::text::lines;
use super::edits::struct_edits;
use super::{PatchReach, WrittenPatch};
use crate::resolved::ResolvedProfile;

/// Candidates whose edits are tried before giving up.
const CANDIDATES_TRIED_MAX: usize = 100;

/// Why a candidate is passed over for one that is as good.
const CONDITIONAL_REASON: &str = "it is about a member that is there only in some configurations";

/// Whether it costs no more transfers, upgrades and memory than another.
fn is_as_good(scored: &RankedLayout, other: &RankedLayout) -> bool {
    scored.ranked_cost() <= other.ranked_cost()
        && scored.tally.upgrades <= other.tally.upgrades
        && scored.memory.bytes_per_object <= other.memory.bytes_per_object
}

/// Why the check stands there, in the source.
const GUARD_COMMENT: &str = "A store of the same value would take the line from its readers.";

/// A source tree to write patches against.
pub struct SourceTree<'a> {
    input: &'a ResolvedProfile<'a>,
    source: &'a Path,
    /// Bytes of a line, if it is the kernel's.
    kernel_line: Option<u64>,
}

impl<'a> SourceTree<'a> {
    pub fn new(input: &'a ResolvedProfile<'_>, source: &'a Path) -> Self {
        let kernel = input.profile.meta.target == "kernel";
        Self {
            input,
            source,
            kernel_line: kernel.then_some(u64::from(input.line_bytes)),
        }
    }

    /// The first candidate that can be edited: one with as few transfers as the best, or one on the front
    /// that is clearly better than today's layout, if it is `allowed`. If it helps in some configurations
    /// only, one that is as good and helps in all is taken instead. Why the first cannot be edited, where none
    /// can; `None` where there is none.
    pub fn write_first_editable(
        &self,
        type_advice: &TypeAdvice<'_>,
        LayoutPool {
            advice,
            guarded_statements: checked,
            ..
        }: LayoutPool<'_>,
        is_allowed: impl Fn(usize) -> bool,
    ) -> Option<Result<WrittenPatch, String>> {
        let fewest_transfers = advice.candidates.first()?.tally.transfers();
        let is_better = |scored: &RankedLayout| {
            let is_less = scored.interval.is_some_and(|interval| interval.is_less());
            scored.tally.transfers() == fewest_transfers || scored.pareto && is_less
        };
        let worth_trying = (advice.candidates.iter().enumerate())
            .filter(|(index, scored)| is_better(scored) && is_allowed(*index))
            .take(CANDIDATES_TRIED_MAX);
        let (mut refusal, mut conditional_patch) = (None, None::<(WrittenPatch, &RankedLayout)>);
        for (candidate, scored) in worth_trying {
            if let Some((_, conditional_candidate)) = conditional_patch
                && !is_as_good(scored, conditional_candidate)
            {
                continue;
            }
            match self.write_candidate(type_advice, advice, candidate, checked) {
                Ok(written) if written.reach == PatchReach::All => {
                    let passed_over_reason =
                        conditional_patch.map(|_| CONDITIONAL_REASON.to_owned());
                    let instead_reason = refusal.or(passed_over_reason);
                    return Some(Ok(WrittenPatch {
                        instead_reason,
                        ..written
                    }));
                }
                Ok(written) => conditional_patch = conditional_patch.or(Some((written, scored))),
                Err(reason) => refusal = refusal.or(Some(reason)),
            }
        }
        match conditional_patch {
            Some((written, _)) => Some(Ok(WrittenPatch {
                instead_reason: refusal,
                ..written
            })),
            None => refusal.map(Err),
        }
    }

    /// A candidate as an edit, with these checks before stores.
    fn write_candidate(
        &self,
        type_advice: &TypeAdvice<'_>,
        advice: &LayoutAdvice,
        candidate_index: usize,
        guarded_statements: &[GuardableStore],
    ) -> Result<WrittenPatch, String> {
        let scored = &advice.candidates[candidate_index];
        let mut files: Vec<EditedFile> = Vec::new();
        for statement in guarded_statements {
            let file = self.open_source_file(&mut files, &statement.file)?;
            if !is_unit(&file.path) {
                return Err(format!(
                    "{}: a header has the store to {}, and all that include it would get the check",
                    statement.source_position(),
                    statement.member
                ));
            }
            files.push(file.apply_edit(statement.line, |file, line| {
                guard_store(
                    &file.path,
                    &file.new,
                    line,
                    &statement.member,
                    Some(GUARD_COMMENT),
                )
            })?);
        }
        let mut reach = PatchReach::All;
        if !scored.changes.is_empty() {
            let declaration = type_advice.aggregate.decl.as_ref();
            let decl =
                declaration.ok_or("the debug information does not say where it is declared")?;
            let reason = |atom: usize| {
                let name = &type_advice.shape.atoms[atom].name;
                lines::placement_reason(type_advice, advice, scored, self.input.line_bytes, name)
            };
            let edits = struct_edits(type_advice, &scored.changes, self.kernel_line, &reason)?;
            let file = self.open_source_file(&mut files, &decl.file)?;
            let edited = file.apply_edit(decl.line, |file, line| {
                reach = patch_reach(type_advice, &scored.changes, file, line)?;
                edit_struct(&file.path, &file.new, &type_advice.name, Some(line), &edits)
            })?;
            files.insert(0, edited);
        }
        let diffs = { files.iter() }.map(|file| unified_diff(&file.path, &file.old, &file.new));
        Ok(WrittenPatch {
            candidate_index,
            guarded: scored.guarded,
            diff: diffs.collect(),
            paths: files.into_iter().map(|file| file.path).collect(),
            reach,
            instead_reason: None,
            compile_tests: Vec::new(),
        })
    }

    /// The file that the debug information calls `name`: out of `files`, or as it is in the tree.
    fn open_source_file(
        &self,
        files: &mut Vec<EditedFile>,
        name: &str,
    ) -> Result<EditedFile, String> {
        let candidates = relayout_patch::source_path_candidates(name);
        let mut candidates = candidates.into_iter();
        let path = candidates
            .find(|path| self.source.join(path).is_file())
            .ok_or_else(|| format!("{name} is not in {}", self.source.display()))?;
        if let Some(open_index) = files.iter().position(|known| known.path == path) {
            return Ok(files.remove(open_index));
        }
        let old = std::fs::read_to_string(self.source.join(&path));
        let old = old.map_err(|error| format!("{path}: {error}"))?;
        let new = old.clone();
        Ok(EditedFile {
            path,
            old,
            new,
            added_lines: Vec::new(),
        })
    }
}

/// A file of the tree, and what becomes of it.
struct EditedFile {
    path: String,
    old: String,
    new: String,
    /// Lines of the old file, and how many lines were added there.
    added_lines: Vec<(u32, u32)>,
}

impl EditedFile {
    /// Makes the edit at a line of the old file, which is told which one that is by now.
    fn apply_edit(
        mut self,
        line: u32,
        edit: impl FnOnce(&Self, u32) -> Result<String, EditRefusal>,
    ) -> Result<Self, String> {
        let edits_above = self.added_lines.iter().filter(|(at, _)| *at < line);
        let line_now = line + edits_above.map(|(_, lines)| lines).sum::<u32>();
        let new = edit(&self, line_now).map_err(|refusal| refusal.to_string())?;
        let lines = new.lines().count().saturating_sub(self.new.lines().count());
        self.added_lines.push((line, lines as u32));
        Ok(Self { new, ..self })
    }
}

/// In which configurations the changes do something, by where the members of the struct at `line` of a file stand.
fn patch_reach(
    type_advice: &TypeAdvice<'_>,
    changes: &[LayoutChange],
    file: &EditedFile,
    line: u32,
) -> Result<PatchReach, EditRefusal> {
    let conditional = conditional_members(&file.path, &file.new, &type_advice.name, Some(line))?;
    let is_conditional = |atom: usize| {
        let names = &type_advice.shape.atoms[atom].names;
        names.iter().any(|name| conditional.contains(name))
    };
    let changes = changes.iter().map(|change| match *change {
        LayoutChange::Move { atom, .. } | LayoutChange::AlignMember { atom, .. } => {
            is_conditional(atom)
        }
        LayoutChange::AlignType { .. } | LayoutChange::Pad { .. } => false,
    });
    Ok(PatchReach::from_conditions(changes))
}

/// Whether it is compiled by itself, and included by nobody.
fn is_unit(path: &str) -> bool {
    let extension = Path::new(path).extension();
    extension.is_some_and(|extension| {
        ["c", "cc", "cpp", "cxx"]
            .iter()
            .any(|unit_extension| extension == *unit_extension)
    })
}
