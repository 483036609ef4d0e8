//! `relayout advise`: candidate layouts of the types that a profile shows to be contended.

mod check;
mod compiled;
mod evidence;
mod gain;
pub(super) mod gather;
mod given;
pub(super) mod json;
mod others;
mod patch;
mod rows;
pub(super) mod text;
mod uses;

use std::borrow::Cow;
use std::path::PathBuf;

use anyhow::bail;
use relayout_host::Progress as _;
use relayout_host::kernel_build::Configuration;
use relayout_layout::abi::{Abi, Layout, Shape};
use relayout_layout::{Aggregate, Types, close};
use relayout_search::{Advice, Given, Instance, Options, Scored, Subject, pinned_first};

pub(super) use gain::{Machine, Probed};
use gather::Contended;
use others::Pool;

use crate::exit::Exit;
use crate::identify::Identified;
use crate::input::{self, Input};
use crate::print::print;

const EXAMPLES: &str = "\
Examples:
  relayout advise out.relayout pcpu_chunk --layout proposed.txt
  relayout advise out.relayout pcpu_chunk --source linux --patch pcpu_chunk.patch";

/// Types that are advised on when none is named.
const TYPES_WHEN_NONE_NAMED: usize = 3;
/// They get this part of the replayed accesses that a named type gets.
const BUDGET_PART: u64 = 10;

/// Search for layouts of a type that cost fewer transfers, by replaying the recording
///
/// Moves of one member and of two, alignments, and rewrites of the whole order are scored. What comes out is today's layout and
/// the best one as pahole prints them, what each costs, how sure that is, and the patch.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Profile written by `relayout record`
    pub profile: PathBuf,
    /// Structs to advise on; without any, the three with the most transfers
    #[arg(value_name = "TYPE")]
    pub types: Vec<String>,
    /// Use this debug file (vmlinux, or the program) [default: the one recorded with]; may be given
    /// more than once, for shared libraries too, which are told by their build ids
    #[arg(long, value_name = "FILE")]
    pub debug: Vec<PathBuf>,
    /// Print JSON (schema relayout/advise/1)
    #[arg(long)]
    pub json: bool,
    /// Score this layout too: a file with the struct as C or as pahole prints it, or with one member
    /// per line, `name`, or `name @64` to align it; may be given more than once
    #[arg(long, value_name = "FILE")]
    pub layout: Vec<PathBuf>,
    /// Keep this member at its offset; may be given more than once
    #[arg(long, value_name = "MEMBER")]
    pub keep: Vec<String>,
    /// What it costs, in transfers, when another CPU stores to the other line of an aligned pair [default:
    /// what `relayout probe` measured, as --machine]
    #[arg(long, value_name = "X", value_parser = super::report::coefficient)]
    pub pair_coefficient: Option<f64>,
    /// Score the layouts in this recording of another workload too, and say which of them hurt it; may be
    /// given more than once
    #[arg(long, value_name = "PROFILE")]
    pub also: Vec<PathBuf>,
    /// Score the layouts as this build of another configuration would have them too, and rank them by the
    /// one where each does worst; may be given more than once
    #[arg(long, value_name = "NAME=VMLINUX", value_parser = others::named_file)]
    pub config: Vec<(String, PathBuf)>,
    /// Write a patch against this source tree
    #[arg(long, value_name = "DIR")]
    pub source: Option<PathBuf>,
    /// Write the patch to this file, with a message, as `git format-patch` does [default: the diff is shown
    /// with the text]
    #[arg(long, value_name = "FILE", requires = "source")]
    pub patch: Option<PathBuf>,
    /// Compile what includes the patched file in this configuration of the kernel, without the patch and with
    /// it, and compare the layouts; may be given more than once. Runs make on a copy of the source. A patch
    /// that is bad goes to FILE.rejected, and the exit code is 1
    #[arg(long, value_name = "ARCH:CONFIG", requires = "source")]
    pub compile: Vec<Configuration>,
    /// Write a script to this file that measures a kernel's patch on the hardware of another machine, and
    /// puts the table into the patch's message
    #[arg(long, value_name = "FILE", requires = "patch")]
    pub hardware_script: Option<PathBuf>,
    /// Show the first N candidates, and all that nothing else beats
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub top: usize,
    #[command(flatten)]
    pub machine: Machine,
}

