//! A candidate as edits of the files of a source tree.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};

use relayout_advice::{
    AdvisedSubject, AdvisedType, GatheredType, LayoutPool, LocalDeclaration, PoolLayout,
    ResolvedProfile, element_instructions, placement_reason,
};
use relayout_patch::{
    CoveringComment, EditRefusal, SourceChange, SourceText, StructSource, decode_source,
    edit_struct_in_tree, guard_store, source_language, unified_diff,
};
use relayout_search::{LayoutChange, ObjectHome, RankedLayout, Recommendation};

use super::edits::{AlignmentForms, struct_edits, union_edits};
use super::tree_files::TreeFiles;
use super::{ChosenEdit, CommentToReview, EditedCandidate, PatchReach};

/// Candidates whose edits are tried before giving up.
const CANDIDATES_TRIED_MAX: usize = 100;

/// Reason why a candidate is passed over for an equal one.
const CONDITIONAL_REASON: &str = "it is about a member that only some configurations have";

/// True if `scored` has at most the transfers, upgrades and memory of `other`.
fn is_as_good(scored: &RankedLayout, other: &RankedLayout) -> bool {
    scored.ranked_cost() <= other.ranked_cost()
        && scored.tally.upgrades <= other.tally.upgrades
        && scored.memory.bytes_per_object <= other.memory.bytes_per_object
}

/// Returns a candidate and, behind it, those that cost no more and move no more members.
fn equal_candidates(pool: LayoutPool<'_>, index: usize, top: usize) -> Vec<usize> {
    let candidates = &pool.advice.candidates;
    let first = &candidates[index];
    let is_equal = |(other, scored): &(usize, &RankedLayout)| {
        *other != index
            && is_as_good(scored, first)
            && scored.moved <= first.moved
            && scored.changes.len() <= first.changes.len()
            && pool.is_harmless(top, *other)
    };
    let equal = { candidates.iter().enumerate() }
        .filter(is_equal)
        .map(|(other, _)| other);
    std::iter::once(index).chain(equal).collect()
}

/// Comment of a guard in the source.
const GUARD_COMMENT: &str = "A store of the same value would take the line from its readers.";

/// A source tree to write patches against.
pub struct SourceTree<'a> {
    resolved: &'a ResolvedProfile<'a>,
    source: &'a Path,
    is_kernel: bool,
    files: TreeFiles<'a>,
}

impl<'a> SourceTree<'a> {
    pub fn new(resolved: &'a ResolvedProfile<'_>, source: &'a Path) -> Self {
        let is_kernel = resolved.profile.meta.target == "kernel";
        Self {
            resolved,
            source,
            is_kernel,
            // The kernel is C.
            files: TreeFiles::new(source, is_kernel),
        }
    }

    /// Writes the first of the `recommended` candidates that can be edited, or a candidate that is
    /// as good in every way. One that helps in all configurations replaces an equal one that helps
    /// in some. `top` is the number of candidates that other scenarios were scored for.
    ///
    /// The error is the reason why the first cannot be edited; `None` if there is no candidate.
    pub fn write_first_editable(
        &self,
        advised: &AdvisedType<'_>,
        pool: LayoutPool<'_>,
        recommended: &[Recommendation],
        top: usize,
    ) -> Option<Result<ChosenEdit, String>> {
        let candidates = &pool.advice.candidates;
        // Larger elements are no substitute for runs that begin at lines.
        let is_of_elements = |found: &&Recommendation| {
            let changes = &candidates[found.index].changes;
            changes.iter().any(LayoutChange::is_of_elements)
        };
        let recommended = match recommended.first().filter(is_of_elements) {
            Some(_) => &recommended[..1],
            None => recommended,
        };
        let worth_trying = recommended
            .iter()
            .flat_map(|found| equal_candidates(pool, found.index, top))
            .take(CANDIDATES_TRIED_MAX);
        let (mut refusal, mut conditional) = (None, None::<(EditedCandidate, &RankedLayout)>);
        for candidate_index in worth_trying {
            let scored = &candidates[candidate_index];
            if let Some((_, first)) = &conditional
                && !is_as_good(scored, first)
            {
                continue;
            }
            let layout = PoolLayout::Candidate(candidate_index);
            match self.edit_layout(&advised.searched.gathered, pool, layout) {
                Ok(edited) if edited.reach == PatchReach::All => {
                    let passed_over = conditional.map(|_| CONDITIONAL_REASON.to_owned());
                    let instead_reason = refusal.or(passed_over);
                    return Some(Ok(ChosenEdit {
                        edited,
                        instead_reason,
                    }));
                }
                Ok(edited) => conditional = conditional.or(Some((edited, scored))),
                Err(reason) => refusal = refusal.or(Some(reason)),
            }
        }
        match conditional {
            Some((edited, _)) => Some(Ok(ChosenEdit {
                edited,
                instead_reason: refusal,
            })),
            None => refusal.map(Err),
        }
    }

