//! `relayout advise`: candidate layouts of the types that a profile shows to be contended.

use std::path::PathBuf;

use clap_complete::ArgValueCandidates;
use relayout_advice::{
    LayoutChoice, ResolvedNames, ResolvedProfile, SearchRequest, verify_layout_files,
};
use relayout_messages::UserError;
use relayout_report::Document as _;
use relayout_report::documents::advise::{AdviseDocument, advise_document};
use relayout_report::exports::mail::patch::patch_mail;
use relayout_report::text::advise::{AdviceTextOptions, advise_text};
use relayout_session::advise::{
    AdviceRequest, AdviceRun, PatchOutcome, advise_types, read_layout_files, rejected_path,
    write_hardware_script, write_mails,
};
use relayout_session::{ProfileCache, run_judgements, verify_profile_path};
use relayout_toolchain::kernel_build::KernelConfiguration;
use relayout_workflows::simulate::TimeBudget;

use super::document_files::DocumentArgs;
use super::machine_args::MachineArgs;
use super::simulated_change::{SimulatedChangeArgs, with_simulation};
use crate::arguments;
use crate::complete;
use crate::exit::ExitStatus;
use crate::kept_advice::AdviceQuestion;
use crate::print::{TextKind, print_rendered};
use crate::resolved;

const EXAMPLES: &str = "\
Examples:
  relayout advise out.relayout pcpu_chunk --layout proposed.txt
  relayout advise out.relayout pcpu_chunk --source linux --patch pcpu_chunk.patch
  relayout advise out.relayout pcpu_chunk --source linux --patch pcpu_chunk.patch --pick 2
  relayout advise stat.relayout dentry --simulate";

/// Search for layouts of a type that cost fewer transfers, by replaying the recording
///
/// Moves of one to three members, alignments, and rewrites of the whole order are scored. The
/// smallest edit that is worth it is recommended, with the answers to what a reviewer asks.
/// --layouts adds the layouts as pahole prints them, --all adds all that was found out.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Profile written by `relayout record`
    pub profile: PathBuf,
    /// Structs to advise on; without any, the three with the most transfers
    #[arg(value_name = "TYPE", add = ArgValueCandidates::new(complete::types))]
    pub types: Vec<String>,
    /// Use this debug file (vmlinux, or the program) [default: the one recorded with]; may be given
    /// more than once, for shared libraries too, which are told by their build ids
    #[arg(long, value_name = "FILE")]
    pub debug: Vec<PathBuf>,
    /// Print JSON (schema relayout/advise/1)
    #[arg(long)]
    pub json: bool,
    /// Score this layout too: a file with the struct as C or as pahole prints it, or with one
    /// member per line, `name`, or `name @64` to align it; `-` reads standard input; may be given
    /// more than once. With --source the first becomes the patch
    #[arg(long, value_name = "FILE")]
    pub layout: Vec<PathBuf>,
    /// Keep this member at its offset; may be given more than once
    #[arg(long, value_name = "MEMBER")]
    pub keep: Vec<String>,
    /// Cost, in transfers, of another CPU's store to the other line of an aligned pair [default:
    /// what `relayout probe` measured, as --machine]
    #[arg(long, value_name = "X", value_parser = crate::arguments::coefficient)]
    pub pair_coefficient: Option<f64>,
    /// Score the layouts in this recording of another workload too, and say which of them hurt it;
    /// may be given more than once
    #[arg(long, value_name = "PROFILE")]
    pub also: Vec<PathBuf>,
    /// Score the layouts as this build of another configuration would have them too, and rank them
    /// by the one where each does worst; may be given more than once
    #[arg(long = "other-build", alias = "config", value_name = "NAME=VMLINUX", value_parser = parse_named_file)]
    pub other_builds: Vec<(String, PathBuf)>,
    /// Write a patch against this source tree
    #[arg(long, value_name = "DIR")]
    pub source: Option<PathBuf>,
    /// Write the patch to this file, with a message, as `git format-patch` does [default: the diff
    /// is shown with the text]
    #[arg(long, value_name = "FILE", requires = "source")]
    pub patch: Option<PathBuf>,
    /// Compile what includes the patched file in this configuration of the kernel, without the
    /// patch and with it, and compare the layouts; may be given more than once. Runs make on a copy
    /// of the source. A patch that is bad goes to FILE.rejected, and the exit code is 1
    #[arg(long, value_name = "ARCH:CONFIG", requires = "source")]
    pub compile: Vec<KernelConfiguration>,
    /// Write a script to this file that measures a kernel's patch on the hardware of another
    /// machine, and puts the table into the patch's message
    #[arg(long, value_name = "FILE", requires = "patch")]
    pub hardware_script: Option<PathBuf>,
    /// Write the patch in spite of doubts, and state them in its message: few transfers or objects,
    /// uncertain types, more threads than CPUs, a busy host, a part of the recording without gain
    #[arg(long, requires = "source")]
    pub force: bool,
    /// Show the first N candidates, and all that nothing else beats
    #[arg(long, value_name = "N", default_value_t = SearchRequest::TOP_DEFAULT, value_parser = arguments::whole::<usize>)]
    pub top: usize,
    /// Recommend only layouts that move at most N members
    #[arg(long, value_name = "N", value_parser = arguments::whole::<usize>)]
    pub max_moves: Option<usize>,
    /// Write the patch of candidate N of the table, not of the recommended one
    #[arg(long, value_name = "N", requires = "source", value_parser = parse_candidate_number)]
    pub pick: Option<usize>,
    /// Print today's layout and the recommended one as pahole does
    #[arg(long)]
    pub layouts: bool,
    /// Leave nothing out: print accesses, all candidates, what was not scored, the limits of the method
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub machine: MachineArgs,
    #[command(flatten)]
    pub simulated: SimulatedChangeArgs,
    #[command(flatten)]
    pub files: DocumentArgs,
}

