//! `relayout record perf`: samples that hardware took.

use std::path::{Path, PathBuf};

use relayout_record::perf::{PerfImport, import_perf};
use relayout_profile::Profile;
use relayout_profile::perf::SampledInstruction;
use relayout_resolve::insn::x86::X86InsnSet;
use relayout_resolve::insn::{DecodedInsn, InstructionSet as _};

use super::{FinishedRecordings, require_writable};
use crate::exit::ExitStatus;
use crate::progress::TerminalProgress;

const EXAMPLES: &str = "\
Examples:
  perf mem record -o server.data -- ./server
  relayout record perf server.data -o server.relayout
  relayout report server.relayout

  perf c2c record -a -o all.data -- sleep 10
  relayout record perf all.data --kernel --debug vmlinux -o kernel.relayout

Of Arm SPE, make samples first: perf inject --itrace=M -i spe.data -o samples.data";

/// Import what 'perf mem record' or 'perf c2c record' wrote (Intel PEBS, AMD IBS, Arm SPE)
///
/// One process is imported, or the accesses to the kernel's memory; threads or CPUs are the
/// contexts. Samples are few of all accesses, so that 'relayout report' estimates transfers, from
/// rates and from the order of the samples, and says so. Run it where the program's files are:
/// instructions and types come from them.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// File written by perf
    file: PathBuf,
    /// Write the profile to this folder
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Replace an existing profile
    #[arg(long)]
    force: bool,
    /// Import the accesses of process PID [default: the one with most samples]
    #[arg(long, value_name = "PID", conflicts_with = "kernel")]
    pid: Option<u32>,
    /// Import accesses to the kernel's memory, by any process
    #[arg(long)]
    kernel: bool,
    /// The program's debug file [default: the program], or with --kernel its vmlinux, which also
    /// undoes KASLR
    #[arg(long, value_name = "FILE")]
    debug: Option<PathBuf>,
    /// Say less
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the command.
///
/// # Errors
/// A file that cannot be read or holds no accesses to memory.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    require_writable(&args.output, args.force)?;
    let import = PerfImport {
        file: args.file.clone(),
        pid: args.pid,
        kernel: args.kernel,
        debug: args.debug.clone(),
    };
    let progress = TerminalProgress::when_slow();
    relayout_files::RecordingProgress::step(&progress, "reading samples");
    let recorded = import_perf(&import, &decode);
    progress.finish();
    let recorded = recorded?;
    if !args.quiet {
        recorded
            .notes
            .iter()
            .for_each(|note| eprintln!("relayout: note: {note}"));
    }
    let recordings = FinishedRecordings {
        profiles: vec![recorded.profile],
        problem: recorded.problem,
    };
    recordings.save(&args.output, args.force, args.quiet, &summary)
}

/// Decodes the instruction at `pc` into the fields that an import needs. See
/// [`relayout_record::perf::Decoder`].
pub(super) fn decode(pc: u64, bytes: &[u8]) -> Option<SampledInstruction> {
    let insn: DecodedInsn = X86InsnSet.decode(pc, bytes)?;
    let operands = || insn.memory.iter().flatten();
    let fixed = |bytes: u32| u8::try_from(bytes).unwrap_or(0);
    let operand = insn.operand(false);
    Some(SampledInstruction {
        bytes: bytes.get(..usize::from(insn.len))?.to_vec(),
        access_bytes: operand.filter(|o| !o.string).map_or(0, |o| fixed(o.bytes)),
        modifies: operands().any(|operand| operand.reads && operand.writes),
    })
}

fn summary(output: &Path, profile: &Profile) -> String {
    let meta = &profile.meta;
    let origin = match meta.target.as_str() {
        "kernel" => format!("kernel addresses, by {} CPUs", meta.contexts),
        _ => format!("{}, by {} threads", meta.release, meta.contexts),
    };
    let samples: u64 = meta.runs.iter().map(|run| run.accesses).sum();
    let hitm = if meta.hitm_seen {
        "HITM told"
    } else {
        "HITM not told"
    };
    let addresses: usize = profile.counts.len();
    format!(
        "{}: {samples} samples of {origin}: {} instructions, {addresses} places; {hitm}\n",
        output.display(),
        profile.sites.len(),
    )
}
