//! Values of options and arguments that shells complete.

use std::ffi::OsString;
use std::path::PathBuf;

use clap_complete::CompletionCandidate;
use relayout_files::CacheFolder;
use relayout_machine::{KnownMachine, MACHINES};
use relayout_session::show::RUNNING_KERNEL;
use relayout_session::type_names_of;
use relayout_workflows::suite::SuiteRequest;

use crate::cmd::suite::{FILE_DEFAULT, FOLDER_EXTENSION};

/// Workloads of the guest.
pub fn workloads() -> Vec<CompletionCandidate> {
    let candidate = |workload: relayout_record::GuestWorkload| {
        CompletionCandidate::new(workload.name).help(Some(workload.description.into()))
    };
    relayout_record::workloads().map(candidate).collect()
}

/// Kernels in the cache folder.
pub fn kernels() -> Vec<CompletionCandidate> {
    let names = CacheFolder::locate().map_or_else(Vec::new, |cache| cache.kernel_names(""));
    names.into_iter().map(CompletionCandidate::new).collect()
}

/// Machines that gains are predicted for.
pub fn machines() -> Vec<CompletionCandidate> {
    let candidate = |machine: &KnownMachine| {
        CompletionCandidate::new(machine.key).help(Some(machine.processor.into()))
    };
    MACHINES.iter().map(candidate).collect()
}

/// Rules of a simulated machine, up to their value.
pub fn rules() -> Vec<CompletionCandidate> {
    let candidate = |facts: &relayout_machine::RuleFacts| {
        CompletionCandidate::new(format!("{}=", facts.key)).help(Some(facts.name.into()))
    };
    relayout_machine::RULES.iter().map(candidate).collect()
}

/// Jobs of the suite in this folder.
pub fn jobs() -> Vec<CompletionCandidate> {
    let file = PathBuf::from(FILE_DEFAULT);
    let request = SuiteRequest {
        folder: file.with_extension(FOLDER_EXTENSION),
        file,
        jobs: Vec::new(),
        shard: None,
        time: None,
        retry_failed: false,
        verify_words: |_| Ok(()),
    };
    let listed = request.list().ok();
    let jobs = listed.into_iter().flat_map(|listed| listed.jobs);
    jobs.map(|report| CompletionCandidate::new(report.job.id))
        .collect()
}

/// Types of the file or profile that the command line names, or of the running kernel.
pub fn types() -> Vec<CompletionCandidate> {
    let named = completed_words()
        .into_iter()
        .map(PathBuf::from)
        .find(|word| word.exists());
    let file = named.unwrap_or_else(|| RUNNING_KERNEL.into());
    type_names_of(&file)
        .into_iter()
        .map(CompletionCandidate::new)
        .collect()
}

/// Words of the command line that is completed, behind the name of the command and of its subcommand.
fn completed_words() -> Vec<OsString> {
    let words = std::env::args_os().skip_while(|word| word != "--");
    words.skip(3).collect()
}