    /// Edits the source so that the struct has a layout of the pool, and the pool's guards.
    pub fn edit_layout(
        &self,
        gathered: &GatheredType<'_>,
        pool: LayoutPool<'_>,
        layout: PoolLayout,
    ) -> Result<EditedCandidate, String> {
        let scored = layout.ranked(pool).ok_or("there is no such layout")?;
        if let Some(reason) = element_instructions(gathered, scored) {
            return Err(format!(
                "the code that uses the array changes too: {reason}"
            ));
        }
        if let Some(reason) = allocation_refusal(gathered, scored) {
            return Err(reason);
        }
        let mut files: Vec<EditedFile> = Vec::new();
        for statement in pool.statements {
            let file = self.open_source_file(&mut files, &statement.file)?;
            if !source_language(&file.path, &file.new).is_unit(&file.path) {
                return Err(format!(
                    "{}: a header has the store to {}, and all that include it would get the check",
                    statement.source_position(),
                    statement.member
                ));
            }
            let guarded = file.apply_edit(statement.line, |file, line| {
                let comment = Some(GUARD_COMMENT);
                guard_store(&file.path, &file.new, line, &statement.member, comment)
            });
            files.push(guarded?);
        }
        let mut definition = DefinitionEdit::default();
        if !scored.changes.is_empty() {
            definition = self.edit_definition(gathered, pool, scored, &mut files)?;
        }
        let diffs = files
            .iter()
            .map(|file| unified_diff(&file.path, &file.old, &file.new));
        Ok(EditedCandidate {
            layout,
            is_guarded: !pool.statements.is_empty(),
            diff: diffs.collect(),
            paths: files.into_iter().map(|file| file.path).collect(),
            reach: definition.reach,
            comments_to_review: definition.comments_to_review,
        })
    }

    /// Edits the definition of the struct, which becomes the first of `files`, and constructors in
    /// other files.
    fn edit_definition(
        &self,
        gathered: &GatheredType<'_>,
        pool: LayoutPool<'_>,
        scored: &RankedLayout,
        files: &mut Vec<EditedFile>,
    ) -> Result<DefinitionEdit, String> {
        if let AdvisedSubject::Scalars {
            name,
            element,
            local,
        } = &gathered.advised_subject
        {
            return Err(match allocated_scalars(gathered) {
                Some(count) => allocated_scalars_refusal(gathered, count, self.resolved.line_bytes),
                None => match local {
                    Some(local) => local_refusal(name, element, local, self.resolved.line_bytes),
                    None => scalars_refusal(name, element, self.resolved.line_bytes),
                },
            });
        }
        let order = &scored.arrangement.order;
        if let Some(reason) = gathered
            .order
            .refusal(&gathered.shape, order, &scored.layout)
        {
            return Err(reason);
        }
        let declaration = gathered
            .aggregate
            .decl
            .as_ref()
            .ok_or("the debug information does not say where it is declared")?;
        let file = self.open_source_file(files, &declaration.file)?;
        let comments = CommentWriter {
            gathered,
            file: &file,
            line: declaration.line,
            to_review: RefCell::default(),
        };
        let line_bytes = self.resolved.line_bytes;
        let reason = |atom: usize| {
            let name = &gathered.shape.atoms[atom].name;
            let reason = placement_reason(gathered, pool.advice, scored, line_bytes, name)?;
            comments.is_free(atom).then_some(reason)
        };
        let alignments = AlignmentForms {
            kernel_line: self.is_kernel.then_some(u64::from(line_bytes)),
            member: gathered.rust_struct().map(|rules| rules.wrapper.clone()),
        };
        let edits = match gathered.is_whole {
            true => union_edits(gathered, &scored.changes)?,
            false => struct_edits(
                &gathered.shape,
                &scored.changes,
                &gathered.order.rules.borders,
                &alignments,
                &reason,
            )?,
        };
        let comments_to_review = comments.to_review.into_inner();
        let line = declaration.line;
        let reach = self.edit_type(gathered, scored, &edits, (file, line), files)?;
        Ok(DefinitionEdit {
            reach,
            comments_to_review,
        })
    }

