//! The best candidate as an edit of the source.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use relayout_layout::abi::Shape;
use relayout_patch::{Alignment, Change as Edit, Mail, Position};
use relayout_search::{Change, Scored, Verdict};

use super::compiled::Compiled;
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
    /// The candidate that it makes: index into [`Advice::candidates`](relayout_search::Advice).
    pub candidate: usize,
    /// The file that it edits, from the top of the tree.
    pub path: String,
    /// A unified diff.
    pub diff: String,
    /// Why it does not make the first candidate, if it does not.
    pub instead: Option<String>,
    /// What came of compiling it.
    pub compiled: Vec<Compiled>,
}

impl Written {
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
    let advice = one.outcome.as_ref().ok()?;
    let message = message(input, one, advice, written, top);
    Some(Mail {
        author: author.unwrap_or("Your Name <you@example.org>").to_owned(),
        subject: message.subject,
        body: message.body,
        diff: written.diff.clone(),
        signature: concat!("relayout ", env!("CARGO_PKG_VERSION")).to_owned(),
    })
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
        let reason = |atom: usize| {
            let name = &one.shape.atoms[atom].name;
            lines::reason(one, advice, scored, input.line_bytes, name)
        };
        match write(one, &scored.changes, source, line, &reason) {
            Ok((path, diff)) => {
                return Some(Outcome::Diff(Written {
                    candidate,
                    path,
                    diff,
                    instead,
                    compiled: Vec::new(),
                }));
            }
            Err(why) => instead = instead.or(Some(why)),
        }
    }
    instead.map(Outcome::Refused)
}

/// The file and the diff. `kernel_line`: bytes of a line, if the source is the kernel's; `reason`: why an
/// atom stands where it does then.
fn write(
    one: &TypeAdvice<'_>,
    changes: &[Change],
    source: &Path,
    kernel_line: Option<u64>,
    reason: &dyn Fn(usize) -> Option<String>,
) -> Result<(String, String), String> {
    let decl = one.aggregate.decl.as_ref();
    let decl = decl.ok_or("the debug information does not say where it is declared")?;
    let edits: Result<Vec<Edit>, String> = changes
        .iter()
        .map(|change| {
            // Of a member that moves and is aligned, the alignment says it.
            let aligned = |atom: usize| {
                let aligns = |other: &Change| matches!(other, Change::AlignMember { atom: at, .. } if *at == atom);
                changes.iter().any(aligns)
            };
            let is_move = matches!(change, Change::Move { .. });
            let reason = |atom: usize| reason(atom).filter(|_| !(is_move && aligned(atom)));
            edit(&one.shape, change, kernel_line, &reason)
        })
        .collect();
    let edits = edits?;
    let candidates = relayout_patch::source_path_candidates(&decl.file);
    let found = candidates.iter().find(|path| source.join(path).is_file());
    let path = found.ok_or_else(|| format!("{} is not in {}", decl.file, source.display()))?;
    let old = std::fs::read_to_string(source.join(path)).map_err(|e| format!("{path}: {e}"))?;
    let new = relayout_patch::edit_struct(path, &old, &one.name, Some(decl.line), &edits)
        .map_err(|refusal| refusal.to_string())?;
    let diff = relayout_patch::unified_diff(path, &old, &new);
    Ok((path.clone(), diff))
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
