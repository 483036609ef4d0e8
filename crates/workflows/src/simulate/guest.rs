//! The guest of a recording, which executes again.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use relayout_advice::{NamedWaiting, SimulatedWindow};
use relayout_files::{CacheFolder, DebugFile, InterruptFlag, file_identity};
use relayout_machine::MachineRule;
use relayout_messages::{SilentProgress, UserError};
use relayout_profile::rates::SimulatedRates;
use relayout_profile::{Profile, ProfileMeta, SimulatedMachineName};
use relayout_record::{
    GuestKernel, GuestTools, GuestWork, IdleWindow, KernelRecording, ModuleFolder, NamedMachine,
    RecordedCode, SimulationSettings, SnapshotStore, record_kernel,
};
use relayout_session::record::KernelFiles;
use relayout_session::{find_simulated_machine, name_program_rates, name_rates};

use super::SimulationRequest;
use super::kept_windows::{WindowKey, kept_or_executed};
use super::recorded_settings::{RecordedSettings, RecordedWork};
use super::windows::WindowRequest;

/// Window of a recording that does not say its own.
const LENGTH_DEFAULT: Duration = Duration::from_millis(1);
/// Ordered accesses have no use.
const NO_BURSTS: Option<u64> = Some(0);

/// Choices of the user about a guest, in the place of the recorded ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct GuestChoice<'c> {
    /// Recorded program with its arguments. It is named again, because no program is executed because a recording names it.
    pub program: &'c [OsString],
    /// Files and folders that it needs in the guest.
    pub files: &'c [PathBuf],
    /// Machine, by its name or file.
    pub machine: Option<&'c Path>,
    /// Kernel: a name or a folder.
    pub kernel: Option<&'c Path>,
    /// Place of the guest's CPUs on the machine.
    pub placement: Option<&'c str>,
    /// Time of the workload's own code after each operation.
    pub user_time: Option<Duration>,
}

/// A guest as it was recorded, which executes again.
pub struct RepeatedGuest<'k> {
    settings: RecordedSettings,
    machine: NamedMachine,
    placement: String,
    kernel: &'k GuestKernel<'k>,
    tools: GuestTools,
    interrupt: InterruptFlag,
}

/// Window that a guest executed.
struct ExecutedWindow {
    /// Accesses to contended lines, as rows.
    profile: Profile,
    /// Those of the kernel, if a program is recorded.
    kernel_profile: Option<Profile>,
    rates: SimulatedRates,
}

impl ExecutedWindow {
    /// Names what CPUs waited for.
    fn names(&self) -> Result<NamedWaiting, UserError> {
        let (profile, rates) = (&self.profile, &self.rates);
        match &self.kernel_profile {
            Some(kernel) => name_program_rates(profile, kernel, rates, &SilentProgress),
            None => name_rates(profile, rates, &SilentProgress),
        }
    }
}

