//! `relayout record run`: a program.

mod simulated_program;

use std::ffi::OsString;
use std::time::Duration;

use relayout_messages::UserError;
use relayout_record::{
    CountedAccesses, ProgramBackend, ProgramRecording, SlicePlan, StopSignals, record_program,
};
use relayout_report::text::record::program_summary;
use relayout_session::record::{decode_sampled_instruction, require_writable};

use self::simulated_program::{SimulatedProgram, SimulatedProgramArgs};
use super::{RepeatedRecording, default_profile};
use crate::arguments;
use crate::exit::ExitStatus;
use crate::option_groups::{ProfileArgs, RepeatArgs};
use crate::progress::TerminalProgress;

const EXAMPLES: &str = "\
Examples:
  make CC=\"relayout cc\" && relayout record run -o out.relayout -- ./server --threads 4
  relayout record run --slices 0.05 --stop-after 30 -o out.relayout -- ./server
  relayout record run --with qemu --machine sapphire-rapids-2s --cpus 16 --rates -- ./server --threads 200
  relayout report out.relayout

Ctrl-C goes to the program and to all that it started, and what was recorded is kept. Exit codes: 0 done, \
4 the program failed or nothing was recorded, 130 interrupted; what was recorded is written in all three \
cases. Ctrl-C after the program's end writes no profile.";

/// Run a program and record which threads touch which bytes of its memory
///
/// The program should have been built with 'relayout cc' and 'relayout c++' (see 'relayout help
/// cc'). Its input, output and error streams are left alone. The first process that holds code
/// built so, which may also be one that a script starts, is recorded, and all such processes that
/// are forked or executed from then on. The recording ends with the last of them.
///
/// With --machine, a program as it is runs in a guest under QEMU, in the simulated time of a machine
/// with many CPUs.
#[derive(Debug, clap::Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("output", |output| output.help(
        "Write the profile to this folder [default: the program's name, with .relayout]"
    )),
    mut_arg("seed", |seed| seed.help(
        "Seed where threads yield and slices begin with N; --repeat counts up from it"
    ))
)]
pub struct Args {
    #[command(flatten)]
    profile: ProfileArgs,
    /// Record in this way [default: as fits the program, and said]
    #[arg(long, value_name = "WAY")]
    with: Option<RecordBackend>,
    /// Record this fraction of the time, in slices of 20 ms that are the same for all threads; 1: all
    /// of it [default of programs built with 'relayout cc': all of it at first, and 9% once the
    /// program has computed for 1 s. Others: 1]
    #[arg(long, value_name = "SHARE", value_parser = arguments::share)]
    slices: Option<f64>,
    /// Go over to slices after this much time of computing, instead of 1
    #[arg(long, value_name = "TIME", value_parser = arguments::time, hide = true,
        conflicts_with = "slices")]
    slices_after: Option<Duration>,
    /// Count accesses by place and instruction for lines that are written and shared, or for all
    #[arg(long, value_name = "WHICH", default_value = "shared")]
    counts: CountedLines,
    /// Find out which stores leave every byte as it was, so that 'advise' can propose checks before
    /// stores; costs time on lines that threads share. For programs built with 'relayout cc'
    #[arg(long)]
    values: bool,
    /// Let another thread run after about N accesses of one, so that threads that share a CPU meet;
    /// 0: leave it to the system [default: 1000]
    #[arg(long = "yield", value_name = "N")]
    yield_every: Option<u32>,
    #[command(flatten)]
    repeat: RepeatArgs,
    /// Record the processes that the program forks or executes, too, each with its own memory
    /// [default, if the program was built with 'relayout cc']
    #[arg(long, overrides_with = "no_follow_forks")]
    follow_forks: bool,
    /// Record the first process only
    #[arg(long)]
    no_follow_forks: bool,
    /// Tell the program to end (SIGTERM) after this time (30, 30s, 5m); as for servers, which do not end
    /// by themselves
    #[arg(long, value_name = "TIME", value_parser = arguments::time)]
    stop_after: Option<Duration>,
    /// The same, but it is a failure
    #[arg(long, value_name = "TIME", value_parser = arguments::time, conflicts_with = "stop_after")]
    time_limit: Option<Duration>,
    #[command(flatten)]
    simulated: SimulatedProgramArgs,
    /// The program, and its arguments; what begins with a dash from here on is the program's
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum RecordBackend {
    /// Code that relayout cc compiled in
    Compiled,
    /// Any binary, under qemu-user; with --machine, in a guest under QEMU
    Qemu,
    /// Samples of accesses that hardware takes, by perf
    Perf,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum CountedLines {
    Shared,
    All,
}

/// Runs `relayout record run`.
///
/// # Errors
/// Bad input, a missing tool, or a program of which nothing was recorded.
pub fn run(args: &Args) -> Result<ExitStatus, UserError> {
    if args.simulated.is_asked_for() {
        refuse_host_way(args.with)?;
        return args.simulated.run(&SimulatedProgram {
            program: &args.program,
            profile: &args.profile,
            repeat: &args.repeat,
            time_limit: args.time_limit,
        });
    }
    let default_output = || default_profile(args.program[0].as_ref());
    let output = args.profile.output.clone().unwrap_or_else(default_output);
    require_writable(&output, args.profile.force)?;
    let signals = StopSignals::catch();
    let repeated = RepeatedRecording {
        times: args.repeat.repeat,
        progress: TerminalProgress::beside_program,
        signal_count: &|| signals.count(),
    };
    repeated.run(
        &output,
        args.profile.force,
        program_summary,
        |number, progress| {
            let recording = recording(args, args.repeat.seed.wrapping_add(number.into()));
            record_program(&recording, progress, signals, &decode_sampled_instruction)
        },
    )
}

/// Fails if a program in simulated time is to be recorded in a way that has only the time of the host.
fn refuse_host_way(way: Option<RecordBackend>) -> Result<(), UserError> {
    let option = match way {
        Some(RecordBackend::Compiled) => "--with compiled",
        Some(RecordBackend::Perf) => "--with perf",
        Some(RecordBackend::Qemu) | None => return Ok(()),
    };
    let text = format!(
        "--machine executes a program as it is in a guest under QEMU, and {option} records it on this machine"
    );
    let remedy = format!("give --with qemu in place of {option}, or leave out --machine");
    Err(UserError::input(text).with_remedy(remedy))
}

fn slice_plan(args: &Args) -> Option<SlicePlan> {
    match (args.slices, args.slices_after) {
        (Some(1.0), _) => Some(SlicePlan::Complete),
        (Some(share), _) => Some(SlicePlan::Share(share)),
        (None, after) => after.map(SlicePlan::Adaptive),
    }
}

fn recording(args: &Args, seed: u64) -> ProgramRecording {
    let (program, arguments) = args.program.split_first().expect("clap asks for it");
    ProgramRecording {
        program: program.clone(),
        arguments: arguments.to_vec(),
        backend: args.with.map(|with| match with {
            RecordBackend::Compiled => ProgramBackend::CompiledIn,
            RecordBackend::Qemu => ProgramBackend::QemuUser,
            RecordBackend::Perf => ProgramBackend::Perf,
        }),
        slices: slice_plan(args),
        counts: match args.counts {
            CountedLines::Shared => CountedAccesses::Shared,
            CountedLines::All => CountedAccesses::All,
        },
        values: args.values,
        bursts: args.repeat.bursts,
        yield_every: args.yield_every,
        seed,
        follow_forks: match (args.follow_forks, args.no_follow_forks) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        },
        time_limit: args.time_limit,
        stop_after: args.stop_after,
    }
}
