//! Start of a simulation: its options, and its callbacks.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char, c_int};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize};
use std::sync::{Mutex, OnceLock};

use relayout_machine::{
    CpuPlacement, MachineRule, MachineRules, MachineSetup, SimulatedMachine, SimulatedTime,
    find_machine,
};

use super::callbacks::{on_idle, on_resume};
use super::cpu_clock::CpuClocks;
use super::instruction_costs::InstructionCosts;
use super::keeper::{KeeperBell, set_guest};
use super::qemu_hooks::QemuFunctions;
use super::seat::CpuSeat;
use super::{NOBODY, SimulatedGuest, SimulationPhase, TurnState, guest};
use crate::api::{self, InsnData, PluginId, QemuInfo, TranslationBlock};
use crate::output::SegmentOutput;

/// Picoseconds in a nanosecond, as a number of options.
const PS: f64 = 1000.0;
/// Frequency of the time stamp counter where the host does not say it.
const TSC_KHZ: u64 = 2_000_000;

/// Options of a simulation, which the host passed.
#[derive(Clone, Debug)]
pub struct SimulationOptions {
    /// Folder of the control file and the results.
    pub dir: PathBuf,
    /// Name of the machine.
    pub machine: String,
    /// Where the guest's CPUs are on it.
    pub placement: CpuPlacement,
    /// Rules with another value than the expected one.
    pub rules: MachineRules,
    /// Picoseconds of an instruction, and of a locked one beyond that.
    pub costs: InstructionCosts,
    /// Simulated time before the window.
    pub warm_ps: u64,
    /// Simulated time of the window.
    pub length_ps: u64,
    /// Frequency of the guest's time stamp counter.
    pub tsc_khz: u64,
    /// Seed of all that is drawn.
    pub seed: u64,
}

impl SimulationOptions {
    /// Reads the arguments that QEMU passed; `None` where they ask for no simulation.
    ///
    /// # Safety
    /// `argv` must hold `argc` valid C strings.
    pub unsafe fn from_argv(
        argc: c_int,
        argv: *const *const c_char,
    ) -> Option<Result<Self, String>> {
        let argument = |n| {
            // SAFETY: as promised by the caller.
            unsafe { CStr::from_ptr(*argv.add(n)) }
                .to_string_lossy()
                .into_owned()
        };
        let arguments: Vec<String> = (0..usize::try_from(argc).unwrap_or(0)).map(argument).collect();
        let is_simulation = arguments.iter().any(|argument| argument == "order=simulated");
        is_simulation.then(|| Self::parse(&arguments))
    }

    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self {
            dir: PathBuf::new(),
            machine: String::new(),
            placement: CpuPlacement::Pack,
            rules: MachineRules::default(),
            costs: InstructionCosts { any: 200, locked: 6000, pause: 40_000 },
            warm_ps: 300_000_000,
            length_ps: 1_000_000_000,
            tsc_khz: TSC_KHZ,
            seed: 1,
        };
        for argument in arguments {
            let (key, value) = { argument.split_once('=') }
                .ok_or_else(|| format!("'{argument}' is not key=value"))?;
            options.set(key, value).ok_or_else(|| format!("bad argument '{argument}'"))?;
        }
        match options.dir.as_os_str().is_empty() {
            true => Err("dir= is missing".to_owned()),
            false => Ok(options),
        }
    }

    fn set(&mut self, key: &str, value: &str) -> Option<()> {
        let nanoseconds = || value.parse::<f64>().ok().filter(|ns| (0.0..1e12).contains(ns));
        let picoseconds = || nanoseconds().map(|ns| (ns * PS) as u64);
        match key {
            "order" => {}
            "dir" => self.dir = PathBuf::from(value),
            "machine" => value.clone_into(&mut self.machine),
            "placement" => self.placement = parse_placement(value)?,
            "warm" => self.warm_ps = picoseconds()?,
            "length" => self.length_ps = picoseconds()?,
            "instruction" => self.costs.any = picoseconds()?,
            "locked" => self.costs.locked = picoseconds()?,
            "pause" => self.costs.pause = picoseconds()?,
            "tsc_khz" => self.tsc_khz = value.parse().ok()?,
            "seed" => self.seed = value.parse().ok()?,
            rule => {
                let rule = MachineRule::from_key(rule)?;
                self.rules.set(rule, value.parse().ok()?);
            }
        }
        Some(())
    }
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

