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
use relayout_host::RecordingProgress as _;
use relayout_host::kernel_build::KernelConfiguration;
use relayout_layout::abi::{AbiEngine, StructLayout, StructShape};
use relayout_layout::{Aggregate, TypeArena, suggestions};
use relayout_search::{
    AdviceSubject, LayoutAdvice, Options, RankedLayout, RecordedInstance, UserLayout,
    pinned_first_member,
};

pub(super) use gain::{MachineArgs, ProbedMachine};
use gather::ContendedType;
use others::LayoutPool;

use crate::exit::ExitStatus;
use crate::identify::ResolvedNames;
use crate::print::print_text;
use crate::resolved::{self, ResolvedProfile};

const EXAMPLES: &str = "\
Examples:
  relayout advise out.relayout pcpu_chunk --layout proposed.txt
  relayout advise out.relayout pcpu_chunk --source linux --patch pcpu_chunk.patch";

/// Types that are advised on when none is named.
const UNNAMED_TYPES_MAX: usize = 3;
/// They get this part of the replayed accesses that a named type gets.
const BUDGET_DIVISOR: u64 = 10;

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
    #[arg(long, value_name = "X", value_parser = super::report::parse_coefficient)]
    pub pair_coefficient: Option<f64>,
    /// Score the layouts in this recording of another workload too, and say which of them hurt it; may be
    /// given more than once
    #[arg(long, value_name = "PROFILE")]
    pub also: Vec<PathBuf>,
    /// Score the layouts as this build of another configuration would have them too, and rank them by the
    /// one where each does worst; may be given more than once
    #[arg(long, value_name = "NAME=VMLINUX", value_parser = others::parse_named_file)]
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
    pub compile: Vec<KernelConfiguration>,
    /// Write a script to this file that measures a kernel's patch on the hardware of another machine, and
    /// puts the table into the patch's message
    #[arg(long, value_name = "FILE", requires = "patch")]
    pub hardware_script: Option<PathBuf>,
    /// Show the first N candidates, and all that nothing else beats
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub top: usize,
    #[command(flatten)]
    pub machine: MachineArgs,
}

impl Args {
    /// What would fail at the end, after all the work.
    fn validate_paths(&self) -> anyhow::Result<()> {
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
    pub shape: StructShape,
    pub instances: Vec<RecordedInstance>,
    /// Objects of the type in the profile.
    pub objects: u64,
    /// What its size has an effect on.
    pub memory: gather::SizeEffects,
    /// The member that is kept first, if any.
    pub first_member: Option<String>,
    /// Bytes of an element of its flexible array; 0 if it has none.
    pub tail_element_bytes: u64,
    /// Layouts of the user's.
    pub given_layouts: Vec<UserLayout>,
    /// All members that stay where they are.
    kept_members: Vec<String>,
    /// The type in the builds of other configurations.
    configuration_shapes: Vec<StructShape>,
    /// What the search found, or why nothing was sought.
    pub search_outcome: Result<LayoutAdvice, String>,
    /// What checks before stores gain, if some are mostly without effect.
    pub guard_advice: Option<check::GuardAdvice>,
    /// Who accesses it.
    pub member_uses: Vec<evidence::MemberAccesses>,
    /// What the layouts without a check do elsewhere.
    pub scenarios: Vec<others::OtherScenario>,
}

impl TypeAdvice<'_> {
    /// What was searched.
    pub fn search_subject(&self, line_bytes: u32) -> AdviceSubject<'_> {
        AdviceSubject {
            aggregate: &self.aggregate,
            shape: &self.shape,
            instances: &self.instances,
            tail_element_bytes: self.tail_element_bytes,
            objects: self.objects,
            line_bytes,
            builds: &self.configuration_shapes,
        }
    }

    /// The layouts without a check, if any were sought.
    fn unguarded_pool(&self) -> Option<LayoutPool<'_>> {
        Some(LayoutPool {
            guarded_statements: &[],
            given_layouts: &self.given_layouts,
            advice: self.search_outcome.as_ref().ok()?,
            scenarios: &self.scenarios,
        })
    }

    /// Those with checks, if that is clearly better.
    fn better_guards(&self) -> Option<&check::GuardAdvice> {
        { self.guard_advice.as_ref() }.filter(|check| check.guarded.is_better())
    }

    /// What is found best, with a check or without.
    fn best_candidate(&self) -> Option<&RankedLayout> {
        let guarded = self.better_guards().map(check::GuardAdvice::candidate_pool);
        let pool = guarded.or_else(|| self.unguarded_pool())?;
        pool.advice.candidates.first()
    }

    /// The atom at `offset` of an instance, if there is one.
    fn atom_at_offset(
        &self,
        layout: &StructLayout,
        instance: &RecordedInstance,
        offset: u32,
    ) -> Option<usize> {
        let offset = match instance.elements {
            2.. => offset % instance.stride.max(1),
            _ => offset,
        };
        let mut places = layout.places.iter();
        places
            .position(|atom_place| (atom_place.offset..atom_place.end).contains(&u64::from(offset)))
    }

    /// With the members that stay.
    fn options_with_kept(&self, options: &Options) -> Options {
        Options {
            keep: self.kept_members.clone(),
            ..options.clone()
        }
    }

    /// Scores what was given, and looks for better.
    fn search_layouts(&mut self, input: &ResolvedProfile<'_>, options: &Options) {
        input
            .progress
            .step(&format!("replaying layouts of {}", self.name));
        let options = self.options_with_kept(options);
        let outcome = relayout_search::advise(
            self.search_subject(input.line_bytes),
            &self.given_layouts,
            &options,
        );
        self.search_outcome = outcome.map_err(|refusal| refusal.to_string());
    }

    /// Why there is nothing to seek, if so.
    fn skip_reason(&self, line_bytes: u32) -> Option<String> {
        let refusal = relayout_search::refusal(&self.search_subject(line_bytes));
        let one_member = || (self.shape.atoms.len() < 2).then(|| "it has one member".to_owned());
        refusal.map(|reason| reason.to_string()).or_else(one_member)
    }
}

