//! Guests in simulated time: the machine that they run on, and the results of their window.

use std::fs;
use std::path::Path;
use std::time::Duration;

use relayout_files::cannot;
use relayout_machine::{CpuPlacement, KnownMachine, MachineDescription, PlacementError};
use relayout_profile::rates::SimulatedRates;
use relayout_profile::{SimulatedMachineName, SimulatedRule};

use crate::{Error, RequestedMove};

/// File of the results in the folder of the recording.
const RATES_FILE: &str = "rates";
/// File in that folder that says where moved bytes lie.
pub(crate) const LINES_FILE: &str = "lines";

/// File in that folder that tells the plugin of the machine.
const MACHINE_FILE: &str = "machine";

/// A machine with the name that profiles give it.
#[derive(Clone, Debug)]
pub struct NamedMachine {
    /// Name.
    pub name: String,
    /// Processor.
    pub processor: String,
    /// Digest of the file that describes it; `None` for a machine of the table.
    pub digest: Option<String>,
    /// Cores, times, protocol and rules.
    pub description: MachineDescription,
}

impl From<&KnownMachine> for NamedMachine {
    fn from(machine: &KnownMachine) -> Self {
        Self {
            name: machine.key.to_owned(),
            processor: machine.processor.to_owned(),
            digest: None,
            description: MachineDescription {
                topology: machine.topology,
                rules: Default::default(),
            },
        }
    }
}

/// Machine and window of a guest in simulated time.
#[derive(Clone, Debug)]
pub struct SimulationSettings {
    machine: NamedMachine,
    placement: CpuPlacement,
    /// Simulated time from the start marker to the window.
    pub warm_up: Duration,
    /// Simulated time of the window.
    pub length: Duration,
    /// Time of the workload's own code after each operation, in which it uses no shared memory.
    pub user_time: Duration,
    /// Members that are said to lie elsewhere.
    pub moves: Vec<RequestedMove>,
}

/// Facts about a guest that its kernel's memory tells.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GuestClockAndMap {
    /// Frequency of its time stamp counter; `None` for a machine whose counter is QEMU's clock.
    pub tsc_khz: Option<u32>,
    /// Address of physical address 0 in its direct map, which need not be a part of it.
    pub direct_map: u64,
}

impl SimulationSettings {
    /// Simulated time before the window of a guest whose work has no end.
    const WARM_UP: Duration = Duration::from_micros(300);
    /// Longest window of a guest that is to finish its work.
    const LENGTH_MAX: Duration = Duration::from_secs(100);

    /// Places `cpus` CPUs on the machine: `pack`, `spread`, or the numbers of the machine's threads with commas
    /// between.
    ///
    /// # Errors
    /// There is no such placement, or no room for so many CPUs.
    pub fn new(machine: NamedMachine, placement: &str, cpus: u16) -> Result<Self, Error> {
        let refused = |why: String| Error::Placement {
            machine: machine.name.clone(),
            why,
        };
        let placement = parse_placement(placement).ok_or_else(|| {
            refused(format!(
                "'{placement}' is neither pack nor spread nor a list of threads: 0,1,56"
            ))
        })?;
        { placement.places(cpus.into(), &machine.description.topology) }
            .map_err(|error| refused(placement_problem(error, cpus)))?;
        Ok(Self {
            machine,
            placement,
            warm_up: Self::WARM_UP,
            length: Duration::from_millis(5),
            user_time: Duration::ZERO,
            moves: Vec::new(),
        })
    }

    /// Lets the window hold all of the guest's work.
    pub fn run_to_the_end(&mut self) {
        self.warm_up = Duration::ZERO;
        self.length = Self::LENGTH_MAX;
    }

    /// Returns the machine for profiles.
    pub fn machine_name(&self) -> SimulatedMachineName {
        let rules = self.machine.description.rules.changed();
        SimulatedMachineName {
            key: self.machine.name.clone(),
            processor: self.machine.processor.clone(),
            placement: self.placement_text(","),
            digest: self.machine.digest.clone(),
            rules: rules
                .map(|(facts, value)| SimulatedRule {
                    key: facts.key.to_owned(),
                    value,
                })
                .collect(),
            moves: self.moves.iter().map(RequestedMove::to_string).collect(),
        }
    }

    /// Writes what the plugin needs to know of the machine to the folder of its recording.
    pub(crate) fn write_machine(&self, folder: &Path) -> Result<(), Error> {
        let path = folder.join(MACHINE_FILE);
        let text = self.machine.description.to_string();
        Ok(fs::write(&path, text).map_err(cannot("write", &path))?)
    }