impl Args {
    /// What would fail at the end, after all the work.
    fn check_paths(&self) -> anyhow::Result<()> {
        for profile in &self.also {
            let meta = profile.join("meta.json");
            if !profile.is_dir() || !meta.is_file() {
                // Says what is wrong with it.
                relayout_profile::read(profile)?;
            }
        }
        if let Some(dir) = &self.source
            && !dir.is_dir()
        {
            bail!("--source {}: not a folder", dir.display());
        }
        for file in self.patch.iter().chain(&self.hardware_script) {
            let folder = file
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty());
            if folder.is_some_and(|folder| !folder.is_dir()) || file.is_dir() {
                bail!(
                    "cannot write {}: its folder is not there, or it is one itself",
                    file.display()
                );
            }
        }
        Ok(())
    }
}

/// One type with what was found for it.
pub(super) struct TypeAdvice<'a> {
    pub name: String,
    /// Anonymous structs taken apart where that can be.
    pub aggregate: Cow<'a, Aggregate>,
    pub shape: Shape,
    pub instances: Vec<Instance>,
    /// Objects of the type in the profile.
    pub objects: u64,
    /// What its size has an effect on.
    pub memory: gather::Memory,
    /// The member that is kept first, if any.
    pub first: Option<String>,
    /// Bytes of an element of its flexible array; 0 if it has none.
    pub tail_element_bytes: u64,
    /// Layouts of the user's.
    pub given: Vec<Given>,
    /// All members that stay where they are.
    keep: Vec<String>,
    /// The type in the builds of other configurations.
    builds: Vec<Shape>,
    /// What the search found, or why nothing was sought.
    pub outcome: Result<Advice, String>,
    /// What checks before stores gain, if some are mostly without effect.
    pub check: Option<check::Check>,
    /// Who accesses it.
    pub evidence: Vec<evidence::Use>,
    /// What the layouts without a check do elsewhere.
    pub others: Vec<others::Other>,
}

impl TypeAdvice<'_> {
    /// What was searched.
    pub fn subject(&self, line_bytes: u32) -> Subject<'_> {
        Subject {
            aggregate: &self.aggregate,
            shape: &self.shape,
            instances: &self.instances,
            tail_element_bytes: self.tail_element_bytes,
            objects: self.objects,
            line_bytes,
            builds: &self.builds,
        }
    }

    /// The layouts without a check, if any were sought.
    fn plain(&self) -> Option<Pool<'_>> {
        Some(Pool {
            checked: &[],
            given: &self.given,
            advice: self.outcome.as_ref().ok()?,
            others: &self.others,
        })
    }

    /// Those with checks, if that is clearly better.
    fn better_checked(&self) -> Option<&check::Check> {
        { self.check.as_ref() }.filter(|check| check.checked.is_better())
    }

    /// What is found best, with a check or without.
    fn best(&self) -> Option<&Scored> {
        let checked = self.better_checked().map(check::Check::pool);
        let pool = checked.or_else(|| self.plain())?;
        pool.advice.candidates.first()
    }

    /// The atom at `offset` of an instance, if there is one.
    fn atom_at(&self, layout: &Layout, instance: &Instance, offset: u32) -> Option<usize> {
        let offset = match instance.elements {
            2.. => offset % instance.stride.max(1),
            _ => offset,
        };
        let mut places = layout.places.iter();
        places.position(|place| (place.offset..place.end).contains(&u64::from(offset)))
    }

    /// With the members that stay.
    fn options(&self, options: &Options) -> Options {
        Options {
            keep: self.keep.clone(),
            ..options.clone()
        }
    }

    /// Scores what was given, and looks for better.
    fn search(&mut self, input: &Input<'_>, options: &Options) {
        input
            .progress
            .step(&format!("replaying layouts of {}", self.name));
        let options = self.options(options);
        let outcome =
            relayout_search::advise(self.subject(input.line_bytes), &self.given, &options);
        self.outcome = outcome.map_err(|refusal| refusal.to_string());
    }

    /// Why there is nothing to seek, if so.
    fn skipped(&self, line_bytes: u32) -> Option<String> {
        let refused = relayout_search::refusal(&self.subject(line_bytes));
        let one_member = || (self.shape.atoms.len() < 2).then(|| "it has one member".to_owned());
        refused
            .map(|refusal| refusal.to_string())
            .or_else(one_member)
    }
}

