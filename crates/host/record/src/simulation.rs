//! Guests in simulated time: the machine that they run on, and the results of their window.

use std::fs;
use std::path::Path;
use std::time::Duration;

use relayout_files::cannot;
use relayout_machine::{CpuPlacement, KnownMachine, MACHINES, PlacementError, find_machine};
use relayout_profile::SimulatedMachineName;
use relayout_profile::rates::SimulatedRates;

use crate::{Error, RequestedMove};

/// File of the results in the folder of the recording.
const RATES_FILE: &str = "rates";
/// File in that folder that says where moved bytes lie.
pub(crate) const LINES_FILE: &str = "lines";

/// Machine and window of a guest in simulated time.
#[derive(Clone, Debug)]
pub struct SimulationSettings {
    machine: &'static KnownMachine,
    placement: CpuPlacement,
    /// Simulated time from the start marker to the window.
    pub warm_up: Duration,
    /// Simulated time of the window.
    pub length: Duration,
    /// Members that are said to lie elsewhere.
    pub moves: Vec<RequestedMove>,
}

impl SimulationSettings {
    /// Looks up the machine with this name, on which `cpus` CPUs are placed: `pack`, `spread`, or the
    /// numbers of the machine's threads with commas between.
    ///
    /// # Errors
    /// There is no such machine or placement, or no room for so many CPUs.
    pub fn find(machine: &str, placement: &str, cpus: u16) -> Result<Self, Error> {
        let machine = find_machine(machine).ok_or_else(|| Error::UnknownMachine {
            name: machine.to_owned(),
            known: MACHINES.iter().map(|machine| machine.key).collect(),
        })?;
        let refused = |why: String| Error::Placement {
            machine: machine.key,
            why,
        };
        let placement = parse_placement(placement).ok_or_else(|| {
            refused(format!(
                "'{placement}' is neither pack nor spread nor a list of threads: 0,1,56"
            ))
        })?;
        { placement.places(cpus.into(), &machine.topology) }
            .map_err(|error| refused(placement_problem(error, cpus)))?;
        Ok(Self {
            machine,
            placement,
            warm_up: Duration::from_micros(300),
            length: Duration::from_millis(5),
            moves: Vec::new(),
        })
    }

    /// Returns the machine for profiles.
    pub fn machine_name(&self) -> SimulatedMachineName {
        SimulatedMachineName {
            key: self.machine.key.to_owned(),
            processor: self.machine.processor.to_owned(),
            placement: self.placement_text(","),
            moves: self.moves.iter().map(RequestedMove::to_string).collect(),
        }
    }

    /// Returns the plugin's options, for a guest whose time stamp counter has this frequency.
    pub(crate) fn plugin_options(&self, tsc_khz: u32) -> String {
        let lines = match self.moves.is_empty() {
            true => String::new(),
            false => format!(",lines={LINES_FILE}"),
        };
        format!(
            "order=simulated,machine={},placement={},warm={},length={},tsc_khz={tsc_khz}{lines}",
            self.machine.key,
            self.placement_text("+"),
            self.warm_up.as_nanos(),
            self.length.as_nanos(),
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
    use super::*;

    #[test]
    fn options_name_machine_and_window() {
        let settings = SimulationSettings::find("rome-2s", "0,3", 2).unwrap();
        assert_eq!(
            settings.plugin_options(2_400_000),
            "order=simulated,machine=rome-2s,placement=0+3,warm=300000,length=5000000,tsc_khz=2400000"
        );
        assert_eq!(settings.machine_name().to_string(), "rome-2s (0,3)");
        let moves = vec!["dentry.d_op=8".parse().unwrap()];
        let settings = SimulationSettings { moves, ..settings };
        assert!(settings.plugin_options(0).ends_with(",lines=lines"));
        let words = settings.machine_name().to_string();
        assert_eq!(words, "rome-2s (0,3), with dentry.d_op=8");
    }

    #[test]
    fn refusals_name_the_machine() {
        let check = |machine, placement, cpus, expect: &str| {
            let error = SimulationSettings::find(machine, placement, cpus).unwrap_err();
            assert!(error.to_string().contains(expect), "{error}");
        };
        check("rom", "pack", 2, "there is no machine 'rom'");
        check("rome-2s", "near", 2, "'near' is neither pack nor spread");
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
