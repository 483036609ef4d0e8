//! Start of a guest: from a snapshot of its start marker, or by a boot, which makes the snapshot.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Release;
use std::time::{Duration, Instant};

use memmap2::Mmap;
use relayout_files::{InterruptFlag, cannot};
use relayout_messages::RecordingProgress;
use relayout_shadow::control::TakeOverStage;

use super::KernelRecording;
use super::watch::wait_for_marker;
use crate::guest_disks::GuestDisks;
use crate::guest_snapshots::{
    GuestIdentity, NewSnapshot, SavedMachine, SnapshotRequest, SnapshotStore, file_content,
};
use crate::memory::{GuestProcess, MemoryReaders, MovedTypes, ProcessReader};
use crate::qemu::{MachineOrigin, QemuConfig, QemuMachine, machine_arguments, path_option};
use crate::simulation::{GuestClockAndMap, LINES_FILE};
use crate::workspace::{GuestMemory, RecordingWorkspace};
use crate::{Error, GuestMachine, QemuCollector, SimulationSettings};

/// First version of QEMU that keeps a guest's memory out of a state file, as it is needed here.
const QEMU_MAJOR_MIN: u32 = 10;
/// Arguments of QEMU that name no file and nothing else outside: the guests that they change are kept.
const KNOWN_ARGUMENTS: [&str; 6] = ["-numa", "-smp", "-cpu", "-M", "-machine", "-global"];
/// Line of the console with the number of the user's program, without the number.
const PROCESS_NUMBER: &str = "relayout-guest: program is process ";
const CONSOLE: &str = "console";
/// Time in which the plugin takes over a machine's clocks on a busy host.
const HAND_OVER_LIMIT: Duration = Duration::from_secs(60);

/// A guest that is ready to start.
pub struct ReadyGuest<'g> {
    pub recording: &'g KernelRecording,
    pub kernel_machine: GuestMachine,
    pub build_id: &'g str,
    pub collector: &'g QemuCollector,
    /// Folder for the workspaces of QEMU.
    pub folder: &'g Path,
    pub image: PathBuf,
    pub initrd: PathBuf,
    pub disks: &'g GuestDisks,
    pub command_line: String,
    /// Options of the plugin, but for the window and the folder.
    pub plugin_options: String,
    /// The user's program has markers.
    pub has_marker: bool,
    /// Types whose members are said to lie elsewhere.
    pub moved_types: MovedTypes<'g>,
    /// Reader of the process that is recorded; `None` if the kernel is.
    pub processes: Option<&'g ProcessReader>,
    /// Readers of the kernel's memory.
    pub readers: &'g MemoryReaders,
    /// Where the guest's memory has the frequency of its time stamp counter, in bytes from its start.
    pub tsc_khz_address: Option<u64>,
    pub progress: &'g dyn RecordingProgress,
    pub interrupt: InterruptFlag,
}

/// A guest that boots, or runs from its start marker on.
pub struct StartedGuest {
    pub machine: QemuMachine,
    pub memory: GuestMemory,
    pub workspace: RecordingWorkspace,
    /// Process that is recorded, if it is not the kernel.
    pub process: Option<GuestProcess>,
}

/// Returns true if this QEMU can save and restore guests.
fn can_keep_guests(collector: &QemuCollector) -> bool {
    let major = { collector.version.split('.').next() }.and_then(|text| text.parse().ok());
    collector.interface >= 4 && major.is_some_and(|major: u32| major >= QEMU_MAJOR_MIN)
}

/// Returns true if each of the user's arguments for QEMU is a [known](KNOWN_ARGUMENTS) one with its value,
/// which is no path.
fn are_known(arguments: &[String]) -> bool {
    let is_known = |pair: &[String]| {
        let option = pair[0].replace("--", "-");
        pair.len() == 2 && KNOWN_ARGUMENTS.contains(&&*option) && !pair[1].contains('/')
    };
    arguments.chunks(2).all(is_known)
}

/// Returns the number of the user's program, as the guest wrote it to the console.
fn reported_process(console: &str) -> Option<u32> {
    let number = |line: &str| line.trim().strip_prefix(PROCESS_NUMBER)?.parse().ok();
    console.lines().find_map(number)
}

/// Returns true if another start of the guest would end likewise.
fn is_final(error: &Error) -> bool {
    matches!(error, Error::Interrupted | Error::Move { .. })
}

/// Event that opens the window, as the plugin's option names it.
#[derive(Clone, Copy)]
enum WindowOption<'s> {
    Marker,
    Held,
    Now,
    Simulated {
        settings: &'s SimulationSettings,
        guest: GuestClockAndMap,
        /// Option for the process that is recorded; empty if the kernel is.
        program: &'s str,
    },
}

