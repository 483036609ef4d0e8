//! The requirements of recording and measuring, and which of them this machine meets.

use std::fs;

use relayout_files::{CacheFolder, RUNTIME, find_in_path, find_installed_library, request_fifo};
use relayout_record::perf::{SamplingHardware, find_perf, find_sampling_hardware};
use relayout_record::{can_fix_addresses, find_program_collector};
use relayout_toolchain::cc::try_compiler;

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

/// Looks at all of it. Takes about a second: compilers are tried out.
pub fn survey_machine() -> Vec<SurveyItem> {
    vec![
        survey_runtime(),
        survey_compiler("gcc", "package gcc"),
        survey_compiler("clang", "package clang, 14 or newer; gcc alone will do"),
        survey_qemu_user(),
        survey_perf(),
        survey_addresses(),
        survey_priority(),
        survey_cpus(),
    ]
}

fn survey_item(subject: &'static str, state: SurveyState, text: impl Into<String>) -> SurveyItem {
    SurveyItem {
        subject,
        state,
        text: text.into(),
    }
}

fn survey_runtime() -> SurveyItem {
    match find_installed_library("runtime of recorded programs", RUNTIME) {
        Ok(path) => survey_item("runtime", SurveyState::Works, path.display().to_string()),
        Err(error) => survey_item("runtime", SurveyState::Missing, error.to_string()),
    }
}

fn survey_compiler(name: &'static str, package: &str) -> SurveyItem {
    if find_in_path(name).is_none() {
        return survey_item(name, SurveyState::Missing, package);
    }
    match try_compiler(name) {
        Ok(()) => survey_item(name, SurveyState::Works, "builds programs with relayout cc"),
        Err(why) => survey_item(name, SurveyState::Missing, why),
    }
}

fn survey_qemu_user() -> SurveyItem {
    let subject = "qemu-user";
    match find_program_collector(CacheFolder::locate().as_ref()) {
        Ok(collector) => survey_item(
            subject,
            SurveyState::Works,
            format!(
                "{}: {}; for programs that were not built with relayout cc",
                collector.qemu.display(),
                collector.describe()
            ),
        ),
        Err(error) => survey_item(
            subject,
            SurveyState::Missing,
            format!(
                "{}; programs built with relayout cc do without",
                error.to_string().replace('\n', " ")
            ),
        ),
    }
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
            format!("{name} is here; perf is not: package linux-perf"),
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