    /// Edits the definition of a type at a line of a file, and the other files that the edits reach.
    fn edit_type(
        &self,
        gathered: &GatheredType<'_>,
        scored: &RankedLayout,
        edits: &[SourceChange],
        (file, line): (EditedFile, u32),
        files: &mut Vec<EditedFile>,
    ) -> Result<PatchReach, String> {
        let name = gathered.declared_name();
        let (mut reach, mut changed) = (PatchReach::All, Vec::new());
        let edited = file.apply_edit(line, |file, line| {
            let source = StructSource::new(&file.path, &file.new, name, Some(line));
            reach = patch_reach(gathered, &scored.changes, source)?;
            let others = self.files_beside(source, edits, files);
            let edited = edit_struct_in_tree(source, edits, &others)?;
            changed = edited.others;
            Ok(edited.definition)
        })?;
        files.insert(0, edited);
        for SourceText { file, text } in changed {
            let other = self.open_source_file(files, &file)?;
            files.push(EditedFile { new: text, ..other });
        }
        Ok(reach)
    }

    /// Returns the other files of the tree that the changes may reach, with the edits so far.
    fn files_beside(
        &self,
        source: StructSource<'_>,
        changes: &[SourceChange],
        edited: &[EditedFile],
    ) -> Vec<SourceText> {
        let mut texts = { source.language() }.files_beside(&self.files, source, changes);
        for text in &mut texts {
            if let Some(file) = edited.iter().find(|file| file.path == text.file) {
                text.text.clone_from(&file.new);
            }
        }
        texts
    }

    /// Returns the file that the debug information calls `name`: out of `files`, or from the tree.
    fn open_source_file(
        &self,
        files: &mut Vec<EditedFile>,
        name: &str,
    ) -> Result<EditedFile, String> {
        let path = relayout_patch::source_path_candidates(name)
            .into_iter()
            .find(|path| self.source.join(path).is_file())
            .ok_or_else(|| format!("{name} is not in {}", self.source.display()))?;
        if let Some(open_index) = files.iter().position(|known| known.path == path) {
            return Ok(files.remove(open_index));
        }
        if let Some((link, target)) = first_link(self.source, &path) {
            return Err(format!(
                "{} is a symbolic link to {}, and patches change files only: make a file of it, or \
                 give the folder of the file as --source",
                link.display(),
                target.display()
            ));
        }
        let bytes = relayout_files::read_regular(&self.source.join(&path))
            .map_err(|error| format!("{path}: {error}"))?;
        let old = decode_source(bytes, &path).map_err(|error| error.to_string())?;
        let new = old.clone();
        Ok(EditedFile {
            path,
            old,
            new,
            added_lines: Vec::new(),
        })
    }
}

/// Effect of an edit of a definition besides the files.
struct DefinitionEdit {
    reach: PatchReach,
    comments_to_review: Vec<CommentToReview>,
}

impl Default for DefinitionEdit {
    fn default() -> Self {
        Self {
            reach: PatchReach::All,
            comments_to_review: Vec::new(),
        }
    }
}

/// Decides which members get a comment beside those that the source has.
struct CommentWriter<'a> {
    gathered: &'a GatheredType<'a>,
    file: &'a EditedFile,
    /// Line of the definition in the unedited file.
    line: u32,
    to_review: RefCell<Vec<CommentToReview>>,
}

impl CommentWriter<'_> {
    /// Returns true unless an atom stands under a comment about cache lines, which is noted: under
    /// it, a second one would contradict it or say the same.
    fn is_free(&self, atom: usize) -> bool {
        let names = self.gathered.shape.atoms[atom].declared_names();
        let Some(member) = names.first() else {
            return true;
        };
        let (path, text) = (&self.file.path, &self.file.old);
        let name = self.gathered.declared_name();
        let source = StructSource::new(path, text, name, Some(self.line));
        let comment = source.language().covering_comment(source, member);
        let Some(comment) = comment.filter(CoveringComment::speaks_of_lines) else {
            return true;
        };
        let found = CommentToReview {
            member: member.clone(),
            place: comment.place,
        };
        let mut to_review = self.to_review.borrow_mut();
        if !to_review.contains(&found) {
            to_review.push(found);
        }
        false
    }
}

/// Returns the first symbolic link on the way from the tree to a file in it, and the link's target.
/// Neither git nor patch change a file through one.
fn first_link(tree: &Path, path: &str) -> Option<(PathBuf, PathBuf)> {
    let parts: Vec<_> = Path::new(path).components().collect();
    (1..=parts.len()).find_map(|count| {
        let part: PathBuf = parts[..count].iter().collect();
        let target = fs::read_link(tree.join(&part)).ok()?;
        Some((part, target))
    })
}

