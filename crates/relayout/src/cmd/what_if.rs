//! `relayout what-if`: the cost of a given layout beside today's.

use std::path::PathBuf;
use std::time::Duration;

use clap_complete::ArgValueCandidates;
use relayout_advice::{
    LayoutEdits, MemberBytes, MemberMove, ResolvedNames, ResolvedProfile, SearchedType,
    TypeMapping, predict_curves, score_given_layouts, verify_layout_files,
};
use relayout_files::InterruptFlag;
use relayout_messages::UserError;
use relayout_report::Document as _;
use relayout_report::documents::advise::what_if_document;
use relayout_report::text::advise::what_if_text;
use relayout_session::advise::read_layout_files;
use relayout_session::verify_profile_path;
use relayout_workflows::simulate::{
    GuestChoice, LayoutSimulation, SimulatedChange, SimulationRequest, with_repeated_guest,
};

use super::advise::MachineArgs;
use super::document_files::DocumentArgs;
use crate::arguments;
use crate::complete;
use crate::print::{TextKind, print_rendered};
use crate::resolved;

const EXAMPLES: &str = "\
Examples:
  relayout what-if out.relayout pcpu_chunk --layout proposed.txt
  relayout what-if out.relayout pcpu_chunk --layout a.txt --layout b.txt --json
  relayout what-if out.relayout pcpu_chunk --move bound_map:before:base_addr --align base_addr=64
  relayout what-if stat.relayout dentry --move d_lockref:after:d_lru --simulate --cpus 8,20";

/// Score given layouts of a type beside today's, by replaying the recording
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Profile written by `relayout record`
    pub profile: PathBuf,
    /// Struct to lay out
    #[arg(value_name = "TYPE", add = ArgValueCandidates::new(complete::types))]
    pub type_name: String,
    /// Score this layout: a file with the struct as C or as pahole prints it, where members may be
    /// added as padding, or with one member per line, `name`, or `name @64` to align it; may be
    /// given more than once; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    pub layout: Vec<PathBuf>,
    /// Score today's layout with this member moved: `a:after:b`, `a:before:b`, `a:first`; may be
    /// given more than once. --move, --align and --pad make one layout
    #[arg(long = "move", value_name = "MOVE", value_parser = MemberMove::parse)]
    pub moves: Vec<MemberMove>,
    /// Score today's layout with this member aligned, as in `lock=64`; may be given more than once
    #[arg(long, value_name = "MEMBER=BYTES", value_parser = MemberBytes::parse_alignment)]
    pub align: Vec<MemberBytes>,
    /// Score today's layout with this many bytes of padding in front of the member, as in `lock=40`;
    /// may be given more than once
    #[arg(long, value_name = "MEMBER=BYTES", value_parser = MemberBytes::parse_padding)]
    pub pad: Vec<MemberBytes>,
    /// Use this debug file (vmlinux, or the program) [default: the one recorded with]; may be given
    /// more than once, for shared libraries too, which are told by their build ids
    #[arg(long, value_name = "FILE")]
    pub debug: Vec<PathBuf>,
    /// Cost, in transfers, of another CPU's store to the other line of an aligned pair [default:
    /// what `relayout probe` measured, as --machine]
    #[arg(long, value_name = "X", value_parser = crate::arguments::coefficient)]
    pub pair_coefficient: Option<f64>,
    /// Print JSON (schema relayout/what-if/1)
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub files: DocumentArgs,
    #[command(flatten)]
    pub machine: MachineArgs,
    #[command(flatten)]
    pub simulated: SimulatedChangeArgs,
}

