//! `relayout record kernel`: a kernel under QEMU.

use std::path::{Path, PathBuf};
use std::time::Duration;

use relayout_files::{CacheFolder, DebugFile, InterruptFlag};
use relayout_record::{GuestKernel, GuestWork, GuestWorkload, KernelRecording, QemuCollector, find_collector, find_workload, record_kernel, workloads};
use relayout_profile::Profile;

use super::{RepeatedRecording, require_writable};

use crate::exit::ExitStatus;
use crate::print::print_text;
use crate::progress::TerminalProgress;

const EXAMPLES: &str = "\
Examples:
  relayout record kernel --workload mntns -o out.relayout
  relayout record kernel --run ./server-test --cpus 8 --repeat 3 -o out.relayout";

/// Boot a kernel under QEMU and record what its code touches while a workload runs
///
/// The kernel is not modified and no hardware counters are needed. Without --image and --debug the
/// kernel that scripts/setup.sh fetched is recorded.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Run this workload in the guest; `list` names them
    #[arg(
        long,
        value_name = "NAME",
        required_unless_present = "run",
        conflicts_with = "run"
    )]
    workload: Option<String>,
    /// Run this static program instead, with the arguments in --run-arg; recorded from its first
    /// marker (see collectors/guest/marker.h), else from exec to exit
    #[arg(long, value_name = "PROGRAM")]
    run: Option<PathBuf>,
    /// Pass this argument to the program; may be given more than once
    #[arg(long, value_name = "ARG", requires = "run", allow_hyphen_values = true)]
    run_arg: Vec<String>,
    /// Write the profile to this folder
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Replace an existing profile
    #[arg(long)]
    force: bool,
    /// Boot this kernel image [default: the cached stock kernel]
    #[arg(long, value_name = "BZIMAGE")]
    image: Option<PathBuf>,
    /// Use its vmlinux with debug information [default: the cached stock kernel's]
    #[arg(long, value_name = "VMLINUX")]
    debug: Option<PathBuf>,
    /// Give the guest N CPUs
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=48))]
    cpus: u16,
    /// Run the workload in N threads [default: one per CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
    /// Do N operations in each thread [default: the workload's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    iterations: Option<u64>,
    /// Seed the workload, and where CPUs yield, with N; --repeat counts up from it
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Let the host run another CPU after about N accesses of one; 0: leave it to the host
    #[arg(long = "yield", value_name = "N", default_value_t = 1000)]
    yield_every: u32,
    /// Give the guest this much memory, in MiB or with a suffix: 2G
    #[arg(long, value_name = "SIZE", default_value = "2G", value_parser = size)]
    memory: u64,
    /// Append this to the kernel command line
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    append: String,
    /// Record N times with other seeds, and keep how stable each finding was
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    repeat: u16,
    /// Keep N accesses in order, for replaying layouts [default: 4000000]
    #[arg(long, value_name = "N")]
    bursts: Option<u64>,
    /// Give up when booting, or the workload, takes longer than this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..))]
    time_limit: u64,
    /// Use this QEMU [default: $RELAYOUT_QEMU, the cached one, or the one in $PATH]
    #[arg(long, value_name = "PROGRAM")]
    qemu: Option<PathBuf>,
    /// Open the window but watch nothing, and print the CPU time used in it: the baseline for what
    /// recording costs
    #[arg(long = "idle", conflicts_with_all = ["output", "repeat"])]
    idle: bool,
    /// Say less
    #[arg(short, long)]
    quiet: bool,
    /// Pass these to QEMU too: NUMA nodes, disks
    #[arg(last = true, value_name = "QEMU-ARGS")]
    qemu_arguments: Vec<String>,
}

/// Runs `relayout record kernel`.
///
/// # Errors
/// Bad input, a missing tool, or a guest of which nothing was recorded.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    if args.workload.as_deref() == Some("list") {
        return print_workloads();
    }
    if let Some(name) = &args.workload {
        find_workload(name)?;
    }
    match &args.output {
        Some(output) => require_writable(output, args.force)?,
        None if args.idle => {}
        None => anyhow::bail!("say where the profile goes: -o OUT"),
    }
    let cache = CacheFolder::locate();
    let image = args
        .image
        .clone()
        .or_else(|| cache.as_ref()?.kernel_image());
    let debug = args
        .debug
        .clone()
        .or_else(|| cache.as_ref()?.kernel_debug_file());
    let image = image.ok_or_else(|| no_kernel("kernel image", "--image"))?;
    let debug = debug.ok_or_else(|| no_kernel("vmlinux with debug information", "--debug"))?;
    let collector = find_collector(args.qemu.as_deref(), cache.as_ref())?;
    let debug = DebugFile::open(&debug)?;
    let kernel = GuestKernel::open(&image, &debug)?;
    let interrupt = InterruptFlag::catch();
    if args.idle {
        return idle(args, &kernel, &collector, interrupt);
    }
    let output = args.output.as_deref().expect("checked above");
    let repeats = RepeatedRecording {
        times: args.repeat,
        quiet: args.quiet,
        shown: TerminalProgress::new,
    };
    let recorded = repeats.record(|n, shown| {
        let recording = recording(args, args.seed.wrapping_add(n));
        record_kernel(&recording, &kernel, &collector, shown, interrupt)
    })?;
    recorded.save(output, args.force, args.quiet, &summary)
}