/// Makes the simulated guest and registers its callbacks. The error is for the user.
pub fn install_simulation(
    interface: c_int,
    id: PluginId,
    info: &QemuInfo,
    options: SimulationOptions,
) -> Result<(), String> {
    // SAFETY: QEMU passes a C string, or none.
    let target = unsafe { info.target_name() }.unwrap_or_default();
    if interface < 4 || !info.system_emulation || target != "x86_64" {
        return Err("simulated time is for kernels of x86-64 under QEMU 10".to_owned());
    }
    let cpus = usize::try_from(info.smp_vcpus).unwrap_or(0);
    let machine = find_machine(&options.machine)
        .ok_or_else(|| format!("there is no machine '{}'", options.machine))?;
    let places = { options.placement.places(cpus, &machine.topology) }
        .map_err(|error| format!("{}: {error:?}", machine.processor))?;
    let setup = MachineSetup {
        topology: machine.topology,
        rules: options.rules.clone(),
        cpus: places,
        seed: options.seed,
    };
    let folder = |error: std::io::Error| format!("{}: {error}", options.dir.display());
    let output = SegmentOutput::open(&options.dir, 0).map_err(folder)?;
    let guest = set_guest(SimulatedGuest {
        functions: QemuFunctions::find()?,
        clocks: CpuClocks::new().ok_or("this QEMU has no inline operations for plugins")?,
        costs: options.costs,
        insn_data: InsnData::new(interface),
        output,
        sites: Mutex::default(),
        registers: OnceLock::new(),
        seats: (0..cpus).map(|_| CpuSeat::default()).collect(),
        turn: AtomicUsize::new(NOBODY),
        phase: AtomicU8::new(SimulationPhase::Loading as u8),
        state: UnsafeCell::new(TurnState {
            machine: SimulatedMachine::new(setup),
            next_timer: SimulatedTime::NEVER,
            is_warm: false,
            operations_before: 0,
            opened_ns: 0,
            tallies: Default::default(),
        }),
        stopped: OnceLock::new(),
        timers_ran_ps: AtomicU64::new(0),
        outside_kicks: Mutex::default(),
        order_breaks: AtomicU64::new(0),
        keeper: KeeperBell::default(),
        options,
    });
    // SAFETY: callbacks of the right types, for the plugin that is being installed.
    unsafe {
        api::qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
        api::qemu_plugin_register_vcpu_idle_cb(id, on_idle);
        api::qemu_plugin_register_vcpu_resume_cb(id, on_resume);
    }
    guest.start_keeper()
}

extern "C" fn on_translate(_id: PluginId, tb: *mut TranslationBlock) {
    if let Some(guest) = guest() {
        guest.translate(tb);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<SimulationOptions, String> {
        let arguments: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        SimulationOptions::parse(&arguments)
    }

    #[test]
    fn reads_what_the_host_writes() {
        let options = parse(
            "order=simulated dir=/x machine=rome-2s placement=0+3 warm=1000 length=2.5 seed=7",
        )
        .unwrap();
        assert_eq!(options.machine, "rome-2s");
        assert_eq!(options.placement, CpuPlacement::List(vec![0, 3]));
        assert_eq!((options.warm_ps, options.length_ps, options.seed), (1_000_000, 2500, 7));
    }

    #[test]
    fn refuses_nonsense() {
        for bad in ["order=simulated", "dir=/x warm=-1", "dir=/x what=1", "dir=/x placement=near"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
