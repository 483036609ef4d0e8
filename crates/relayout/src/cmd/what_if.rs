//! `relayout what-if`: the cost of a given layout beside today's.

use std::path::PathBuf;

use clap_complete::ArgValueCandidates;
use relayout_advice::{
    LayoutEdits, MemberBytes, MemberMove, TypeMapping, score_given_layouts, verify_layout_files,
};
use relayout_messages::UserError;
use relayout_report::Document as _;
use relayout_report::documents::advise::what_if_document;
use relayout_report::text::advise::what_if_text;
use relayout_session::advise::read_layout_files;
use relayout_session::verify_profile_path;
use relayout_workflows::simulate::TimeBudget;

use super::document_files::DocumentArgs;
use super::machine_args::MachineArgs;
use super::simulated_change::{SimulatedChangeArgs, with_simulation};
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
    /// With --simulate: let code compare this member before it stores to it, in the layout of --move, --align and --pad, or
    /// in today's without these. Stores that change nothing are loads then; may be given more than once
    #[arg(long = "check", value_name = "MEMBER", requires = "simulate")]
    pub checks: Vec<String>,
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

/// Says what the replayed transfers leave out.
fn unchecked_note(checks: &[String]) -> Option<String> {
    (!checks.is_empty()).then(|| {
        format!(
            "Transfers are replayed without the checks of {}; `relayout advise` replays guards of single statements.",
            checks.join(", ")
        )
    })
}

/// Runs the command.
///
/// # Errors
/// Unreadable input, a layout that does not fit the type.
pub fn run(args: &Args) -> Result<(), UserError> {
    args.files.verify_files()?;
    let edits = LayoutEdits {
        moves: args.moves.clone(),
        alignments: args.align.clone(),
        paddings: args.pad.clone(),
        checks: args.checks.clone(),
    };
    if args.layout.is_empty() && edits.is_empty() {
        return Err(UserError::input("no layout is given")
            .with_remedy("give --layout FILE, or today's with --move, --align or --pad"));
    }
    let simulation = (args.simulated).request(&args.machine, TimeBudget::Unlimited)?;
    let machine = match simulation {
        Some(_) => MachineArgs::default().read_probed(args.pair_coefficient)?,
        None => args.machine.read_probed(args.pair_coefficient)?,
    };
    let type_name = &args.type_name;
    verify_profile_path("what-if", &args.profile, std::slice::from_ref(type_name))?;
    let layouts = read_layout_files(type_name, &args.layout)?;
    let output = resolved::with_verified_profile(
        &args.profile,
        &args.debug,
        |images| verify_layout_files(images, type_name, &layouts),
        |resolved, _| {
            let (searched, mut notes) =
                score_given_layouts(resolved, type_name, &layouts, &edits, &machine)?;
            let mut simulated = Vec::new();
            if let Some(request) = &simulation {
                let mapping = TypeMapping::find(resolved, &searched.gathered);
                let choice = args.simulated.guest_choice(&args.machine);
                simulated = with_simulation(resolved, choice, request, |simulation| {
                    simulation.simulate_given(&searched, &mapping, &edits)
                })?;
                notes.extend(unchecked_note(&args.checks));
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
