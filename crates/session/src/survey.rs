//! The requirements of recording and measuring, and which of them this machine meets.

use std::fmt::Display;
use std::fs;
use std::path::PathBuf;

use relayout_files::{
    CacheFolder, RUNTIME, find_in_path, find_installed_library, find_system_program, request_fifo,
    setup_command, system_package,
};
use relayout_record::perf::{SamplingHardware, find_perf, find_sampling_hardware};
use relayout_record::{
    GuestMachine, GuestProgram, MKE2FS, QemuCollector, SnapshotStore, can_fix_addresses,
    find_collector, find_program_collector,
};
use relayout_toolchain::cc::try_compiler;
use relayout_toolchain::kernel_build::require_needs;

/// All requirements, with their states on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineSurvey {
    /// Requirements of recording kernels.
    pub kernels: Vec<SurveyItem>,
    /// Requirements of recording arm64 kernels, beside those.
    pub arm64_kernels: Vec<SurveyItem>,
    /// Requirements of recording and measuring programs.
    pub programs: Vec<SurveyItem>,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SurveyItem {
    /// Name of the requirement.
    pub subject: &'static str,
    /// State of the requirement on this machine.
    pub state: SurveyState,
    /// Description of the thing that was found, or the remedy.
    pub text: String,
}

/// State of a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurveyState {
    /// The requirement is met.
    Works,
    /// The requirement is not met; `text` has the remedy.
    Missing,
    /// This machine cannot meet the requirement, or only in part. Other ways remain.
    Limited,
}

impl MachineSurvey {
    /// Returns true if kernels, or programs that `relayout cc` builds, can be recorded.
    pub fn can_record(&self) -> bool {
        let works = |items: &[SurveyItem], subject: &str| {
            (items.iter()).any(|item| item.subject == subject && item.state == SurveyState::Works)
        };
        let kernel = ["QEMU with plugin", "kernel image", "vmlinux"];
        kernel.iter().all(|subject| works(&self.kernels, subject))
            || works(&self.programs, "runtime")
                && ["gcc", "clang"]
                    .iter()
                    .any(|subject| works(&self.programs, subject))
    }
}

/// Looks at all of it. Takes about a second: compilers are tried out.
pub fn survey_machine() -> MachineSurvey {
    let cache = CacheFolder::locate();
    let file = |subject, locate: fn(&CacheFolder) -> Option<PathBuf>| {
        let path = cache.as_ref().and_then(locate);
        let remedy = || format!("run {}, or name your own file", setup_command());
        works_or_missing(subject, path.map(display_path).ok_or_else(remedy))
    };
    MachineSurvey {
        kernels: vec![
            survey_qemu(GuestMachine::X86, cache.as_ref()),
            file("kernel image", CacheFolder::kernel_image),
            file("vmlinux", CacheFolder::kernel_debug_file),
            file("kernel source", CacheFolder::kernel_source),
            survey_builds(),
            survey_disk_images(),
            survey_snapshots(),
        ],
        arm64_kernels: survey_arm64(cache.as_ref()),
        programs: vec![
            survey_runtime(),
            survey_compiler("gcc", ""),
            survey_compiler("clang", ", 14 or newer; gcc alone will do"),
            survey_qemu_user(cache.as_ref()),
            survey_perf(),
            survey_addresses(),
            survey_priority(),
            survey_cpus(),
        ],
    }
}

fn survey_item(subject: &'static str, state: SurveyState, text: impl Into<String>) -> SurveyItem {
    SurveyItem {
        subject,
        state,
        text: text.into(),
    }
}

/// Makes an item of a description, or of a remedy, which becomes one line.
fn works_or_missing(subject: &'static str, found: Result<String, impl Display>) -> SurveyItem {
    match found {
        Ok(text) => survey_item(subject, SurveyState::Works, text),
        Err(remedy) => {
            let line = remedy.to_string().replace('\n', " ");
            survey_item(subject, SurveyState::Missing, line)
        }
    }
}

fn display_path(path: PathBuf) -> String {
    path.display().to_string()
}

fn survey_arm64(cache: Option<&CacheFolder>) -> Vec<SurveyItem> {
    let machine = GuestMachine::Aarch64;
    let kernels = cache.map_or(Vec::new(), |cache| cache.kernel_names("-arm64"));
    let kernels = match kernels.is_empty() {
        true => Err(format!(
            "run {} --arm64, or name your own files",
            setup_command()
        )),
        false => Ok(format!("--kernel {}", kernels.join(", --kernel "))),
    };
    let program = GuestProgram::find(machine, cache);
    let compiled = program.map(|_| "compiled for arm64".to_owned());
    vec![
        survey_qemu(machine, cache),
        works_or_missing("kernels", kernels),
        works_or_missing("guest's program", compiled),
    ]
}