/// Runs the command.
///
/// # Errors
/// Unreadable input, a layout file that does not fit its type, an unwritable patch.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    args.validate_paths()?;
    let probed = args.machine.read_probed(args.pair_coefficient)?;
    let (output, exit) =
        resolved::with_resolved_profile(&args.profile, &args.debug, |input, images| {
            advise_on_profile(args, &probed, input, &ResolvedNames::new(input, images))
        })?;
    print_text(&output)?;
    Ok(exit)
}

fn advise_on_profile(
    args: &Args,
    probed: &ProbedMachine,
    input: &ResolvedProfile<'_>,
    identified: &ResolvedNames<'_, '_>,
) -> anyhow::Result<(String, ExitStatus)> {
    if args.types.len() != 1 && !(args.layout.is_empty() && args.keep.is_empty()) {
        bail!("--layout and --keep name members, so they need one TYPE");
    }
    let options = Options {
        intervals: args.top,
        pair_coefficient: probed.pair_coefficient,
        ..search_effort(args.types.is_empty())
    };
    let (mut advised, skipped) = match args.types.is_empty() {
        true => most_contended_types(input),
        false => {
            let gather_named =
                |name: &String| gather_with_layout_files(input, name, &args.layout, &args.keep);
            let all: anyhow::Result<_> = args.types.iter().map(gather_named).collect();
            (all?, Vec::new())
        }
    };
    let read_build = |config| others::ConfigurationBuild::read(input, &advised, config);
    let builds: anyhow::Result<Vec<others::ConfigurationBuild>> =
        args.config.iter().map(read_build).collect();
    let builds = builds?;
    for (index, type_advice) in advised.iter_mut().enumerate() {
        type_advice.configuration_shapes = others::shapes_of_type(&builds, index);
        type_advice.search_layouts(input, &options);
    }
    for type_advice in &mut advised {
        type_advice.member_uses = evidence::member_uses(type_advice, identified);
        type_advice.guard_advice = check::best_guards(input, type_advice, identified, &options);
    }
    others::add_configuration_scores(input, &mut advised, &builds, args.top, &options);
    for profile_path in &args.also {
        others::add_workload_scores(&mut advised, profile_path, &args.debug, args.top, &options)?;
    }
    let notes = probed.predict_gains(input, &mut advised, args.top);
    let write_patch = |type_advice| {
        let dir = args.source.as_deref()?;
        patch::write_best_patch(input, type_advice, dir, args.top)
    };
    let mut patches: Vec<Option<patch::PatchOutcome>> = advised.iter().map(write_patch).collect();
    if let Some(dir) = &args.source
        && !args.compile.is_empty()
    {
        let compiler = compiled::CompileTester::open(input, dir)?;
        for (type_advice, patch) in advised.iter().zip(&mut patches) {
            if let Some(patch::PatchOutcome::Diff(written_patch)) = patch {
                written_patch.compile_tests =
                    compiler.test_configurations(&args.compile, type_advice, written_patch)?;
            }
        }
    }
    let saved = match &args.patch {
        Some(path) => patch::save_patches(input, &advised, &patches, args, path)?,
        None => patch::SavedPatches::Nothing,
    };
    let exit = match patches.iter().flatten().any(patch::PatchOutcome::is_bad) {
        true => ExitStatus::Failed,
        false => ExitStatus::Done,
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
            json::advise_json(input, &advised, &patches, &skipped, args.top, &notes)?,
            exit,
        ));
    }
    let shown = text::AdviceTextOptions {
        top: args.top,
        listings: !args.types.is_empty(),
        patches: args.source.is_some(),
        diffs: saved == patch::SavedPatches::Nothing,
        patch_file: args.patch.clone(),
        rejected_file: args.patch.as_deref().map(patch::rejected_path),
        notes,
    };
    Ok((
        text::advise_text(input, &advised, &patches, &skipped, &shown),
        exit,
    ))
}

