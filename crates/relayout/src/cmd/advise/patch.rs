//! The best candidate as an edit of the source.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use relayout_layout::abi::Shape;
use relayout_patch::{
    Alignment, Change as Edit, Mail, Position, Refusal, edit_struct, guard_store, unified_diff,
};
use relayout_search::{Change, Scored, Verdict};

use super::check::Statement;
use super::compiled::Compiled;
use super::others::Pool;
use super::text::{lines, message::message};
use super::{Args, TypeAdvice};
use crate::input::Input;
use relayout_host::Progress as _;

/// Candidates whose edits are tried before giving up.
const TRIED_MAX: usize = 100;

/// What became of a patch.
pub enum Outcome {
    /// Written.
    Diff(Written),
    /// Not written, and why (for the first candidate).
    Refused(String),
}

impl Outcome {
    /// Whether it was written and is bad.
    pub fn is_bad(&self) -> bool {
        matches!(self, Self::Diff(written) if written.is_bad())
    }
}

/// A candidate as an edit of the source.
pub struct Written {
    /// The candidate that it makes: index into those of [`pool`](Self::pool).
    pub candidate: usize,
    /// Whether it is one with checks before stores.
    pub checked: bool,
    /// The files that it edits, from the top of the tree; the first is the one that it is about.
    pub paths: Vec<String>,
    /// A unified diff.
    pub diff: String,
    /// Why it does not make the best candidate, if it does not.
    pub instead: Option<String>,
    /// What came of compiling it.
    pub compiled: Vec<Compiled>,
}

impl Written {
    /// What it was chosen from.
    pub fn pool<'a>(&self, one: &'a TypeAdvice<'_>) -> Option<Pool<'a>> {
        match self.checked {
            true => Some(one.check.as_ref()?.pool()),
            false => one.plain(),
        }
    }

    /// The candidate that it makes.
    pub fn scored<'a>(&self, one: &'a TypeAdvice<'_>) -> Option<&'a Scored> {
        self.pool(one)?.advice.candidates.get(self.candidate)
    }

    /// Whether it does not compile somewhere, or not to the layout that it should.
    pub fn is_bad(&self) -> bool {
        self.compiled.iter().any(Compiled::is_bad)
    }

    /// Whether it moves a member that is there only in some configurations.
    pub fn is_conditional(&self) -> bool {
        self.diff.lines().any(|line| line.starts_with("+#if"))
    }
}

/// What was written to files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saved {
    /// Nothing: there is no patch.
    Nothing,
    /// All patches.
    Patches,
    /// Patches that are bad, to a file of their own; the others, if any.
    SomeBad,
}

/// Writes the patches to a file, each with its message, as a mail that `git am` takes. Those that do not compile
/// go to FILE.rejected.
pub fn save(
    input: &Input<'_>,
    all: &[TypeAdvice<'_>],
    patches: &[Option<Outcome>],
    args: &Args,
    file: &Path,
) -> anyhow::Result<Saved> {
    let author = args.source.as_deref().and_then(relayout_host::git_author);
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for (one, patch) in all.iter().zip(patches) {
        if let Some(Outcome::Diff(written)) = patch
            && let Some(mail) = mail(input, one, written, args.top, author.as_deref())
        {
            match written.is_bad() {
                true => bad.push(mail),
                false => good.push(mail),
            }
        }
    }
    if author.is_none() && !good.is_empty() {
        input.progress.warn(
            "git knows no author here: the patch is from \"Your Name <you@example.org>\"; git config \
             user.name and user.email",
        );
    }
    write_mails(&good, file)?;
    write_mails(&bad, &rejected(file))?;
    for (one, patch) in all.iter().zip(patches) {
        if let (Some(Outcome::Diff(_)), Some(source)) = (patch, &args.source) {
            warn_of_uses(input, &one.name, source);
        }
    }
    Ok(match (good.is_empty(), bad.is_empty()) {
        (true, true) => Saved::Nothing,
        (_, true) => Saved::Patches,
        (_, false) => Saved::SomeBad,
    })
}

fn warn_of_uses(input: &Input<'_>, name: &str, source: &Path) {
    let step = format!("looking for code that counts on the order of struct {name}");
    input.progress.step(&step);
    for sentence in super::uses::sentences(source, name) {
        input.progress.warn(&sentence);
    }
}

/// Where patches go that are bad.
pub fn rejected(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".rejected");
    name.into()
}