/// Finds kernel, machine and tools of a recording, and calls `then` with its guest.
///
/// # Errors
/// The recording is of other work than a workload or the given program, or lacks a setting; the kernel or QEMU is not here; and
/// those of `then`.
pub fn with_repeated_guest<T>(
    meta: &ProfileMeta,
    choice: GuestChoice<'_>,
    interrupt: InterruptFlag,
    then: impl FnOnce(&RepeatedGuest<'_>) -> Result<T, UserError>,
) -> Result<T, UserError> {
    let mut settings = RecordedSettings::read(meta, choice.program, choice.files)?;
    settings.user_time = choice.user_time.unwrap_or(settings.user_time);
    let (machine, recorded_placement) = find_machine(meta, choice.machine)?;
    let placement = choice.placement.map_or(recorded_placement, str::to_owned);
    let cache = CacheFolder::locate();
    let recorded_kernel = match &settings.work {
        RecordedWork::Workload { .. } => Some(&meta.build_id),
        // A recording of a program has the kernel's release only.
        RecordedWork::Program(_) => None,
    };
    let files = match (choice.kernel, recorded_kernel) {
        (Some(kernel), _) => KernelFiles::find_kernel(kernel, cache.as_ref()),
        (None, Some(build_id)) => {
            KernelFiles::find_recorded(&meta.release, build_id, cache.as_ref())
        }
        (None, None) => KernelFiles::find_cached(cache.as_ref()),
    }?;
    let debug = DebugFile::open(&files.debug)?;
    let kernel = GuestKernel::open(&files.image, &debug)?;
    let is_recorded = match &settings.kernel_release {
        Some(release) => *release == kernel.release,
        None => kernel.build_id == meta.build_id,
    };
    if !is_recorded {
        let text = format!("{} is not the recorded kernel", files.debug.display());
        return Err(UserError::input(text).with_remedy("give it with --kernel"));
    }
    let tools = GuestTools::find(kernel.machine, None, cache.as_ref())?;
    then(&RepeatedGuest {
        settings,
        machine,
        placement,
        kernel: &kernel,
        tools,
        interrupt,
    })
}

/// Returns the machine that the user names, else the recorded one, and the placement of CPUs on it.
fn find_machine(
    meta: &ProfileMeta,
    named: Option<&Path>,
) -> Result<(NamedMachine, String), UserError> {
    let recorded = meta.simulated_machine.as_ref();
    let placement = recorded.map_or_else(|| "pack".to_owned(), |machine| machine.placement.clone());
    if let Some(named) = named {
        return Ok((find_simulated_machine(named, &[])?, placement));
    }
    let Some(recorded) = recorded else {
        return Err(
            UserError::input("the recording has the order of the host, and so no machine")
                .with_remedy("give --machine NAME (`relayout probe --machines` lists them)"),
        );
    };
    if recorded.digest.is_some() {
        let text = format!(
            "the machine {} of the recording was described by a file",
            recorded.key
        );
        return Err(UserError::input(text).with_remedy("give the file with --machine FILE"));
    }
    let rules: Option<Vec<(MachineRule, f64)>> = { recorded.rules.iter() }
        .map(|rule| Some((MachineRule::from_key(&rule.key)?, rule.value)))
        .collect();
    let rules = rules.ok_or_else(|| {
        UserError::input("the recording's machine has a rule that this version does not know")
    })?;
    Ok((
        find_simulated_machine(recorded.key.as_ref(), &rules)?,
        placement,
    ))
}

impl RepeatedGuest<'_> {
    /// Returns the numbers of CPUs to simulate.
    pub(super) fn cpu_counts(&self, request: &SimulationRequest) -> Vec<u16> {
        match request.cpus.as_slice() {
            [] => vec![self.settings.cpus],
            given => given.to_vec(),
        }
    }

    /// Returns the number of CPUs that was recorded.
    pub(super) fn recorded_cpus(&self) -> u16 {
        self.settings.cpus
    }

    /// Returns true if the user wants to end.
    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupt.count() > 0
    }

    /// Returns true for the number of CPUs that was recorded.
    pub(super) fn is_recorded(&self, cpus: u16) -> bool {
        cpus == self.settings.cpus
    }

    /// Returns the rules that the recording, or the file of the machine, gives another value than the expected one.
    pub(super) fn set_rules(&self) -> Vec<MachineRule> {
        let changed = self.machine.description.rules.changed();
        changed.map(|(facts, _)| facts.rule).collect()
    }

    /// Returns the name of the machine.
    pub(super) fn machine_name(&self) -> Result<SimulatedMachineName, UserError> {
        let settings =
            SimulationSettings::new(self.machine.clone(), &self.placement, self.settings.cpus)?;
        Ok(settings.machine_name())
    }

    /// Returns a window: a kept one, or else one that it executes if `may_execute`.
    pub(super) fn find_window(
        &self,
        request: &WindowRequest<'_>,
        may_execute: bool,
    ) -> Option<Result<SimulatedWindow, UserError>> {
        let recording = match self.recording(request) {
            Ok(recording) => recording,
            Err(error) => return Some(Err(error)),
        };
        let key = self.window_key(&recording, request);
        kept_or_executed(key.as_ref(), || {
            may_execute.then(|| {
                let executed = self.execute(&recording)?;
                let names = match request.is_named {
                    true => executed.names()?,
                    false => NamedWaiting::default(),
                };
                Ok(SimulatedWindow::new(&executed.rates, &names))
            })
        })
    }

    /// Returns what a window depends on; `None` if that is a folder of the user's.
    fn window_key(
        &self,
        recording: &KernelRecording,
        request: &WindowRequest<'_>,
    ) -> Option<WindowKey> {
        let collector = &self.tools.collector;
        let own_program = std::env::current_exe().ok();
        let tools = [
            Some(&collector.qemu),
            Some(&collector.plugin),
            own_program.as_ref(),
        ];
        let kernel = [&self.kernel.image_path, &self.kernel.debug_path];
        let (program, files) = match &recording.work {
            GuestWork::Workload(_) => (None, [].as_slice()),
            GuestWork::Program(work) => (Some(&work.path), work.files.as_slice()),
        };
        if files.iter().any(|file| file.is_dir()) {
            return None;
        }
        Some(WindowKey {
            files: { tools.into_iter().flatten().chain(kernel) }
                .chain(program)
                .chain(files)
                .filter_map(|path| file_identity(path))
                .collect(),
            build_id: self.kernel.build_id.clone(),
            recording: format!("{recording:?}"),
            is_named: request.is_named,
        })
    }

    /// Returns the recording of a window.
    fn recording(&self, request: &WindowRequest<'_>) -> Result<KernelRecording, UserError> {
        let mut machine = self.machine.clone();
        for &(rule, value) in request.rules {
            machine.description.rules.set(rule, value);
        }
        let cpus = request.cpus;
        let mut simulation = SimulationSettings::new(machine, &self.placement, cpus)?;
        // For a given time, the work has no end.
        let iterations = self
            .settings
            .work
            .iterations()
            .filter(|_| request.length.is_none());
        match iterations {
            Some(_) => simulation.run_to_the_end(),
            None => {
                let recorded = self.settings.length.unwrap_or(LENGTH_DEFAULT);
                simulation.length = request.length.unwrap_or(recorded);
            }
        }
        simulation.user_time = self.settings.user_time;
        simulation.moves = request.moves.to_vec();
        let (work, code, threads) = match &self.settings.work {
            RecordedWork::Workload { name, threads, .. } => {
                // A thread for each CPU stays one for each.
                let threads = match *threads == u32::from(self.settings.cpus) {
                    true => cpus.into(),
                    false => *threads,
                };
                let work = GuestWork::Workload(name.clone());
                (work, RecordedCode::Kernel, threads)
            }
            RecordedWork::Program(work) => {
                simulation.warm_up = Duration::ZERO;
                let work = GuestWork::Program(work.clone());
                (work, RecordedCode::Program, cpus.into())
            }
        };
        Ok(KernelRecording {
            work,
            code,
            modules: Vec::new(),
            module_folder: ModuleFolder::default(),
            threads,
            iterations,
            cpus,
            seed: self.settings.seed,
            yield_every: 0,
            memory_bytes: self.settings.memory_bytes,
            append: self.settings.append.clone(),
            qemu_arguments: Vec::new(),
            bursts: NO_BURSTS,
            simulation: Some(simulation),
            time_limit: Duration::from_secs(300),
            idle: Some(IdleWindow::Time),
            snapshots: SnapshotStore::locate(),
        })
    }

    fn execute(&self, recording: &KernelRecording) -> Result<ExecutedWindow, UserError> {
        let executed = record_kernel(
            recording,
            self.kernel,
            &self.tools,
            &SilentProgress,
            self.interrupt,
        )?;
        executed.problem.map_or(Ok(()), Err)?;
        let Some(rates) = executed.rates else {
            return Err(UserError::input("the guest was not simulated"));
        };
        Ok(ExecutedWindow {
            profile: executed.profile,
            kernel_profile: executed.kernel_profile,
            rates,
        })
    }
}