/// How much to try; less of each where no type was named, and several are searched.
fn search_effort(several_types: bool) -> Options {
    let full = Options::default();
    match several_types {
        false => full,
        true => Options {
            budget_accesses: full.budget_accesses / BUDGET_DIVISOR,
            effort_rows: full.effort_rows / BUDGET_DIVISOR,
            two_moves_max: full.two_moves_max / BUDGET_DIVISOR as usize,
            ..full
        },
    }
}

/// The types with the most transfers that can be laid out again, and what was passed over on the way, with
/// the reason.
fn most_contended_types<'a>(
    input: &ResolvedProfile<'a>,
) -> (Vec<TypeAdvice<'a>>, Vec<ContendedType>) {
    let (mut gathered_types, mut skipped) = (Vec::new(), Vec::new());
    for mut contended in gather::rank_contended_types(input) {
        if gathered_types.len() == UNNAMED_TYPES_MAX {
            break;
        }
        if contended.skip_reason.is_none() {
            match gather_with_layout_files(input, &contended.name, &[], &[]) {
                Ok(gathered) => match gathered.skip_reason(input.line_bytes) {
                    None => gathered_types.push(gathered),
                    reason => contended.skip_reason = reason,
                },
                Err(error) => contended.skip_reason = Some(error.to_string()),
            }
        }
        if contended.skip_reason.is_some() {
            skipped.push(contended);
        }
    }
    (gathered_types, skipped)
}

/// As [`gather_on`], with layouts read from files.
fn gather_with_layout_files<'a>(
    input: &ResolvedProfile<'a>,
    name: &str,
    layouts: &[PathBuf],
    keep: &[String],
) -> anyhow::Result<TypeAdvice<'a>> {
    gather_type(input, name, keep, |shape| {
        let target = given::LayoutFileReader {
            types: input.resolution.types(),
            shape,
            line_bytes: input.line_bytes,
        };
        target.read_files(layouts)
    })
}

/// What was recorded of one type, searched; with layouts read from files.
pub(super) fn score_layout_files<'a>(
    input: &ResolvedProfile<'a>,
    name: &str,
    layouts: &[PathBuf],
    options: &Options,
) -> anyhow::Result<TypeAdvice<'a>> {
    let mut type_advice = gather_with_layout_files(input, name, layouts, &options.keep)?;
    type_advice.search_layouts(input, options);
    Ok(type_advice)
}

/// The same with layouts of its shape that `given` makes.
pub(super) fn score_layouts<'a>(
    input: &ResolvedProfile<'a>,
    name: &str,
    options: &Options,
    make_layouts: impl FnOnce(&StructShape) -> anyhow::Result<Vec<UserLayout>>,
) -> anyhow::Result<TypeAdvice<'a>> {
    let mut type_advice = gather_type(input, name, &options.keep, make_layouts)?;
    type_advice.search_layouts(input, options);
    Ok(type_advice)
}

/// Gathers what was recorded of one type, of which `keep` shall stay; `given` makes layouts of its shape.
fn gather_type<'a>(
    input: &ResolvedProfile<'a>,
    name: &str,
    keep: &[String],
    make_layouts: impl FnOnce(&StructShape) -> anyhow::Result<Vec<UserLayout>>,
) -> anyhow::Result<TypeAdvice<'a>> {
    let types: &'a TypeArena = input.resolution.types();
    let tag = name.trim_start_matches("struct ").trim();
    input.progress.step(&format!("gathering accesses to {tag}"));
    let Some(objects) = gather::find_objects(input, tag) else {
        let names = gather::struct_names(input);
        let close_names = suggestions::similar_names(names.iter().map(String::as_str), tag);
        bail!(
            "no object of struct {tag} is in the profile{} (see `relayout report` for those that are)",
            suggestions::suggestion_suffix(&close_names)
        );
    };
    let abi = AbiEngine::new(types);
    let aggregate = match abi.flatten_anonymous(objects.aggregate) {
        Some(flattened) => Cow::Owned(flattened),
        None => Cow::Borrowed(objects.aggregate),
    };
    let shape = abi.shape(&aggregate)?;
    let first_member = pinned_first_member(types, &aggregate);
    for kept_member in keep {
        if !shape
            .atoms
            .iter()
            .any(|atom| atom.names.contains(kept_member))
        {
            let suggestion =
                suggestions::suggestion_suffix(&suggestions::similar_members(&shape, kept_member));
            bail!("struct {tag} has no member '{kept_member}' to keep{suggestion}");
        }
    }
    Ok(TypeAdvice {
        name: tag.to_owned(),
        aggregate,
        given_layouts: make_layouts(&shape)?,
        shape,
        instances: objects.instances,
        objects: objects.objects,
        memory: objects.memory,
        kept_members: keep.iter().cloned().chain(first_member.clone()).collect(),
        first_member,
        tail_element_bytes: objects.tail_element_bytes,
        configuration_shapes: Vec::new(),
        search_outcome: Err("nothing was sought".to_owned()),
        guard_advice: None,
        member_uses: Vec::new(),
        scenarios: Vec::new(),
    })
}