fn write_mails(mails: &[Mail], file: &Path) -> anyhow::Result<()> {
    if mails.is_empty() {
        return Ok(());
    }
    let texts = mails.iter().enumerate();
    let text: String = texts
        .map(|(nth, mail)| mail.text(nth + 1, mails.len()))
        .collect();
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// Measures a patch where there is hardware for it.
const SCRIPT: &str = include_str!("hardware-ab.sh");

/// Writes [`SCRIPT`], for its owner to run.
pub fn save_script(file: &Path) -> anyhow::Result<()> {
    let write = || {
        std::fs::write(file, SCRIPT)?;
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755))
    };
    write().with_context(|| format!("cannot write {}", file.display()))
}

fn mail(
    input: &Input<'_>,
    one: &TypeAdvice<'_>,
    written: &Written,
    top: usize,
    author: Option<&str>,
) -> Option<Mail> {
    let message = message(input, one, written, top)?;
    Some(Mail {
        author: author.unwrap_or("Your Name <you@example.org>").to_owned(),
        subject: message.subject,
        body: message.body,
        diff: written.diff.clone(),
        signature: concat!("relayout ", env!("CARGO_PKG_VERSION")).to_owned(),
    })
}

/// A patch for the best candidate, with checks before stores where that is clearly better; or else the next
/// that can be edited. `None` where no candidate is left.
pub fn of_best(
    input: &Input<'_>,
    one: &TypeAdvice<'_>,
    source: &Path,
    top: usize,
) -> Option<Outcome> {
    let plain = one.plain()?;
    let tree = Tree::new(input, source);
    let mut instead = None;
    if let Some(check) = one.better_checked() {
        let pool = check.pool();
        // The next best with the checks may be behind the best without them.
        let least = { plain.advice.candidates.first() }.map_or(u64::MAX, Scored::ranked_cost);
        let allowed = |index: usize| {
            let fewer = pool.advice.candidates[index].ranked_cost() < least;
            fewer && pool.is_harmless(top, index)
        };
        match tree.first(one, pool, allowed) {
            Some(Ok(written)) => return Some(Outcome::Diff(written)),
            Some(Err(why)) => instead = Some(why),
            None => instead = hurtful(pool),
        }
    }
    let found = match plain.advice.verdict {
        Verdict::Better => tree.first(one, plain, |index| plain.is_harmless(top, index)),
        _ => None,
    };
    match found {
        Some(Ok(written)) => Some(Outcome::Diff(Written {
            instead: instead.or(written.instead),
            ..written
        })),
        Some(Err(why)) => Some(Outcome::Refused(instead.unwrap_or(why))),
        None if plain.advice.verdict == Verdict::Better => {
            instead.or(hurtful(plain)).map(Outcome::Refused)
        }
        None => instead.map(Outcome::Refused),
    }
}

/// Why none of a pool's candidates is written, if they were scored elsewhere.
fn hurtful(pool: Pool<'_>) -> Option<String> {
    let checks: Vec<String> = pool.checked.iter().map(Statement::words).collect();
    let with = match checks.is_empty() {
        true => String::new(),
        false => format!(" with \"{}\"", checks.join(", ")),
    };
    let others = "hurts another workload or configuration";
    { !pool.others.is_empty() }
        .then(|| format!("each layout{with} that is clearly better {others}"))
}

/// Why the check stands there, in the source.
const CHECKED: &str = "A store of the same value would take the line from its readers.";

/// A source tree to write patches against.
struct Tree<'a> {
    input: &'a Input<'a>,
    source: &'a Path,
    /// Bytes of a line, if it is the kernel's.
    kernel_line: Option<u64>,
}

impl<'a> Tree<'a> {
    fn new(input: &'a Input<'_>, source: &'a Path) -> Self {
        let kernel = input.profile.meta.target == "kernel";
        Self {
            input,
            source,
            kernel_line: kernel.then_some(u64::from(input.line_bytes)),
        }
    }

    /// The first candidate that can be edited: one with as few transfers as the best, or one on the front
    /// that is clearly better than today's layout, if it is `allowed`. Why the first cannot, where none can;
    /// `None` where there is none.
    fn first(
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
        let mut instead = None;
        for (candidate, scored) in worth {
            let reason = |atom: usize| {
                let name = &one.shape.atoms[atom].name;
                lines::reason(one, advice, scored, self.input.line_bytes, name)
            };
            match self.write(one, &scored.changes, checked, &reason) {
                Ok((paths, diff)) => {
                    return Some(Ok(Written {
                        candidate,
                        checked: scored.checked,
                        paths,
                        diff,
                        instead,
                        compiled: Vec::new(),
                    }));
                }
                Err(why) => instead = instead.or(Some(why)),
            }
        }
        instead.map(Err)
    }