fn summary(output: &Path, profile: &Profile) -> String {
    let runs = &profile.meta.runs;
    let total =
        |count: fn(&relayout_profile::RecordedRun) -> u64| runs.iter().map(count).sum::<u64>();
    let transfers = profile.transfers();
    format!(
        "{}: {} on {} CPUs of Linux {}: {} operations, {:.1} M accesses, {transfers} transfers, {:.1} s \
         of CPU time in the window\n",
        output.display(),
        profile.meta.workload,
        profile.meta.contexts,
        profile.meta.release,
        total(|r| r.operations),
        total(|r| r.accesses) as f64 / 1e6,
        total(|r| r.window_cpu_ns) as f64 / 1e9,
    )
}

fn idle(
    args: &Args,
    kernel: &GuestKernel<'_>,
    collector: &QemuCollector,
    interrupt: InterruptFlag,
) -> anyhow::Result<ExitStatus> {
    let shown = TerminalProgress::new(String::new(), args.quiet);
    let mut recording = recording(args, args.seed);
    recording.idle = true;
    let recorded = record_kernel(&recording, kernel, collector, &shown, interrupt);
    shown.finish();
    let recorded = recorded?;
    if let Some(problem) = recorded.problem {
        return Err(problem.into());
    }
    for run in &recorded.profile.meta.runs {
        print_text(&format!(
            "idle window: {:.3} s of CPU time, {:.3} s, {} operations\n",
            run.window_cpu_ns as f64 / 1e9,
            run.window_wall_ns as f64 / 1e9,
            run.operations
        ))?;
    }
    Ok(ExitStatus::Done)
}

fn print_workloads() -> anyhow::Result<ExitStatus> {
    let line = |workload: GuestWorkload| {
        format!(
            "{:<12} {:>10}  {}\n",
            workload.name, workload.iterations, workload.description
        )
    };
    let heading = format!(
        "{:<12} {:>10}  what each thread repeats\n",
        "workload", "iterations"
    );
    print_text(&(heading + &workloads().map(line).collect::<String>()))?;
    Ok(ExitStatus::Done)
}

fn recording(args: &Args, seed: u64) -> KernelRecording {
    let work = match (&args.run, &args.workload) {
        (Some(path), _) => GuestWork::Program {
            path: path.clone(),
            arguments: args.run_arg.clone(),
        },
        (None, name) => GuestWork::Workload(name.clone().unwrap_or_default()),
    };
    KernelRecording {
        work,
        threads: args.threads.unwrap_or_else(|| args.cpus.into()),
        iterations: args.iterations,
        cpus: args.cpus,
        seed,
        yield_every: args.yield_every,
        memory_bytes: args.memory,
        append: args.append.clone(),
        qemu_arguments: args.qemu_arguments.clone(),
        bursts: args.bursts,
        time_limit: Duration::from_secs(args.time_limit),
        idle: false,
    }
}

fn no_kernel(thing: &str, option: &str) -> relayout_files::Error {
    relayout_files::Error::Missing {
        missing: format!("a {thing}"),
        remedy: Some(format!(
            "give one with {option}, or run scripts/setup.sh to fetch Debian's"
        )),
    }
}

/// `2G`, `512M`, or a number of MiB; between 256 MiB and 64 GiB.
pub(in crate::cmd) fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(['G', 'g', 'M', 'm']);
    let mib = match text.strip_prefix(digits).unwrap_or_default() {
        "" | "M" | "m" => 1,
        "G" | "g" => 1024,
        _ => return Err("not a size: 512M, 2G".into()),
    };
    let number: u64 = digits
        .parse()
        .map_err(|_| "not a size: 512M, 2G".to_owned())?;
    match number.checked_mul(mib) {
        Some(n @ 256..=65536) => Ok(n << 20),
        _ => Err("not between 256M and 64G".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(size("2G"), Ok(2 << 30));
        assert_eq!(size("512m"), Ok(512 << 20));
        assert_eq!(size("1024"), Ok(1 << 30));
        for bad in ["", "G", "1", "2T", "-1G", "99999999999999999999G", "2GG"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }
}
