//! Options of a machine in whose simulated time a guest executes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap_complete::ArgValueCandidates;
use relayout_machine::MachineRule;
use relayout_messages::UserError;
use relayout_record::{Error, NamedMachine, SimulationSettings};
use relayout_session::find_simulated_machine;
use relayout_workflows::tune::TunedMachine;
use relayout_workflows::verify::kernel::SimulatedBoots;

use crate::arguments;
use crate::complete;

/// Placement of CPUs that are asked for none.
const DEFAULT_PLACEMENT: &str = "pack";

/// Machine in whose simulated time a guest executes, and its window.
#[derive(Debug, clap::Args)]
pub struct SimulatedMachineArgs {
    /// Execute the guest in the simulated time of this machine: its CPUs wait for cache lines as they would
    /// there. `relayout probe --machines` lists names; a FILE is one that `relayout probe -o` or `relayout probe
    /// --machines NAME -o` wrote. Line latencies only: no core, no caches' size [default: sapphire-rapids-2s; for arm64
    /// kernels graviton4-2s]
    #[arg(long, value_name = "NAME|FILE", add = ArgValueCandidates::new(complete::machines))]
    pub machine: Option<PathBuf>,
    /// Give a rule of the machine another value; may be given more than once. `relayout probe --rules` lists them
    /// with their ranges
    #[arg(
        long,
        value_name = "NAME=VALUE",
        value_parser = arguments::rule,
        add = ArgValueCandidates::new(complete::rules)
    )]
    rule: Vec<(MachineRule, f64)>,
    /// Place the guest's CPUs on the machine: pack, spread, or threads as 0,1,56 [default: pack]
    #[arg(long, value_name = "WHERE")]
    placement: Option<String>,
    /// Record for this long in simulated time: 5ms, 200us [default: 5ms; with --iterations, all of the work]
    #[arg(long, value_name = "TIME", value_parser = arguments::simulated_time)]
    pub simulate: Option<Duration>,
}

/// Rates in the place of a profile.
#[derive(Debug, clap::Args)]
pub struct RatesArgs {
    /// Write no profile, and print operations a second, and where CPUs stand still
    #[arg(long, conflicts_with_all = ["output", "repeat"])]
    pub rates: bool,
    /// Print the rates as JSON
    #[arg(long, requires = "rates")]
    pub json: bool,
}

impl SimulatedMachineArgs {
    /// Returns the first option that only guests in simulated time have.
    pub fn first_option(&self) -> Option<&'static str> {
        let given = [
            ("--machine", self.machine.is_some()),
            ("--rule", !self.rule.is_empty()),
            ("--placement", self.placement.is_some()),
            ("--simulate", self.simulate.is_some()),
        ];
        given
            .into_iter()
            .find_map(|(name, is_given)| is_given.then_some(name))
    }

    /// Finds a machine by its name or file, with the rules that the options give it.
    ///
    /// # Errors
    /// There is no such machine, or its file is none.
    pub fn find_machine(&self, machine: &Path) -> Result<NamedMachine, UserError> {
        find_simulated_machine(machine, &self.rule)
    }

    fn placement(&self) -> &str {
        self.placement.as_deref().unwrap_or(DEFAULT_PLACEMENT)
    }

    /// Returns the machine in whose simulated time kernels are tuned; `None` if none is given.
    ///
    /// # Errors
    /// There is no such machine, or its file is none.
    pub fn tuned_machine(&self) -> Result<Option<TunedMachine>, UserError> {
        let Some(machine) = &self.machine else {
            return Ok(None);
        };
        self.find_machine(machine)?;
        let rules = self.rule.iter();
        Ok(Some(TunedMachine {
            // A run goes on from other folders, too.
            name: std::fs::canonicalize(machine).unwrap_or_else(|_| machine.clone()),
            rules: rules
                .map(|(rule, value)| (rule.facts().key.to_owned(), *value))
                .collect(),
            placement: self.placement().to_owned(),
            window_ns: self.simulate.map(|window| window.as_nanos() as u64),
        }))
    }

    /// Returns the machine in whose simulated time kernels boot; `None` if none is given.
    ///
    /// # Errors
    /// There is no such machine, or its file is none.
    pub fn boots(&self) -> Result<Option<SimulatedBoots>, UserError> {
        let boots = |machine: &PathBuf| -> Result<_, UserError> {
            Ok(SimulatedBoots {
                machine: self.find_machine(machine)?,
                placement: self.placement().to_owned(),
                length: self.simulate,
            })
        };
        self.machine.as_ref().map(boots).transpose()
    }

    /// Places `cpus` CPUs on the machine.
    ///
    /// # Errors
    /// There is no such placement, or no room for so many CPUs.
    pub fn place(&self, machine: NamedMachine, cpus: u16) -> Result<SimulationSettings, Error> {
        let mut settings = SimulationSettings::new(machine, self.placement(), cpus)?;
        settings.length = self.simulate.unwrap_or(settings.length);
        Ok(settings)
    }
}