/// Runs the command.
///
/// # Errors
/// Unreadable input, a layout file that does not fit its type, an unwritable patch.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    args.check_paths()?;
    let probed = args.machine.probed(args.pair_coefficient)?;
    let (shown, exit) = input::with(&args.profile, &args.debug, |input, images| {
        advise(args, &probed, input, &Identified::new(input, images))
    })?;
    print(&shown)?;
    Ok(exit)
}

fn advise(
    args: &Args,
    probed: &Probed,
    input: &Input<'_>,
    identified: &Identified<'_, '_>,
) -> anyhow::Result<(String, Exit)> {
    if args.types.len() != 1 && !(args.layout.is_empty() && args.keep.is_empty()) {
        bail!("--layout and --keep name members, so they need one TYPE");
    }
    let options = Options {
        intervals: args.top,
        pair_coefficient: probed.pair_coefficient,
        ..effort(args.types.is_empty())
    };
    let (mut all, skipped) = match args.types.is_empty() {
        true => most_contended(input),
        false => {
            let one = |name: &String| gather_with(input, name, &args.layout, &args.keep);
            let all: anyhow::Result<_> = args.types.iter().map(one).collect();
            (all?, Vec::new())
        }
    };
    let read = |config| others::Build::read(input, &all, config);
    let builds: anyhow::Result<Vec<others::Build>> = args.config.iter().map(read).collect();
    let builds = builds?;
    for (nth, one) in all.iter_mut().enumerate() {
        one.builds = others::shapes(&builds, nth);
        one.search(input, &options);
    }
    for one in &mut all {
        one.evidence = evidence::uses(one, identified);
        one.check = check::best(input, one, identified, &options);
    }
    others::add_configurations(input, &mut all, &builds, args.top, &options);
    for profile in &args.also {
        others::add_workload(&mut all, profile, &args.debug, args.top, &options)?;
    }
    let notes = probed.predict(input, &mut all, args.top);
    let patch = |one| {
        let dir = args.source.as_deref()?;
        patch::of_best(input, one, dir, args.top)
    };
    let mut patches: Vec<Option<patch::Outcome>> = all.iter().map(patch).collect();
    if let Some(dir) = &args.source
        && !args.compile.is_empty()
    {
        let compiler = compiled::Compiler::open(input, dir)?;
        for (one, patch) in all.iter().zip(&mut patches) {
            if let Some(patch::Outcome::Diff(written)) = patch {
                written.compiled = compiler.compile(&args.compile, one, written)?;
            }
        }
    }
    let saved = match &args.patch {
        Some(path) => patch::save(input, &all, &patches, args, path)?,
        None => patch::Saved::Nothing,
    };
    let exit = match patches.iter().flatten().any(patch::Outcome::is_bad) {
        true => Exit::Failed,
        false => Exit::Done,
    };
    if let Some(path) = &args.hardware_script {
        if input.profile.meta.target != "kernel" {
            input.progress.warn(
                "the script of --hardware-script builds kernels, and this is a recording of a program: \
                 `relayout verify` compares two builds of that",
            );
        }
        patch::save_script(path)?;
    }
    if args.json {
        return Ok((
            json::advise(input, &all, &patches, &skipped, args.top, &notes)?,
            exit,
        ));
    }
    let shown = text::Shown {
        top: args.top,
        listings: !args.types.is_empty(),
        patches: args.source.is_some(),
        diffs: saved == patch::Saved::Nothing,
        written: args.patch.clone(),
        rejected: args.patch.as_deref().map(patch::rejected),
        notes,
    };
    Ok((text::advise(input, &all, &patches, &skipped, &shown), exit))
}

/// How much to try; less of each where no type was named, and several are searched.
fn effort(several: bool) -> Options {
    let whole = Options::default();
    match several {
        false => whole,
        true => Options {
            budget_accesses: whole.budget_accesses / BUDGET_PART,
            effort_rows: whole.effort_rows / BUDGET_PART,
            two_moves_max: whole.two_moves_max / BUDGET_PART as usize,
            ..whole
        },
    }
}

