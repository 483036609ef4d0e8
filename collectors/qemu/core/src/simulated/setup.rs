//! Start of a simulation: its options, and the guest.

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize};
use std::sync::{Mutex, OnceLock};

use relayout_machine::{
    CpuPlacement, MachineRule, MachineRules, MachineSetup, SimulatedMachine, SimulatedTime,
    find_machine,
};

use super::cpu_clock::CpuClocks;
use super::instruction_costs::InstructionCosts;
use super::keeper::{KeeperBell, set_guest};
use super::qemu_hooks::QemuFunctions;
use super::refresh::FIRST_LOOK;
use super::seat::CpuSeat;
use super::{NOBODY, SimulatedGuest, SimulationPhase, TurnState};
use crate::api::QemuInfo;
use crate::plugin::RecordingPlugin;

/// Picoseconds in a nanosecond, as a number of options.
const PS: f64 = 1000.0;
/// Frequency of the time stamp counter where the host does not say it.
const TSC_KHZ: u64 = 2_000_000;

/// Options of a simulation, which the host passed after `order=simulated`.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulationOptions {
    /// Name of the machine.
    pub machine: String,
    /// Where the guest's CPUs are on it.
    pub placement: CpuPlacement,
    /// Value of each rule.
    pub rules: MachineRules,
    /// What instructions cost.
    pub costs: InstructionCosts,
    /// Simulated time before the window.
    pub warm_ps: u64,
    /// Simulated time of the window.
    pub length_ps: u64,
    /// Frequency of the guest's time stamp counter.
    pub tsc_khz: u64,
}

impl Default for SimulationOptions {
    fn default() -> Self {
        Self {
            machine: String::new(),
            placement: CpuPlacement::Pack,
            rules: MachineRules::default(),
            costs: InstructionCosts::default(),
            warm_ps: 300_000_000,
            length_ps: 1_000_000_000,
            tsc_khz: TSC_KHZ,
        }
    }
}

impl SimulationOptions {
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
            "machine" => value.clone_into(&mut self.machine),
            "placement" => self.placement = parse_placement(value)?,
            "warm" => self.warm_ps = picoseconds()?,
            "length" => self.length_ps = picoseconds()?,
            "instruction" => self.costs.any = picoseconds()?,
            "locked" => self.costs.locked = picoseconds()?,
            "pause" => self.costs.pause = picoseconds()?,
            "tsc_khz" => self.tsc_khz = value.parse().ok()?,
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

/// Makes the guest of `plugin` one in simulated time. The error is for the user.
pub fn install_simulation(
    interface: c_int,
    info: &QemuInfo,
    plugin: &'static RecordingPlugin,
    options: &SimulationOptions,
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
        seed: plugin.options.seed,
    };
    let guest = set_guest(SimulatedGuest {
        plugin,
        functions: QemuFunctions::find()?,
        clocks: CpuClocks::new().ok_or("this QEMU has no inline operations for plugins")?,
        sites: Mutex::default(),
        seats: (0..cpus).map(|_| CpuSeat::default()).collect(),
        turn: AtomicUsize::new(NOBODY),
        phase: AtomicU8::new(SimulationPhase::Loading as u8),
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
    });
    guest.start_keeper()
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
        let text = "machine=rome-2s placement=0+3 warm=1000 length=2.5 cost-of-an-upgrade=0.5";
        let options = parse(text).unwrap();
        assert_eq!(options.machine, "rome-2s");
        assert_eq!(options.placement, CpuPlacement::List(vec![0, 3]));
        assert_eq!((options.warm_ps, options.length_ps), (1_000_000, 2500));
        assert_eq!(options.rules.value(MachineRule::Upgrade), 0.5);
    }

    #[test]
    fn refuses_nonsense() {
        for bad in [
            "warm=-1",
            "what=1",
            "placement=near",
            "tsc_khz=x",
            "length=1e13",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