impl Args {
    /// Rejects paths that would fail after all the work.
    fn validate_paths(&self) -> Result<(), UserError> {
        for profile in &self.also {
            let meta = profile.join("meta.json");
            if !profile.is_dir() || !meta.is_file() {
                // Fails with the reason.
                relayout_profile::read(profile)?;
            }
        }
        arguments::verify_source(self.source.as_deref())?;
        for file in self.patch.iter().chain(&self.hardware_script) {
            let folder = file
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty());
            if folder.is_some_and(|folder| !folder.is_dir()) || file.is_dir() {
                return Err(UserError::input(format!(
                    "cannot write {}: its folder is not there, or it is one itself",
                    file.display()
                )));
            }
        }
        Ok(())
    }
}

/// Parses the number of a candidate, from 1.
fn parse_candidate_number(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("candidates are counted from 1".to_owned()),
        Ok(number) => Ok(number),
    }
}

/// Parses `NAME=VMLINUX`.
fn parse_named_file(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => {
            Ok((name.to_owned(), file.into()))
        }
        _ => Err("write NAME=FILE, as in debug=build-debug/vmlinux".to_owned()),
    }
}

/// Runs the command.
///
/// # Errors
/// Unreadable input, a layout file that does not fit its type, an unwritable patch.
pub fn run(args: &Args) -> Result<ExitStatus, UserError> {
    verify_profile_path("advise", &args.profile, &args.types)?;
    args.validate_paths()?;
    args.files.verify_files()?;
    if args.types.len() != 1 && !(args.layout.is_empty() && args.keep.is_empty()) {
        return Err(UserError::input(
            "--layout and --keep name members, so they need one TYPE",
        ));
    }
    let layout_type = args.types.first().map(String::as_str).unwrap_or_default();
    let request = advice_request(args, layout_type)?;
    let simulation = (args.simulated).request(&args.machine, TimeBudget::ByWaiting)?;
    let (output, exit) = resolved::with_verified_profile(
        &args.profile,
        &args.debug,
        |images| verify_layout_files(images, layout_type, &request.layout_files),
        |resolved, images| {
            let names = ResolvedNames::new(resolved, images);
            let run = match &simulation {
                None => advise_types(resolved, &names, &request, None)?,
                Some(simulation) => {
                    let choice = args.simulated.guest_choice(&args.machine);
                    with_simulation(resolved, choice, simulation, |simulator| {
                        advise_types(resolved, &names, &request, Some(simulator))
                    })?
                }
            };
            let cache = ProfileCache::locate(&args.profile, &args.debug);
            let is_simulated = simulation.is_some();
            if !is_simulated {
                cache.add_judgements(&run_judgements(resolved, &run, &request));
            }
            let document = advise_document(resolved, &run, args.top);
            let has_mails = save_patches(args, &document, resolved, &run)?;
            let exit = ExitStatus::failed_if(run.has_bad_patch());
            let title = format!("relayout advise {}", resolved.profile.meta.workload);
            (args.files).write_files(&title, || Ok(document.to_json()?))?;
            if args.json {
                return Ok((document.to_json()?, exit));
            }
            let options = AdviceTextOptions {
                top: args.top,
                layouts: args.layouts,
                all: args.all,
                patches: args.source.is_some(),
                diffs: !has_mails,
                patch_file: args.patch.clone(),
                rejected_file: args.patch.as_deref().map(rejected_path),
            };
            let text = advise_text(&document, resolved, &run, &options);
            // Of a simulation, the windows are kept.
            if let [patched] = run.types.as_slice()
                && !is_simulated
            {
                let type_name = &patched.advised.searched.gathered.name;
                cache.keep(
                    &AdviceQuestion::on_type(type_name, &request, &options),
                    &text,
                );
            }
            Ok((text, exit))
        },
    )?;
    print_rendered(&output, args.json, TextKind::Findings)?;
    Ok(exit)
}

