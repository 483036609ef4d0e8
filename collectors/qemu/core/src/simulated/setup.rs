//! Start of a simulation: its options, and the guest.

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize};
use std::sync::{Mutex, OnceLock};

use relayout_machine::{
    ByteMap, CpuPlacement, MachineDescription, MachineSetup, SimulatedMachine, SimulatedTime,
};

use super::cpu_clock::CpuClocks;
use super::instruction_costs::InstructionCosts;
use super::keeper::{KeeperBell, set_guest};
use super::qemu_hooks::QemuFunctions;
use super::recorded_program::RecordedProgramSpace;
use super::refresh::FIRST_LOOK;
use super::seat::CpuSeat;
use super::sites::SiteTable;
use super::{NOBODY, SimulatedGuest, SimulationPhase, TurnState};
use crate::api::QemuInfo;
use crate::plugin::RecordingPlugin;

/// Picoseconds in a nanosecond, as a number of options.
const PS: f64 = 1000.0;
/// Frequency of the time stamp counter where the host does not say it.
const TSC_KHZ: u64 = 2_000_000;

/// File in the recording's folder with the description of the machine.
const MACHINE_FILE: &str = "machine";

/// Options of a simulation, which the host passed after `order=simulated`.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulationOptions {
    /// Where the guest's CPUs are on the machine.
    pub placement: CpuPlacement,
    /// What instructions cost.
    pub costs: InstructionCosts,
    /// Simulated time before the window.
    pub warm_ps: u64,
    /// Simulated time of the window.
    pub length_ps: u64,
    /// Time of the workload's own code after each operation.
    pub user_ps: u64,
    /// Frequency of the guest's time stamp counter; any for a machine without one.
    pub tsc_khz: u64,
    /// Address of physical address 0 in the kernel's direct map, which need not be a part of it.
    pub direct_map: u64,
    /// File in the folder of the recording that says where moved bytes lie.
    pub lines: Option<String>,
    /// The program that is recorded; the kernel if there is none.
    pub program: Option<RecordedProgramSpace>,
}

impl Default for SimulationOptions {
    fn default() -> Self {
        Self {
            placement: CpuPlacement::Pack,
            costs: InstructionCosts::default(),
            warm_ps: 300_000_000,
            length_ps: 1_000_000_000,
            user_ps: 0,
            tsc_khz: TSC_KHZ,
            direct_map: 0,
            lines: None,
            program: None,
        }
    }
}

impl SimulationOptions {
    /// Returns the time at which the window ends at the latest, in picoseconds.
    pub fn end_ps(&self) -> u64 {
        self.warm_ps.saturating_add(self.length_ps)
    }

    /// Sets the option `key`; `None` if there is none, or the value is not one of its.
    pub fn set(&mut self, key: &str, value: &str) -> Option<()> {
        let nanoseconds = || {
            value
                .parse::<f64>()
                .ok()
                .filter(|ns| (0.0..1e12).contains(ns))
        };
        let picoseconds = || nanoseconds().map(|ns| (ns * PS) as u64);
        match key {
            "placement" => self.placement = parse_placement(value)?,
            "warm" => self.warm_ps = picoseconds()?,
            "length" => self.length_ps = picoseconds()?,
            "user" => self.user_ps = picoseconds()?,
            "instruction" => self.costs.any = picoseconds()?,
            "locked" => self.costs.locked = picoseconds()?,
            "pause" => self.costs.pause = picoseconds()?,
            "tsc_khz" => self.tsc_khz = value.parse().ok()?,
            "program" => self.program = Some(RecordedProgramSpace::parse(value)?),
            "direct_map" => self.direct_map = u64::from_str_radix(value, 16).ok()?,
            "lines" if !value.contains('/') => self.lines = Some(value.to_owned()),
            _ => return None,
        }
        Some(())
    }
}

/// Reads where moved bytes lie; without a file, no byte is moved.
fn read_moved_bytes(folder: &Path, file: Option<&str>) -> Result<ByteMap, String> {
    let Some(file) = file else {
        return Ok(ByteMap::default());
    };
    let path = folder.join(file);
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    ByteMap::parse(&text).ok_or_else(|| format!("{} is damaged", path.display()))
}