/// The types with the most transfers that can be laid out again, and what was passed over on the way, with
/// the reason.
fn most_contended<'a>(input: &Input<'a>) -> (Vec<TypeAdvice<'a>>, Vec<Contended>) {
    let (mut all, mut skipped) = (Vec::new(), Vec::new());
    for mut one in gather::contended(input) {
        if all.len() == TYPES_WHEN_NONE_NAMED {
            break;
        }
        if one.skipped.is_none() {
            match gather_with(input, &one.name, &[], &[]) {
                Ok(gathered) => match gathered.skipped(input.line_bytes) {
                    None => all.push(gathered),
                    why => one.skipped = why,
                },
                Err(why) => one.skipped = Some(why.to_string()),
            }
        }
        if one.skipped.is_some() {
            skipped.push(one);
        }
    }
    (all, skipped)
}

/// As [`gather_on`], with layouts read from files.
fn gather_with<'a>(
    input: &Input<'a>,
    name: &str,
    layouts: &[PathBuf],
    keep: &[String],
) -> anyhow::Result<TypeAdvice<'a>> {
    gather_on(input, name, keep, |shape| {
        let target = given::Target {
            types: input.resolution.types(),
            shape,
            line_bytes: input.line_bytes,
        };
        target.read(layouts)
    })
}

/// What was recorded of one type, searched; with layouts read from files.
pub(super) fn advise_with<'a>(
    input: &Input<'a>,
    name: &str,
    layouts: &[PathBuf],
    options: &Options,
) -> anyhow::Result<TypeAdvice<'a>> {
    let mut one = gather_with(input, name, layouts, &options.keep)?;
    one.search(input, options);
    Ok(one)
}

/// The same with layouts of its shape that `given` makes.
pub(super) fn advise_on<'a>(
    input: &Input<'a>,
    name: &str,
    options: &Options,
    given: impl FnOnce(&Shape) -> anyhow::Result<Vec<Given>>,
) -> anyhow::Result<TypeAdvice<'a>> {
    let mut one = gather_on(input, name, &options.keep, given)?;
    one.search(input, options);
    Ok(one)
}

/// Gathers what was recorded of one type, of which `keep` shall stay; `given` makes layouts of its shape.
fn gather_on<'a>(
    input: &Input<'a>,
    name: &str,
    keep: &[String],
    given: impl FnOnce(&Shape) -> anyhow::Result<Vec<Given>>,
) -> anyhow::Result<TypeAdvice<'a>> {
    let types: &'a Types = input.resolution.types();
    let plain = name.trim_start_matches("struct ").trim();
    input
        .progress
        .step(&format!("gathering accesses to {plain}"));
    let Some(found) = gather::objects(input, plain) else {
        let names = gather::names(input);
        let close = close::names(names.iter().map(String::as_str), plain);
        bail!(
            "no object of struct {plain} is in the profile{} (see `relayout report` for those that are)",
            close::sentence(&close)
        );
    };
    let abi = Abi::new(types);
    let aggregate = match abi.flattened(found.aggregate) {
        Some(flat) => Cow::Owned(flat),
        None => Cow::Borrowed(found.aggregate),
    };
    let shape = abi.shape(&aggregate)?;
    let first = pinned_first(types, &aggregate);
    for kept in keep {
        if !shape.atoms.iter().any(|atom| atom.names.contains(kept)) {
            let close = close::sentence(&close::members(&shape, kept));
            bail!("struct {plain} has no member '{kept}' to keep{close}");
        }
    }
    Ok(TypeAdvice {
        name: plain.to_owned(),
        aggregate,
        given: given(&shape)?,
        shape,
        instances: found.instances,
        objects: found.objects,
        memory: found.memory,
        keep: keep.iter().cloned().chain(first.clone()).collect(),
        first,
        tail_element_bytes: found.tail_element_bytes,
        builds: Vec::new(),
        outcome: Err("nothing was sought".to_owned()),
        check: None,
        evidence: Vec::new(),
        others: Vec::new(),
    })
}