/// Returns the settings of the search. `layout_type` is the struct that layout files are of.
fn advice_request(args: &Args, layout_type: &str) -> Result<AdviceRequest, UserError> {
    // A machine that the guest executes on needs no other prediction.
    let machine = match args.simulated.simulate {
        Some(_) => MachineArgs::default().read_probed(args.pair_coefficient)?,
        None => args.machine.read_probed(args.pair_coefficient)?,
    };
    Ok(AdviceRequest {
        search: SearchRequest {
            types: args.types.clone(),
            pinned: args.keep.clone(),
            top: args.top,
            moves_max: args.max_moves,
            machine,
            force: args.force,
        },
        layout_files: read_layout_files(layout_type, &args.layout)?,
        debug: args.debug.clone(),
        workloads: args.also.clone(),
        configurations: args.other_builds.clone(),
        source: args.source.clone(),
        compile: args.compile.clone(),
        choice: match args.pick {
            Some(number) => LayoutChoice::Picked(number),
            None if !args.layout.is_empty() => LayoutChoice::Given,
            None => LayoutChoice::Recommended,
        },
    })
}

/// Writes the files of --patch and --hardware-script. Returns true if there is a patch in a file.
fn save_patches(
    args: &Args,
    document: &AdviseDocument,
    resolved: &ResolvedProfile<'_>,
    run: &AdviceRun<'_>,
) -> Result<bool, UserError> {
    let mut has_mails = false;
    if let Some(file) = &args.patch {
        let author = args.source.as_deref().and_then(relayout_files::git_author);
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for (document, patched) in document.types.iter().zip(&run.types) {
            let is_bad = patched.patch.as_ref().is_some_and(PatchOutcome::is_bad);
            let mails = if is_bad { &mut bad } else { &mut good };
            mails.extend(patch_mail(document, resolved, patched, author.as_deref()));
        }
        if author.is_none() && !good.is_empty() {
            resolved.progress.warn(
                "git knows no author here: the patch is from \"Your Name <you@example.org>\"; git \
                 config user.name and user.email",
            );
        }
        write_mails(file, &good)?;
        write_mails(&rejected_path(file), &bad)?;
        run.warn_of_order_uses(resolved);
        has_mails = !good.is_empty() || !bad.is_empty();
    }
    if let Some(path) = &args.hardware_script {
        if resolved.profile.meta.target != "kernel" {
            resolved.progress.warn(
                "the script of --hardware-script builds kernels, and this is a recording of a \
                 program: `relayout verify` compares two builds of that",
            );
        }
        write_hardware_script(path)?;
    }
    Ok(has_mails)
}
