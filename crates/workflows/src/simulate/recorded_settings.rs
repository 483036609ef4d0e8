//! Settings with which a guest was recorded.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use relayout_messages::UserError;
use relayout_profile::ProfileMeta;
use relayout_record::{ProgramWork, find_workload};
use relayout_session::build_id_of_file;

/// Settings of the recorded guest.
#[derive(Clone, Debug)]
pub(super) struct RecordedSettings {
    /// Work of the guest.
    pub work: RecordedWork,
    /// Release of the guest's kernel, where the recording is not of it.
    pub kernel_release: Option<String>,
    /// CPUs of the guest.
    pub cpus: u16,
    /// Memory of the guest.
    pub memory_bytes: u64,
    /// Added to the kernel's command line.
    pub append: String,
    /// Seed of the machine.
    pub seed: u64,
    /// Length of the window.
    pub length: Option<Duration>,
    /// Time of the workload's own code after each operation.
    pub user_time: Duration,
}

/// Work that was recorded.
#[derive(Clone, Debug)]
pub(super) enum RecordedWork {
    /// Workload of relayout.
    Workload {
        /// Its name.
        name: String,
        /// Its threads.
        threads: u32,
        /// Operations of each; `None` for a work without end.
        iterations: Option<u64>,
    },
    /// The user's program, of which the recording is.
    Program(ProgramWork),
}

impl RecordedWork {
    /// Returns the operations of each thread; `None` for a work without end.
    pub fn iterations(&self) -> Option<u64> {
        match self {
            Self::Workload { iterations, .. } => *iterations,
            Self::Program(_) => None,
        }
    }
}

impl RecordedSettings {
    /// Reads the settings of a recording. `program` is the recorded program with its arguments, and `files` what it needs.
    ///
    /// # Errors
    /// The recording is of other work, or lacks a setting.
    pub fn read(
        meta: &ProfileMeta,
        program: &[OsString],
        files: &[PathBuf],
    ) -> Result<Self, UserError> {
        // Repeats differ in their seeds.
        let run = meta.runs.first().ok_or_else(|| refused("it is empty"))?;
        let is_program = meta.target == "program";
        let work = match is_program {
            true => RecordedWork::Program(read_program(meta, program, files)?),
            false => read_workload(meta, program)?,
        };
        let cpus = u16::try_from(number(meta, "cpus")?).map_err(|_| missing("cpus"))?;
        let memory = setting(meta, "memory").and_then(|value| value.strip_suffix('M'));
        let memory_mib: u64 = memory
            .and_then(|mib| mib.parse().ok())
            .ok_or_else(|| missing("memory"))?;
        Ok(Self {
            work,
            kernel_release: setting(meta, "kernel")
                .filter(|_| is_program)
                .map(str::to_owned),
            cpus,
            memory_bytes: memory_mib << 20,
            append: setting(meta, "append").unwrap_or_default().to_owned(),
            seed: run.seed,
            length: time(meta, "simulate"),
            user_time: time(meta, "user-time").unwrap_or_default(),
        })
    }
}

fn read_workload(meta: &ProfileMeta, program: &[OsString]) -> Result<RecordedWork, UserError> {
    if !program.is_empty() {
        let why = format!(
            "it is of the kernel's workload {}, not of a program",
            meta.workload
        );
        return Err(refused(&why).with_remedy("leave out the program"));
    }
    if find_workload(&meta.workload).is_err() {
        let why = format!("it is of {}, not of a workload of relayout", meta.workload);
        return Err(refused(&why).with_remedy("record with `relayout record kernel --workload`"));
    }
    let has_modules = meta.runs.iter().any(|run| !run.modules.is_empty());
    if has_modules
        || !setting(meta, "qemu-arguments")
            .unwrap_or_default()
            .is_empty()
    {
        return Err(refused("its guest had modules, or QEMU further arguments"));
    }
    Ok(RecordedWork::Workload {
        name: meta.workload.clone(),
        threads: number(meta, "threads")?,
        iterations: setting(meta, "iterations").and_then(|value| value.parse().ok()),
    })
}

/// Returns the work of the recorded program, which the user names again.
fn read_program(
    meta: &ProfileMeta,
    program: &[OsString],
    files: &[PathBuf],
) -> Result<ProgramWork, UserError> {
    if meta.simulated_machine.is_none() {
        return Err(refused("it is of a program in the time of the host")
            .with_remedy("record with `relayout record run --machine NAME`"));
    }
    let Some((path, arguments)) = program.split_first() else {
        let text = "the recording is of a program, which is not executed unasked";
        return Err(UserError::input(text).with_remedy(format!(
            "give it again, as it was recorded: -- {}",
            meta.workload
        )));
    };
    let mut work = ProgramWork::inspect(path, arguments)?;
    let command = { std::iter::once(work.path.display().to_string()) }
        .chain(work.arguments.iter().cloned())
        .collect::<Vec<_>>()
        .join(" ");
    if command != meta.workload {
        let text = format!(
            "the recording is of '{}', and '{command}' is given",
            meta.workload
        );
        return Err(UserError::input(text)
            .with_remedy("give the recorded program with its arguments, or record this one"));
    }
    if build_id_of_file(&work.path).unwrap_or_default() != meta.build_id {
        let text = format!(
            "{} is another build than the recorded one",
            work.path.display()
        );
        return Err(UserError::input(text).with_remedy("record it again"));
    }
    work.files = files.to_vec();
    let after = setting(meta, "after").and_then(|value| value.strip_suffix(" ms"));
    let after = { after.and_then(|value| value.parse().ok()) }.ok_or_else(|| missing("after"))?;
    work.window.after = Duration::from_millis(after);
    Ok(work)
}

fn refused(why: &str) -> UserError {
    UserError::input(format!("the recording cannot be simulated again: {why}"))
}

fn missing(name: &str) -> UserError {
    refused(&format!("it does not say '{name}'"))
}

fn number(meta: &ProfileMeta, name: &str) -> Result<u32, UserError> {
    let value = setting(meta, name).and_then(|value| value.parse().ok());
    value.ok_or_else(|| missing(name))
}

fn time(meta: &ProfileMeta, name: &str) -> Option<Duration> {
    let nanoseconds = setting(meta, name)?.strip_suffix(" ns")?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

fn setting<'m>(meta: &'m ProfileMeta, name: &str) -> Option<&'m str> {
    let mut settings = meta.settings.iter();
    settings
        .find(|setting| setting.name == name)
        .map(|setting| &*setting.value)
}
