//! A candidate as edits of the files of a source tree.

use std::path::Path;

use relayout_patch::{Refusal, conditional_members, edit_struct, guard_store, unified_diff};
use relayout_search::{Advice, Change, Scored};

use super::super::TypeAdvice;
use super::super::check::Statement;
use super::super::others::Pool;
use super::super::text::lines;
use super::edits::edits;
use super::{Reach, Written};
use crate::input::Input;

/// Candidates whose edits are tried before giving up.
const TRIED_MAX: usize = 100;

/// Why a candidate is passed over for one that is as good.
const CONDITIONAL: &str = "it is about a member that is there only in some configurations";

/// Whether it costs no more transfers, upgrades and memory than another.
fn as_good(scored: &Scored, other: &Scored) -> bool {
    scored.ranked_cost() <= other.ranked_cost()
        && scored.tally.upgrades <= other.tally.upgrades
        && scored.memory.bytes_per_object <= other.memory.bytes_per_object
}

/// Why the check stands there, in the source.
const CHECKED: &str = "A store of the same value would take the line from its readers.";

/// A source tree to write patches against.
pub struct Tree<'a> {
    input: &'a Input<'a>,
    source: &'a Path,
    /// Bytes of a line, if it is the kernel's.
    kernel_line: Option<u64>,
}

impl<'a> Tree<'a> {
    pub fn new(input: &'a Input<'_>, source: &'a Path) -> Self {
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
    pub fn first(
        &self,
        one: &TypeAdvice<'_>,
        Pool {
            advice, checked, ..
        }: Pool<'_>,
        allowed: impl Fn(usize) -> bool,
    ) -> Option<Result<Written, String>> {
        let best = advice.candidates.first()?.tally.transfers();
        let better = |scored: &Scored| {
            let less = scored.interval.is_some_and(|interval| interval.is_less());
            scored.tally.transfers() == best || scored.pareto && less
        };
        let worth = (advice.candidates.iter().enumerate())
            .filter(|(index, scored)| better(scored) && allowed(*index))
            .take(TRIED_MAX);
        let (mut refused, mut conditional) = (None, None::<(Written, &Scored)>);
        for (candidate, scored) in worth {
            if let Some((_, first)) = conditional
                && !as_good(scored, first)
            {
                continue;
            }
            match self.write(one, advice, candidate, checked) {
                Ok(written) if written.reach == Reach::All => {
                    let passed_over = conditional.map(|_| CONDITIONAL.to_owned());
                    let instead = refused.or(passed_over);
                    return Some(Ok(Written { instead, ..written }));
                }
                Ok(written) => conditional = conditional.or(Some((written, scored))),
                Err(why) => refused = refused.or(Some(why)),
            }
        }
        match conditional {
            Some((written, _)) => Some(Ok(Written {
                instead: refused,
                ..written
            })),
            None => refused.map(Err),
        }
    }

    /// A candidate as an edit, with these checks before stores.
    fn write(
        &self,
        one: &TypeAdvice<'_>,
        advice: &Advice,
        candidate: usize,
        checks: &[Statement],
    ) -> Result<Written, String> {
        let scored = &advice.candidates[candidate];
        let mut files: Vec<Edited> = Vec::new();
        for check in checks {
            let file = self.take(&mut files, &check.file)?;
            if !is_unit(&file.path) {
                return Err(format!(
                    "{}: a header has the store to {}, and all that include it would get the check",
                    check.place(),
                    check.member
                ));
            }
            files.push(file.edited(check.line, |file, line| {
                guard_store(&file.path, &file.new, line, &check.member, Some(CHECKED))
            })?);
        }
        let mut reach = Reach::All;
        if !scored.changes.is_empty() {
            let decl = one.aggregate.decl.as_ref();
            let decl = decl.ok_or("the debug information does not say where it is declared")?;
            let reason = |atom: usize| {
                let name = &one.shape.atoms[atom].name;
                lines::reason(one, advice, scored, self.input.line_bytes, name)
            };
            let edits = edits(one, &scored.changes, self.kernel_line, &reason)?;
            let file = self.take(&mut files, &decl.file)?;
            let edited = file.edited(decl.line, |file, line| {
                reach = reach_of(one, &scored.changes, file, line)?;
                edit_struct(&file.path, &file.new, &one.name, Some(line), &edits)
            })?;
            files.insert(0, edited);
        }
        let diffs = { files.iter() }.map(|file| unified_diff(&file.path, &file.old, &file.new));
        Ok(Written {
            candidate,
            checked: scored.checked,
            diff: diffs.collect(),
            paths: files.into_iter().map(|file| file.path).collect(),
            reach,
            instead: None,
            compiled: Vec::new(),
        })
    }

    /// The file that the debug information calls `name`: out of `files`, or as it is in the tree.
    fn take(&self, files: &mut Vec<Edited>, name: &str) -> Result<Edited, String> {
        let candidates = relayout_patch::source_path_candidates(name);
        let mut candidates = candidates.into_iter();
        let path = candidates
            .find(|path| self.source.join(path).is_file())
            .ok_or_else(|| format!("{name} is not in {}", self.source.display()))?;
        if let Some(known) = files.iter().position(|known| known.path == path) {
            return Ok(files.remove(known));
        }
        let old = std::fs::read_to_string(self.source.join(&path));
        let old = old.map_err(|why| format!("{path}: {why}"))?;
        let new = old.clone();
        Ok(Edited {
            path,
            old,
            new,
            added: Vec::new(),
        })
    }
}

/// A file of the tree, and what becomes of it.
struct Edited {
    path: String,
    old: String,
    new: String,
    /// Lines of the old file, and how many lines were added there.
    added: Vec<(u32, u32)>,
}

impl Edited {
    /// Makes the edit at a line of the old file, which is told which one that is by now.
    fn edited(
        mut self,
        line: u32,
        edit: impl FnOnce(&Self, u32) -> Result<String, Refusal>,
    ) -> Result<Self, String> {
        let above = self.added.iter().filter(|(at, _)| *at < line);
        let now = line + above.map(|(_, lines)| lines).sum::<u32>();
        let new = edit(&self, now).map_err(|refusal| refusal.to_string())?;
        let lines = new.lines().count().saturating_sub(self.new.lines().count());
        self.added.push((line, lines as u32));
        Ok(Self { new, ..self })
    }
}

/// In which configurations the changes do something, by where the members of the struct at `line` of a file stand.
fn reach_of(
    one: &TypeAdvice<'_>,
    changes: &[Change],
    file: &Edited,
    line: u32,
) -> Result<Reach, Refusal> {
    let conditional = conditional_members(&file.path, &file.new, &one.name, Some(line))?;
    let is_conditional = |atom: usize| {
        let names = &one.shape.atoms[atom].names;
        names.iter().any(|name| conditional.contains(name))
    };
    let changes = changes.iter().map(|change| match *change {
        Change::Move { atom, .. } | Change::AlignMember { atom, .. } => is_conditional(atom),
        Change::AlignType { .. } | Change::Pad { .. } => false,
    });
    Ok(Reach::of(changes))
}

/// Whether it is compiled by itself, and included by nobody.
fn is_unit(path: &str) -> bool {
    let extension = Path::new(path).extension();
    extension.is_some_and(|extension| {
        ["c", "cc", "cpp", "cxx"]
            .iter()
            .any(|one| extension == *one)
    })
}