impl ReadyGuest<'_> {
    /// Starts the guest.
    ///
    /// # Errors
    /// QEMU does not start, or a guest of which a snapshot was to be made fails in its boot.
    pub fn start(&self) -> Result<StartedGuest, Error> {
        let Some((store, request)) = self.snapshot_request()? else {
            return match self.recording.simulation {
                Some(_) => Err(self.no_simulation()),
                None => self.boot(),
            };
        };
        match self.start_from_kept(store, &request) {
            Ok(Some(started)) => return Ok(started),
            Ok(None) => {}
            Err(error) if is_final(&error) => return Err(error),
            Err(error) => {
                self.progress.warn(&format!(
                    "the snapshot of this guest is removed: {}",
                    error.first_line()
                ));
                store.remove(&request);
            }
        }
        match store.begin() {
            Ok(snapshot) => self.boot_and_keep(store, &request, snapshot),
            Err(error) => self.boot_without(&error.to_string()),
        }
    }

    /// Boots a guest of which no snapshot can be kept, for this reason.
    fn boot_without(&self, why: &str) -> Result<StartedGuest, Error> {
        if self.recording.simulation.is_some() {
            let why = format!("no snapshot of it is kept: {why}");
            return Err(Error::Simulation(why));
        }
        self.warn_not_kept(why);
        self.boot()
    }

    /// Removes the snapshot of this guest, if there is one.
    pub fn forget_snapshot(&self) {
        if let Ok(Some((store, request))) = self.snapshot_request() {
            store.remove(&request);
        }
    }

    /// Returns the request for the guest's snapshot, if it can have one.
    fn snapshot_request(&self) -> Result<Option<(&SnapshotStore, SnapshotRequest)>, Error> {
        let Some(store) = self.recording.snapshots.as_ref() else {
            return Ok(None);
        };
        if self.snapshot_obstacle().is_some() {
            return Ok(None);
        }
        let arguments = &self.recording.qemu_arguments;
        let content = |path: &PathBuf| file_content(path).map_err(cannot("read", path));
        let guest = GuestIdentity {
            build_id: self.build_id.to_owned(),
            image: content(&self.image)?,
            initrd: content(&self.initrd)?,
            has_marker: self.has_marker,
        };
        let arguments = [self.machine_arguments(), arguments.clone()].concat();
        let request = SnapshotRequest::new(self.collector, arguments, guest);
        Ok(request.map(|request| (store, request)))
    }

    /// Returns why the guest cannot have a snapshot; `None` if it can.
    fn snapshot_obstacle(&self) -> Option<&'static str> {
        if !can_keep_guests(self.collector) {
            return Some("snapshots need QEMU 10");
        }
        if !self.disks.is_empty() {
            return Some("guests with disks have no snapshots");
        }
        if !are_known(&self.recording.qemu_arguments) {
            return Some("a guest with such arguments for QEMU has no snapshot");
        }
        None
    }

    /// Returns the error of a guest without a snapshot that was to be simulated.
    fn no_simulation(&self) -> Error {
        let why = self.snapshot_obstacle().unwrap_or("no snapshots are kept");
        Error::Simulation(format!("it starts from a snapshot, and {why}"))
    }

    fn boot(&self) -> Result<StartedGuest, Error> {
        let workspace = RecordingWorkspace::create_in(self.folder)?;
        let memory = self.make_memory(&workspace)?;
        self.progress.step("booting the kernel");
        let option = WindowOption::Marker;
        let config = self.config(&memory, MachineOrigin::Boot, option, &workspace);
        let machine = QemuMachine::start(&config, &workspace)?;
        Ok(StartedGuest {
            machine,
            memory,
            workspace,
            process: None,
        })
    }

    /// Starts the guest from the snapshot that is kept. `None` if there is none.
    fn start_from_kept(
        &self,
        store: &SnapshotStore,
        request: &SnapshotRequest,
    ) -> Result<Option<StartedGuest>, Error> {
        let workspace = RecordingWorkspace::create_in(self.folder)?;
        let memory = self.make_memory(&workspace)?;
        let found = store.read(request, &memory, &|| self.interrupt.is_set());
        let found = found.map_err(|error| match self.interrupt.is_set() {
            true => Error::Interrupted,
            false => Error::Snapshot(error.to_string()),
        })?;
        let Some(saved) = found else {
            return Ok(None);
        };
        self.progress.step("starting from a snapshot");
        self.restore(&saved, memory, workspace).map(Some)
    }

    /// Boots the guest, keeps a snapshot of it, and starts it from that. So the first recording starts
    /// like all others. Where no snapshot can be made, boots again without.
    fn boot_and_keep(
        &self,
        store: &SnapshotStore,
        request: &SnapshotRequest,
        snapshot: NewSnapshot,
    ) -> Result<StartedGuest, Error> {
        self.progress.step("booting the kernel");
        let boot = RecordingWorkspace::create_in(self.folder)?;
        let memory = self.make_memory(&boot)?;
        let origin = MachineOrigin::SavedBoot(snapshot.state());
        let config = self.config(&memory, origin, WindowOption::Held, &boot);
        let mut machine = QemuMachine::start(&config, &boot)?;
        wait_for_marker(&mut machine, &boot, self.recording, self.interrupt)?;
        self.progress.step("keeping a snapshot");
        match self.save(&mut machine, &boot, &snapshot) {
            Ok(()) => {}
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            Err(error) => return self.boot_without(&error.first_line()),
        }
        let console = machine.console().into_bytes();
        // Its plugin has nothing to write.
        drop(machine);
        let is_aborted = || self.interrupt.is_set();
        let completed = snapshot.complete(store, &memory, &console, &is_aborted);
        if self.interrupt.is_set() {
            return Err(Error::Interrupted);
        }
        let state = { snapshot.state().try_clone() }.map_err(cannot("read", store.place()))?;
        let saved = SavedMachine { state, console };
        let started =
            match self.restore(&saved, memory, RecordingWorkspace::create_in(self.folder)?) {
                Ok(started) => started,
                Err(error) if is_final(&error) => return Err(error),
                Err(error) => return self.boot_without(&error.first_line()),
            };
        match completed.and_then(|()| store.keep(request, snapshot)) {
            Ok(true) => return Ok(started),
            Ok(false) => {}
            Err(error) => {
                self.warn_not_kept(&error.to_string());
                return Ok(started);
            }
        }
        // All later recordings start from the one that another process has kept.
        match self.start_from_kept(store, request) {
            Ok(Some(kept)) => Ok(kept),
            Err(error) if is_final(&error) => Err(error),
            _ => Ok(started),
        }
    }

    /// Stops the guest, which is held at its start marker, and saves the machine's state.
    fn save(
        &self,
        machine: &mut QemuMachine,
        workspace: &RecordingWorkspace,
        snapshot: &NewSnapshot,
    ) -> Result<(), Error> {
        machine.stop_held(|| workspace.control().released.store(1, Release))?;
        machine.save_state(snapshot.state(), self.interrupt)
    }

    fn restore(
        &self,
        saved: &SavedMachine,
        memory: GuestMemory,
        workspace: RecordingWorkspace,
    ) -> Result<StartedGuest, Error> {
        let console = workspace.file_path(CONSOLE);
        fs::write(&console, &saved.console).map_err(cannot("write", &console))?;
        let origin = MachineOrigin::Restored(&saved.state);
        let process = self.find_program(&memory, &saved.console)?;
        let program = { self.processes.zip(process.as_ref()) }
            .map_or(String::new(), |(reader, process)| {
                reader.plugin_option(process)
            });
        let window = match &self.recording.simulation {
            Some(settings) => {
                settings.write_machine(workspace.dir())?;
                let guest = GuestClockAndMap {
                    tsc_khz: self.read_tsc_khz(&memory)?,
                    direct_map: self.read_direct_map(&memory)?,
                };
                WindowOption::Simulated {
                    settings,
                    guest,
                    program: &program,
                }
            }
            None => WindowOption::Now,
        };
        if !self.moved_types.is_empty() {
            self.write_moved_bytes(&memory, &workspace)?;
        }
        let config = self.config(&memory, origin, window, &workspace);
        let mut machine = QemuMachine::start(&config, &workspace)?;
        machine.restore_state(&saved.state, self.interrupt)?;
        if self.recording.simulation.is_some() {
            self.hand_over(&mut machine, &workspace)?;
        }
        machine.go_on()?;
        Ok(StartedGuest {
            machine,
            memory,
            workspace,
            process,
        })
    }

    /// Finds the process that is recorded, unless the kernel is. The guest has written its number to the console.
    fn find_program(
        &self,
        memory: &GuestMemory,
        console: &[u8],
    ) -> Result<Option<GuestProcess>, Error> {
        let Some(reader) = self.processes else {
            return Ok(None);
        };
        let unknown = || Error::Simulation("its memory does not tell where the program is".into());
        let pid = reported_process(&String::from_utf8_lossy(console)).ok_or_else(unknown)?;
        let memory = memory.map().map_err(|_| unknown())?;
        let process = reader.find_process(&memory, pid);
        process.map(Some).ok_or_else(unknown)
    }

    /// Reads from the guest's memory how fast its time stamp counter runs; `None` for a machine without one.
    fn read_tsc_khz(&self, memory: &GuestMemory) -> Result<Option<u32>, Error> {
        if self.kernel_machine != GuestMachine::X86 {
            return Ok(None);
        }
        let unknown =
            || Error::Simulation("its kernel does not say how fast its clock runs".into());
        let at = self.tsc_khz_address.ok_or_else(unknown)?;
        let mut bytes = [0; 4];
        memory
            .file()
            .read_exact_at(&mut bytes, at)
            .map_err(|_| unknown())?;
        match u32::from_le_bytes(bytes) {
            0 => Err(unknown()),
            khz => Ok(Some(khz)),
        }
    }

    /// Reads from the guest's memory where its direct map has physical address 0.
    fn read_direct_map(&self, memory: &GuestMemory) -> Result<u64, Error> {
        let start = self.readers.read_direct_map(&map_memory(memory)?);
        start.ok_or_else(|| {
            Error::Simulation("its memory does not say where its direct map is".into())
        })
    }

    /// Writes where the bytes of the objects lie that are in the guest's memory.
    fn write_moved_bytes(
        &self,
        memory: &GuestMemory,
        workspace: &RecordingWorkspace,
    ) -> Result<(), Error> {
        let cpus = self.recording.cpus;
        let map = self.moved_types.map_objects(&map_memory(memory)?, cpus)?;
        let path = workspace.file_path(LINES_FILE);
        fs::write(&path, map.to_string()).map_err(cannot("write", &path))?;
        Ok(())
    }

    /// Lets the plugin take over the clocks of the machine, which stands still.
    fn hand_over(
        &self,
        machine: &mut QemuMachine,
        workspace: &RecordingWorkspace,
    ) -> Result<(), Error> {
        let control = workspace.control();
        control.set_take_over(TakeOverStage::Requested);
        let deadline = Instant::now() + HAND_OVER_LIMIT;
        while control.take_over() != TakeOverStage::Done {
            if self.interrupt.is_set() {
                return Err(Error::Interrupted);
            }
            let has_failed = workspace.collector_errno() != 0 || machine.exit_status().is_some();
            if has_failed || Instant::now() > deadline {
                return Err(machine.qemu_error("did not hand over its clocks"));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    fn make_memory(&self, workspace: &RecordingWorkspace) -> Result<GuestMemory, Error> {
        GuestMemory::create(self.recording.memory_bytes, workspace)
    }

    fn config<'c>(
        &'c self,
        memory: &'c GuestMemory,
        origin: MachineOrigin<'c>,
        window: WindowOption<'_>,
        workspace: &RecordingWorkspace,
    ) -> QemuConfig<'c> {
        QemuConfig {
            collector: self.collector,
            arguments: self.machine_arguments(),
            image: self.image.clone(),
            initrd: self.initrd.clone(),
            memory,
            disks: self.disks,
            plugin_options: self.plugin_options(window, workspace),
            takes_turns: matches!(window, WindowOption::Simulated { .. }),
            extra_arguments: &self.recording.qemu_arguments,
            origin,
        }
    }

    fn machine_arguments(&self) -> Vec<String> {
        let KernelRecording {
            cpus, memory_bytes, ..
        } = *self.recording;
        machine_arguments(self.kernel_machine, cpus, memory_bytes, &self.command_line)
    }

    fn plugin_options(&self, window: WindowOption<'_>, workspace: &RecordingWorkspace) -> OsString {
        let window = match window {
            WindowOption::Marker => "window=marker".to_owned(),
            WindowOption::Held => "window=held".to_owned(),
            WindowOption::Now => "window=now".to_owned(),
            WindowOption::Simulated {
                settings,
                guest,
                program,
            } => {
                let between = if program.is_empty() { "" } else { "," };
                format!("{}{between}{program}", settings.plugin_options(guest))
            }
        };
        let options = format!("{},{window},dir=", self.plugin_options);
        path_option(options, workspace.dir())
    }

    fn warn_not_kept(&self, why: &str) {
        let text = format!("no snapshot of this guest is kept: {why}");
        self.progress.warn(&text);
    }
}

fn map_memory(memory: &GuestMemory) -> Result<Mmap, Error> {
    let unread = |error| Error::Simulation(format!("its memory cannot be read: {error}"));
    memory.map().map_err(unread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_console_tells_the_process() {
        let check = |console, expect| assert_eq!(reported_process(console), expect, "{console}");
        check(
            "relayout-guest: ready\r\nrelayout-guest: program is process 61\r\n",
            Some(61),
        );
        check("relayout-guest: program is process \n", None);
        check("relayout-guest: program /bin/true\n", None);
    }

    #[test]
    fn arguments_that_name_something_outside_are_not_known() {
        let check = |words: &str, expect| {
            let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
            assert_eq!(are_known(&words), expect, "{words:?}");
        };
        check("", true);
        check("-smp 4,maxcpus=8 --cpu max", true);
        check("-numa node,cpus=0-1 -numa node,cpus=2-3", true);
        check("-smp", false);
        check("-device pci-testdev", false);
        check("-machine firmware=/tmp/bios.bin", false);
    }
}