fn survey_qemu(machine: GuestMachine, cache: Option<&CacheFolder>) -> SurveyItem {
    let describe = |collector: QemuCollector| {
        let not = if collector.sees_values() { "" } else { "not " };
        format!(
            "{}: {}, silent stores are {not}seen",
            collector.qemu.display(),
            collector.describe()
        )
    };
    works_or_missing(
        "QEMU with plugin",
        find_collector(machine, None, cache).map(describe),
    )
}

fn survey_builds() -> SurveyItem {
    let text = "make, gcc and the rest that `verify kernel` builds with";
    works_or_missing("kernel builds", require_needs().map(|()| text.into()))
}

fn survey_disk_images() -> SurveyItem {
    let describe = |path| {
        format!(
            "{}: for folders larger than a guest's memory",
            display_path(path)
        )
    };
    let remedy = || {
        let package = system_package(MKE2FS);
        format!("package {package}: {MKE2FS} is for folders larger than a guest's memory")
    };
    let found = find_system_program(MKE2FS).map(describe);
    works_or_missing("disk images", found.ok_or_else(remedy))
}

fn survey_snapshots() -> SurveyItem {
    let Some(store) = SnapshotStore::locate() else {
        let text = "off: each recording boots its guest";
        return survey_item("snapshots", SurveyState::Works, text);
    };
    let usage = store.usage();
    let text = format!(
        "{} of guests, {} of {} MiB, in {}; `relayout setup --remove-snapshots` removes them",
        usage.count,
        usage.bytes >> 20,
        store.bytes_max() >> 20,
        store.place().display()
    );
    survey_item("snapshots", SurveyState::Works, text)
}

fn survey_runtime() -> SurveyItem {
    let found = find_installed_library("runtime of recorded programs", RUNTIME);
    works_or_missing("runtime", found.map(display_path))
}

/// `note` follows the package of a compiler that is missing.
fn survey_compiler(name: &'static str, note: &str) -> SurveyItem {
    let tried = match find_in_path(name) {
        Some(_) => try_compiler(name),
        None => Err(format!("package {}{note}", system_package(name))),
    };
    works_or_missing(
        name,
        tried.map(|()| "builds programs with relayout cc".into()),
    )
}

fn survey_qemu_user(cache: Option<&CacheFolder>) -> SurveyItem {
    let found = find_program_collector(cache)
        .map_err(|error| format!("{error}; programs built with relayout cc do without"));
    let describe = |collector: QemuCollector| {
        format!(
            "{}: {}; for programs that were not built with relayout cc",
            collector.qemu.display(),
            collector.describe()
        )
    };
    works_or_missing("qemu-user", found.map(describe))
}

fn survey_perf() -> SurveyItem {
    let subject = "hardware samples";
    let Some(name) = find_sampling_hardware().map(SamplingHardware::name) else {
        return survey_item(
            subject,
            SurveyState::Limited,
            "this machine has none (no mem-loads, ibs_op or arm_spe; virtual machines seldom do); perf.data \
             of another one can be imported",
        );
    };
    if find_perf().is_none() {
        return survey_item(
            subject,
            SurveyState::Missing,
            format!(
                "{name} is here; perf is not: package {}",
                system_package("perf")
            ),
        );
    }
    let level = first_line("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    let text = format!("{name}, by record run --with perf; perf_event_paranoid is {level}");
    survey_item(subject, SurveyState::Works, text)
}

fn survey_addresses() -> SurveyItem {
    match can_fix_addresses() {
        true => survey_item(
            "addresses",
            SurveyState::Works,
            "programs are recorded at the same addresses each time",
        ),
        false => survey_item(
            "addresses",
            SurveyState::Limited,
            "randomised: this container or sandbox forbids personality(2), so that addresses differ between \
             recordings",
        ),
    }
}

fn survey_priority() -> SurveyItem {
    // A thread of its own, because the priority is that of the thread.
    let request = std::thread::spawn(request_fifo);
    match request.join() {
        Ok(Ok(())) => survey_item(
            "real-time priority",
            SurveyState::Works,
            "SCHED_FIFO for probe and verify",
        ),
        _ => survey_item(
            "real-time priority",
            SurveyState::Limited,
            "SCHED_FIFO is not permitted: probe and verify are noisier. As root, or with 'ulimit -r 1', it is",
        ),
    }
}

fn survey_cpus() -> SurveyItem {
    match std::thread::available_parallelism().map_or(1, |n| n.get()) {
        1 => survey_item(
            "CPUs",
            SurveyState::Limited,
            "1 for this process: threads take turns. Recording works, with yields; probe and verify measure \
             no contention",
        ),
        n => survey_item("CPUs", SurveyState::Works, format!("{n} for this process")),
    }
}

fn first_line(path: &str) -> Option<String> {
    fs::read_to_string(path)
        .ok()?
        .lines()
        .next()
        .map(str::to_owned)
}