/// Simulation of what a layout brings.
#[derive(Clone, Debug, clap::Args)]
pub struct SimulatedChangeArgs {
    /// Execute the recorded guest again in simulated time, as it was and with the members elsewhere, and print what the
    /// layouts bring: on the recorded machine or that of --machine, with the recorded CPUs or those of --cpus. For
    /// recordings of a kernel's workload. TIME is that of a window [default: as recorded]
    #[arg(
        long,
        value_name = "TIME",
        num_args = 0..=1,
        require_equals = true,
        value_parser = arguments::simulated_time
    )]
    pub simulate: Option<Option<Duration>>,
    /// Execute both again with N draws of the machine's rules that nobody measured: they make the interval
    #[arg(long, value_name = "N", default_value_t = 8, requires = "simulate", value_parser = clap::value_parser!(u16).range(..=500))]
    pub draws: u16,
    /// Take the guest's kernel from here: a name, or a folder with boot image and vmlinux [default: the cached one with
    /// the recorded build id]
    #[arg(long, value_name = "NAME|DIR", requires = "simulate", add = ArgValueCandidates::new(complete::kernels))]
    pub kernel: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// Unreadable input, a layout that does not fit the type.
pub fn run(args: &Args) -> Result<(), UserError> {
    args.files.verify_files()?;
    let has_edits = !(args.moves.is_empty() && args.align.is_empty() && args.pad.is_empty());
    if args.layout.is_empty() && !has_edits {
        return Err(UserError::input("no layout is given")
            .with_remedy("give --layout FILE, or today's with --move, --align or --pad"));
    }
    let simulation = args.simulation_request()?;
    let machine = match simulation {
        Some(_) => MachineArgs::default().read_probed(args.pair_coefficient)?,
        None => args.machine.read_probed(args.pair_coefficient)?,
    };
    let type_name = &args.type_name;
    verify_profile_path("what-if", &args.profile, std::slice::from_ref(type_name))?;
    let layouts = read_layout_files(type_name, &args.layout)?;
    let edits = LayoutEdits {
        moves: args.moves.clone(),
        alignments: args.align.clone(),
        paddings: args.pad.clone(),
    };
    let output = resolved::with_verified_profile(
        &args.profile,
        &args.debug,
        |images| verify_layout_files(images, type_name, &layouts),
        |resolved, images| {
            let (mut searched, mut notes) =
                score_given_layouts(resolved, type_name, &layouts, &edits, &machine)?;
            let mut simulated = Vec::new();
            if let Some(request) = &simulation {
                simulated = args.simulate(request, resolved, &searched)?;
            } else if let Some(request) = args.machine.curve_request(&machine) {
                let names = ResolvedNames::new(resolved, images);
                notes.extend(predict_curves(resolved, &names, &mut searched, &request, 0));
            }
            let document = what_if_document(resolved, &searched, &notes, &simulated);
            (args.files).write_files(&format!("relayout what-if {type_name}"), || {
                Ok(document.to_json()?)
            })?;
            match args.json {
                true => Ok(document.to_json()?),
                false => Ok(what_if_text(&document, resolved, &searched)),
            }
        },
    )?;
    print_rendered(&output, args.json, TextKind::Findings)
}

impl Args {
    /// Returns the windows that the options ask for.
    fn simulation_request(&self) -> Result<Option<SimulationRequest>, UserError> {
        let Some(length) = self.simulated.simulate else {
            return Ok(None);
        };
        let cpus: Option<Vec<u16>> = { self.machine.cpus.iter() }
            .map(|&cpus| u16::try_from(cpus).ok())
            .collect();
        Ok(Some(SimulationRequest {
            cpus: cpus.ok_or_else(|| UserError::input("a guest has at most 1024 CPUs"))?,
            length,
            draws: self.simulated.draws,
        }))
    }

    fn simulate(
        &self,
        request: &SimulationRequest,
        resolved: &ResolvedProfile<'_>,
        searched: &SearchedType<'_>,
    ) -> Result<Vec<SimulatedChange>, UserError> {
        let choice = GuestChoice {
            machine: self.machine.machine.as_deref(),
            kernel: self.simulated.kernel.as_deref(),
        };
        let mapping = TypeMapping::find(resolved, &searched.gathered);
        let interrupt = InterruptFlag::catch();
        with_repeated_guest(&resolved.profile.meta, choice, interrupt, |guest| {
            let simulation = LayoutSimulation {
                guest,
                searched,
                mapping: &mapping,
                request,
                progress: resolved.progress,
            };
            simulation.run()
        })
    }
}