fn parse_placement(text: &str) -> Option<CpuPlacement> {
    match text {
        "pack" => Some(CpuPlacement::Pack),
        "spread" => Some(CpuPlacement::Spread),
        list => {
            let threads = list.split('+').map(str::parse);
            Some(CpuPlacement::List(threads.collect::<Result<_, _>>().ok()?))
        }
    }
}

/// Makes the guest of `plugin` one in simulated time. The error is for the user.
pub fn install_simulation(
    interface: c_int,
    info: &QemuInfo,
    plugin: &'static RecordingPlugin,
    options: &SimulationOptions,
) -> Result<(), String> {
    if interface < 4 || !info.system_emulation {
        return Err("simulated time is for kernels under QEMU 10".to_owned());
    }
    let cpus = usize::try_from(info.smp_vcpus).unwrap_or(0);
    let machine = read_machine(&plugin.options.dir.join(MACHINE_FILE))?;
    let places = { options.placement.places(cpus, &machine.topology) }
        .map_err(|error| format!("the machine has no place for the CPUs: {error:?}"))?;
    let setup = MachineSetup {
        topology: machine.topology,
        rules: machine.rules,
        cpus: places,
        seed: plugin.options.seed,
    };
    let moved_bytes = read_moved_bytes(&plugin.options.dir, options.lines.as_deref())?;
    let guest = set_guest(SimulatedGuest {
        plugin,
        functions: QemuFunctions::find()?,
        clocks: CpuClocks::new().ok_or("this QEMU has no inline operations for plugins")?,
        sites: Mutex::new(SiteTable::new(plugin.machine)),
        seats: (0..cpus).map(|_| CpuSeat::default()).collect(),
        page_changes: AtomicU64::new(0),
        turn: AtomicUsize::new(NOBODY),
        phase: AtomicU8::new(SimulationPhase::Loading as u8),
        is_held: AtomicBool::new(false),
        state: UnsafeCell::new(TurnState {
            machine: SimulatedMachine::new(setup),
            next_timer: SimulatedTime::NEVER,
            is_warm: false,
            has_failed: false,
            tallies: Default::default(),
            look_at: FIRST_LOOK,
        }),
        stopped: OnceLock::new(),
        timers_ran_ps: AtomicU64::new(0),
        outside_kicks: Mutex::default(),
        order_breaks: AtomicU64::new(0),
        keeper: KeeperBell::default(),
        options: options.clone(),
        moved_bytes,
    });
    guest.start_keeper()
}

fn read_machine(path: &Path) -> Result<MachineDescription, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
    { text.and_then(|text| MachineDescription::parse(&text).map_err(|e| e.to_string())) }
        .map_err(|why| format!("{}: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<SimulationOptions> {
        let mut options = SimulationOptions::default();
        for argument in text.split_whitespace() {
            let (key, value) = argument.split_once('=')?;
            options.set(key, value)?;
        }
        Some(options)
    }

    #[test]
    fn reads_what_the_host_writes() {
        let options =
            parse("placement=0+3 warm=1000 length=2.5 direct_map=ffff888000000000").unwrap();
        assert_eq!(options.placement, CpuPlacement::List(vec![0, 3]));
        assert_eq!((options.warm_ps, options.length_ps), (1_000_000, 2500));
        assert_eq!(options.direct_map, 0xffff_8880_0000_0000);
    }

    #[test]
    fn moved_bytes_come_from_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            std::fs::write(folder.path().join("lines"), text).unwrap();
            read_moved_bytes(folder.path(), Some("lines"))
        };
        let map = read("layout 64\nmove 8 8 64\nobjects 0x10000 64 1\n").unwrap();
        assert_ne!(map.line_of(0x10008), map.line_of(0x10000));
        assert_eq!(map.line_of(0x10010), map.line_of(0x10000));
        assert!(read("layout").unwrap_err().contains("is damaged"));
        assert!(read_moved_bytes(folder.path(), Some("other")).is_err());
        let none = read_moved_bytes(folder.path(), None);
        assert_eq!(none, Ok(ByteMap::default()));
    }

    #[test]
    fn refuses_nonsense() {
        for bad in [
            "warm=-1",
            "what=1",
            "placement=near",
            "tsc_khz=x",
            "direct_map=-1",
            "length=1e13",
            "lines=../lines",
            "program=1+2",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
