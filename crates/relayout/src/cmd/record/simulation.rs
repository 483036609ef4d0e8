//! Options of `relayout record kernel` for guests in simulated time.

use std::time::Duration;

use clap_complete::ArgValueCandidates;
use relayout_record::{Error, RequestedMove, SimulationSettings};

use crate::arguments;
use crate::complete;

/// Options of guests in simulated time.
#[derive(Debug, clap::Args)]
pub struct SimulationArgs {
    /// Execute the guest in the simulated time of this machine: its CPUs wait for cache lines as they would
    /// there. `relayout probe --machines` lists them. Line latencies only: no core, no caches' size
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(complete::machines))]
    machine: Option<String>,
    /// Place the guest's CPUs on the machine: pack, spread, or threads as 0,1,56
    #[arg(
        long,
        value_name = "WHERE",
        default_value = "pack",
        requires = "machine"
    )]
    placement: String,
    /// Record for this long in simulated time: 5ms, 200us
    #[arg(long, value_name = "TIME", default_value = "5ms", value_parser = arguments::simulated_time, requires = "machine")]
    simulate: Duration,
    /// Write no profile, and print operations a second, and where CPUs stand still
    #[arg(long, requires = "machine", conflicts_with_all = ["output", "repeat", "idle"])]
    pub rates: bool,
    /// Execute as if members of all objects of a type in slabs lay elsewhere: TYPE.MEMBER,MEMBER=OFFSET or
    /// =own-line, TYPE@FROM..TO=own-line for bytes, CACHE:TYPE for those of a slab cache; may be given more
    /// than once
    #[arg(long = "move", value_name = "TYPE.MEMBER=OFFSET", requires = "rates")]
    moves: Vec<RequestedMove>,
    /// Print the rates as JSON
    #[arg(long, requires = "rates")]
    pub json: bool,
}

impl SimulationArgs {
    /// Returns the simulation that the options ask for, of a guest with `cpus` CPUs.
    ///
    /// # Errors
    /// There is no such machine, or no room on it.
    pub fn settings(&self, cpus: u16) -> Result<Option<SimulationSettings>, Error> {
        let Some(machine) = &self.machine else {
            return Ok(None);
        };
        let mut settings = SimulationSettings::find(machine, &self.placement, cpus)?;
        settings.length = self.simulate;
        settings.moves.clone_from(&self.moves);
        Ok(Some(settings))
    }
}