/// A file of the tree, before and after the edits.
struct EditedFile {
    path: String,
    old: String,
    new: String,
    /// Edited lines of the old file, and the number of lines added there.
    added_lines: Vec<(u32, u32)>,
}

impl EditedFile {
    /// Applies the edit at a line of the old file; `edit` receives the line's present number.
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

/// Returns the configurations in which the changes of the struct have an effect.
fn patch_reach(
    gathered: &GatheredType<'_>,
    changes: &[LayoutChange],
    source: StructSource<'_>,
) -> Result<PatchReach, EditRefusal> {
    let names_member = |change: &LayoutChange| {
        matches!(
            change,
            LayoutChange::Move { .. } | LayoutChange::AlignMember { .. }
        )
    };
    if !changes.iter().any(names_member) {
        return Ok(PatchReach::All);
    }
    let conditional = source.language().conditional_members(source)?;
    let is_conditional = |atom: usize| {
        let names = gathered.shape.atoms[atom].declared_names();
        names.iter().any(|name| conditional.contains(name))
    };
    let changes = changes.iter().map(|change| match *change {
        LayoutChange::Move { atom, .. } | LayoutChange::AlignMember { atom, .. } => {
            is_conditional(atom)
        }
        // `#[cfg]` of Rust stands at each field, and has no groups.
        LayoutChange::AlignType { .. }
        | LayoutChange::Pad { .. }
        | LayoutChange::FixOrder { .. }
        | LayoutChange::SpreadElements { .. }
        | LayoutChange::RoundRuns { .. } => false,
    });
    Ok(PatchReach::from_conditions(changes))
}

/// Returns the reason why a layout cannot be written alone: an allocation call does not give its
/// alignment.
fn allocation_refusal(gathered: &GatheredType<'_>, scored: &RankedLayout) -> Option<String> {
    let calls = gathered.calls_to_change(scored);
    (!calls.is_empty()).then(|| {
        let align = scored.layout.align;
        format!(
            "it needs objects at multiples of {align} bytes, which {} does not give: call \
             aligned_alloc({align}, size) or posix_memalign there first",
            calls.join(", ")
        )
    })
}

/// Returns the reason why an array of scalars is not edited, with the declaration to write.
fn scalars_refusal(name: &str, element: &str, line_bytes: u32) -> String {
    let name = name.split(' ').next().filter(|_| !name.contains('['));
    let name = name.unwrap_or("the array");
    format!(
        "every use of {name} would change: make its elements `struct {{ {element} value; }} \
         __attribute__((aligned({line_bytes})))`, or space them {line_bytes} bytes apart"
    )
}

/// Returns the reason why an array on the stack of a function is not edited, with what to write.
fn local_refusal(name: &str, element: &str, local: &LocalDeclaration, line_bytes: u32) -> String {
    let LocalDeclaration {
        function,
        file,
        line,
    } = local;
    let file_name = file.rsplit('/').next().unwrap_or(file);
    let wrapper = source_language(file_name, "").padded_element(element, line_bytes);
    format!(
        "every use of {name} in {function} ({file_name}:{line}) would change: make its elements {wrapper}, or let \
         each thread compute in a variable of its own and store the result once, at its end"
    )
}

/// Returns the number of elements of the longest recorded array in allocated memory; `None` for
/// arrays that are variables.
fn allocated_scalars(gathered: &GatheredType<'_>) -> Option<u64> {
    let counts = gathered
        .instances
        .iter()
        .filter_map(|instance| match instance.home {
            ObjectHome::Heap { count, .. } => Some(count),
            _ => None,
        });
    counts.max()
}

/// Returns the reason why an allocated array of scalars is not edited, with the bytes to allocate
/// and the elements to use. An attribute of the type would ask for memory that the call does not
/// give.
fn allocated_scalars_refusal(gathered: &GatheredType<'_>, count: u64, line_bytes: u32) -> String {
    let (size, line) = (gathered.aggregate.size.max(1), u64::from(line_bytes));
    let calls: Vec<&str> = { gathered.allocation_calls.iter() }
        .map(String::as_str)
        .collect();
    let call = match calls.is_empty() {
        true => "the call that allocates it".to_owned(),
        false => calls.join(", "),
    };
    let stride = line.div_ceil(size);
    format!(
        "every use of the array would change: have {call} give {} bytes for the {count} elements, \
         {line} to each instead of {size}, and use element {stride} * i in place of element i",
        count.saturating_mul(stride * size)
    )
}