    /// The files that are edited, and the diff. `reason`: why an atom stands where it does then.
    fn write(
        &self,
        one: &TypeAdvice<'_>,
        changes: &[Change],
        checks: &[Statement],
        reason: &dyn Fn(usize) -> Option<String>,
    ) -> Result<(Vec<String>, String), String> {
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
        if !changes.is_empty() {
            let decl = one.aggregate.decl.as_ref();
            let decl = decl.ok_or("the debug information does not say where it is declared")?;
            let edits = edits(one, changes, self.kernel_line, reason)?;
            let file = self.take(&mut files, &decl.file)?;
            let edited = file.edited(decl.line, |file, line| {
                edit_struct(&file.path, &file.new, &one.name, Some(line), &edits)
            })?;
            files.insert(0, edited);
        }
        let diffs = files
            .iter()
            .map(|file| unified_diff(&file.path, &file.old, &file.new));
        let diff = diffs.collect();
        Ok((files.into_iter().map(|file| file.path).collect(), diff))
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

/// Whether it is compiled by itself, and included by nobody.
fn is_unit(path: &str) -> bool {
    let extension = Path::new(path).extension();
    extension.is_some_and(|extension| {
        ["c", "cc", "cpp", "cxx"]
            .iter()
            .any(|one| extension == *one)
    })
}

fn edits(
    one: &TypeAdvice<'_>,
    changes: &[Change],
    kernel_line: Option<u64>,
    reason: &dyn Fn(usize) -> Option<String>,
) -> Result<Vec<Edit>, String> {
    // Of a member that moves and is aligned, the alignment says it.
    let aligned = |atom: usize| {
        let aligns =
            |other: &Change| matches!(other, Change::AlignMember { atom: at, .. } if *at == atom);
        changes.iter().any(aligns)
    };
    let edits = changes.iter().map(|change| {
        let is_move = matches!(change, Change::Move { .. });
        let reason = |atom: usize| reason(atom).filter(|_| !(is_move && aligned(atom)));
        edit(&one.shape, change, kernel_line, &reason)
    });
    edits.collect()
}

fn edit(
    shape: &Shape,
    change: &Change,
    kernel_line: Option<u64>,
    reason: &dyn Fn(usize) -> Option<String>,
) -> Result<Edit, String> {
    let alignment = |to: u64| match kernel_line {
        Some(line) if line == to => Alignment::Macro("____cacheline_aligned_in_smp".to_owned()),
        _ => Alignment::Bytes(u32::try_from(to).unwrap_or(u32::MAX)),
    };
    let names = |atom: usize| &shape.atoms[atom].names[..];
    let single = |atom: usize| match names(atom) {
        [name] => Ok(name.clone()),
        names => Err(format!("{} would have to align as one", names.join(", "))),
    };
    let nameless = "a place in it is beside a member without a name";
    let behind = |atom: usize| {
        names(atom)
            .last()
            .cloned()
            .ok_or(nameless)
            .map(Position::After)
    };
    match *change {
        Change::Move { atom, after } => Ok(Edit::MoveMembers {
            members: names(atom).to_vec(),
            to: after.map_or(Ok(Position::First), behind)?,
            spacing: None,
            reason: reason(atom),
        }),
        Change::AlignMember { atom, to } => Ok(Edit::AlignMember {
            member: single(atom)?,
            alignment: alignment(to),
            reason: reason(atom),
        }),
        Change::AlignType { to } => Ok(Edit::AlignType {
            alignment: alignment(to),
            reason: None,
        }),
        Change::Pad { before, bytes } => Ok(Edit::AddPadding {
            name: padding_name(shape),
            bytes,
            to: match before {
                Some(before) => {
                    let first = names(before).first().cloned().ok_or(nameless)?;
                    Position::Before(first)
                }
                None => behind(shape.atoms.len() - 1)?,
            },
            reason: None,
        }),
    }
}

/// The first of `_pad1_`, `_pad2_`, ... that no member has.
fn padding_name(shape: &Shape) -> String {
    let taken = |name: &String| shape.atoms.iter().any(|atom| atom.names.contains(name));
    let mut names = (1..=shape.atoms.len() + 1).map(|number| format!("_pad{number}_"));
    names
        .find(|name| !taken(name))
        .expect("there are fewer atoms than names")
}