    /// Returns the plugin's options.
    pub(crate) fn plugin_options(&self, guest: GuestClockAndMap) -> String {
        let tsc = { guest.tsc_khz }
            .map(|khz| format!(",tsc_khz={khz}"))
            .unwrap_or_default();
        let lines = match self.moves.is_empty() {
            true => String::new(),
            false => format!(",lines={LINES_FILE}"),
        };
        let user = match self.user_time.is_zero() {
            true => String::new(),
            false => format!(",user={}", self.user_time.as_nanos()),
        };
        format!(
            "order=simulated,placement={},warm={},length={}{tsc},direct_map={:x}{user}{lines}",
            self.placement_text("+"),
            self.warm_up.as_nanos(),
            self.length.as_nanos(),
            guest.direct_map,
        )
    }

    fn placement_text(&self, between: &str) -> String {
        match &self.placement {
            CpuPlacement::Pack => "pack".to_owned(),
            CpuPlacement::Spread => "spread".to_owned(),
            CpuPlacement::List(threads) => {
                let threads: Vec<String> = threads.iter().map(u32::to_string).collect();
                threads.join(between)
            }
        }
    }
}

/// Reads the results of a window from the folder of its recording.
///
/// # Errors
/// The plugin wrote none, or they are damaged.
pub fn read_rates(folder: &Path) -> Result<SimulatedRates, Error> {
    let path = folder.join(RATES_FILE);
    let text = fs::read_to_string(&path).map_err(cannot("read", &path))?;
    SimulatedRates::parse(&text).ok_or(Error::Rates(path))
}

fn parse_placement(text: &str) -> Option<CpuPlacement> {
    Some(match text {
        "pack" => CpuPlacement::Pack,
        "spread" => CpuPlacement::Spread,
        list => {
            let threads = list.split(',').map(|thread| thread.trim().parse());
            CpuPlacement::List(threads.collect::<Result<_, _>>().ok()?)
        }
    })
}

fn placement_problem(error: PlacementError, cpus: u16) -> String {
    match error {
        PlacementError::TooFewThreads { threads } => {
            format!("it has room for {threads} CPUs, and the guest has {cpus}")
        }
        PlacementError::NoSuchThread { thread } => format!("it has no thread {thread}"),
        PlacementError::ThreadTwice { thread } => format!("thread {thread} is named twice"),
        PlacementError::TooManyCpus => format!("{cpus} CPUs are too many"),
    }
}

#[cfg(test)]
mod tests {
    use relayout_machine::{MachineRule, find_machine};

    use super::*;

    fn settings(machine: &str, placement: &str, cpus: u16) -> Result<SimulationSettings, Error> {
        let machine = find_machine(machine).expect("it is in the table");
        SimulationSettings::new(machine.into(), placement, cpus)
    }

    #[test]
    fn options_name_placement_and_window() {
        let settings = settings("rome-2s", "0,3", 2).unwrap();
        let mut guest = GuestClockAndMap {
            tsc_khz: Some(2_400_000),
            direct_map: 0xffff_8880_0000_0000,
        };
        assert_eq!(
            settings.plugin_options(guest),
            "order=simulated,placement=0+3,warm=300000,length=5000000,tsc_khz=2400000,direct_map=ffff888000000000"
        );
        guest.tsc_khz = None;
        let options = settings.plugin_options(guest);
        assert!(options.ends_with("length=5000000,direct_map=ffff888000000000"));
    }

    #[test]
    fn the_name_has_what_differs_from_the_table() {
        let mut settings = settings("rome-2s", "0,3", 2).unwrap();
        assert_eq!(settings.machine_name().to_string(), "rome-2s (0,3)");
        settings.machine.digest = Some("12ab".to_owned());
        let rules = &mut settings.machine.description.rules;
        rules.set(MachineRule::Upgrade, 0.5);
        rules.set(MachineRule::Quantum, 500.0);
        assert_eq!(
            settings.machine_name().to_string(),
            "rome-2s#12ab (0,3; upgrade=0.5, quantum=500)"
        );
        settings.moves = vec!["dentry.d_op=8".parse().unwrap()];
        assert!(
            settings
                .plugin_options(GuestClockAndMap::default())
                .ends_with(",lines=lines")
        );
        let words = settings.machine_name().to_string();
        assert!(words.ends_with(", with dentry.d_op=8"), "{words}");
    }

    #[test]
    fn refusals_name_the_machine() {
        let check = |machine, placement, cpus, expect: &str| {
            let error = settings(machine, placement, cpus).unwrap_err();
            assert!(error.to_string().contains(expect), "{error}");
        };
        check(
            "rome-2s",
            "near",
            2,
            "rome-2s: 'near' is neither pack nor spread",
        );
        check(
            "graviton3-1s",
            "pack",
            65,
            "it has room for 64 CPUs, and the guest has 65",
        );
        check("graviton3-1s", "1,1", 2, "thread 1 is named twice");
        check("graviton3-1s", "1,64", 2, "it has no thread 64");
    }
}
