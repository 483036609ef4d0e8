//! Options of `relayout record` for guests in simulated time.

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Duration;

use clap_complete::ArgValueCandidates;
use relayout_machine::MachineRule;
use relayout_messages::{RecordingProgress, UserError};
use relayout_record::{Error, GuestMachine, NamedMachine, RequestedMove, SimulationSettings};
use relayout_session::find_simulated_machine;

use crate::arguments;
use crate::complete;

/// Machine in whose time guests of x86-64 execute that are asked for none.
const DEFAULT_MACHINE_X86: &str = "sapphire-rapids-2s";
/// The same for guests of arm64.
const DEFAULT_MACHINE_AARCH64: &str = "graviton4-2s";
/// Placement of CPUs that are asked for none.
const DEFAULT_PLACEMENT: &str = "pack";
/// Longest window of a guest that is to finish its work.
const LENGTH_MAX: Duration = Duration::from_secs(100);

/// Options of kernels' guests in simulated time.
#[derive(Debug, clap::Args)]
pub struct SimulationArgs {
    /// Order the accesses as a machine in simulated time does, or as the host that records [default: simulated
    /// for --workload, where the guest has a snapshot; else host]
    #[arg(long, value_name = "ORDER")]
    order: Option<AccessOrder>,
    #[command(flatten)]
    pub machine: MachineArgs,
    /// Execute as if members of all objects of a type in slabs lay elsewhere: TYPE.MEMBER,MEMBER=OFFSET or
    /// =own-line, TYPE@FROM..TO=own-line for bytes, CACHE:TYPE for those of a slab cache, VARIABLE:TYPE for a
    /// variable; may be given more than once
    #[arg(long = "move", value_name = "TYPE.MEMBER=OFFSET", requires = "rates")]
    moves: Vec<RequestedMove>,
}

/// Machine in whose simulated time a guest executes, and its window.
#[derive(Debug, clap::Args)]
pub struct MachineArgs {
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
    simulate: Option<Duration>,
    /// Write no profile, and print operations a second, and where CPUs stand still
    #[arg(long, conflicts_with_all = ["output", "repeat"])]
    pub rates: bool,
    /// Print the rates as JSON
    #[arg(long, requires = "rates")]
    pub json: bool,
}

impl MachineArgs {
    /// Returns the first option that only guests in simulated time have.
    pub fn first_option(&self) -> Option<&'static str> {
        let given = [
            ("--machine", self.machine.is_some()),
            ("--rule", !self.rule.is_empty()),
            ("--placement", self.placement.is_some()),
            ("--simulate", self.simulate.is_some()),
            ("--rates", self.rates),
        ];
        given
            .into_iter()
            .find_map(|(name, is_given)| is_given.then_some(name))
    }

    /// Places `cpus` CPUs on the machine.
    ///
    /// # Errors
    /// There is no such placement, or no room for so many CPUs.
    fn place(&self, machine: NamedMachine, cpus: u16) -> Result<SimulationSettings, Error> {
        let placement = self.placement.as_deref().unwrap_or(DEFAULT_PLACEMENT);
        let mut settings = SimulationSettings::new(machine, placement, cpus)?;
        if let Some(length) = self.simulate {
            settings.length = length;
        }
        Ok(settings)
    }

    /// Returns the simulation of a program on `cpus` CPUs, which is recorded from the beginning of its window.
    ///
    /// # Errors
    /// There is no such machine or placement, its file is none, or it has no room.
    pub fn program_simulation(&self, cpus: u16) -> Result<SimulationSettings, UserError> {
        let machine = self.machine.as_deref();
        let machine = machine.unwrap_or(DEFAULT_MACHINE_X86.as_ref());
        let mut settings = self.place(find_simulated_machine(machine, &self.rule)?, cpus)?;
        settings.warm_up = Duration::ZERO;
        Ok(settings)
    }
}

/// Origin of the order of accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum AccessOrder {
    /// Each CPU has a clock, and waits for cache lines as on a machine with many CPUs
    Simulated,
    /// The order in which the host let the guest's CPUs execute
    Host,
}

/// Facts about a guest that decide on the order of its accesses.
pub struct OrderedGuest {
    /// Number of its CPUs.
    pub cpus: u16,
    /// It runs a program of the user's. Its window may last for seconds, which take minutes or hours to simulate.
    pub runs_program: bool,
    /// The number of its operations was given.
    pub has_end: bool,
    /// Given option that only the host's order has.
    pub host_option: Option<&'static str>,
}

/// Simulation that the options ask for, as far as it is known before the guest's kernel.
pub struct ChosenSimulation {
    /// The machine; none for the default one of the guest's kind.
    named: Option<NamedMachine>,
    /// Nobody asked for a simulation.
    is_default: bool,
}

/// Order of a guest's accesses.
#[derive(Default)]
pub struct RequestedOrder {
    /// Simulation whose order they have; that of the host if there is none.
    simulation: RefCell<Option<SimulationSettings>>,
    /// Nobody asked for a simulation: guests that cannot have one are recorded without.
    is_default: bool,
}

impl RequestedOrder {
    /// Records in this order. Where nobody asked for a simulation and the guest cannot have one, records in the order
    /// of the host, from then on.
    ///
    /// # Errors
    /// Those of `record`.
    pub fn record<T>(
        &self,
        progress: &dyn RecordingProgress,
        record: impl Fn(Option<SimulationSettings>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let simulation = self.simulation.borrow().clone();
        match record(simulation) {
            Err(Error::Simulation(why)) if self.is_default => {
                progress.step(&format!("accesses get the order of the host: {why}"));
                self.simulation.take();
                record(None)
            }
            recorded => recorded,
        }
    }
}

impl SimulationArgs {
    /// Returns the simulation that the options ask for; `None` for the order of the host.
    ///
    /// # Errors
    /// The options contradict each other, there is no such machine, or its file is none.
    pub fn choose_simulation(
        &self,
        guest: &OrderedGuest,
    ) -> Result<Option<ChosenSimulation>, UserError> {
        let option = match self.order {
            Some(AccessOrder::Simulated) => Some("--order simulated"),
            _ => self.machine.first_option(),
        };
        let host_option = match self.order {
            Some(AccessOrder::Host) => Some("--order host"),
            _ => guest.host_option,
        };
        match (option, host_option) {
            (Some(option), Some(host_option)) => {
                let text = format!(
                    "{option} is for the order of simulated time, and {host_option} for that of the host"
                );
                let remedy = format!("leave out {option} or {host_option}");
                return Err(UserError::input(text).with_remedy(remedy));
            }
            (None, Some(_)) => return Ok(None),
            (None, None) if guest.runs_program => return Ok(None),
            (_, None) => {}
        }
        let find = |machine| find_simulated_machine(machine, &self.machine.rule);
        Ok(Some(ChosenSimulation {
            named: self.machine.machine.as_deref().map(find).transpose()?,
            is_default: option.is_none(),
        }))
    }

    /// Returns the order that a guest of this kind has with the chosen simulation, or without one.
    ///
    /// # Errors
    /// There is no such placement, or the machine has no room for the CPUs.
    pub fn requested_order(
        &self,
        chosen: Option<ChosenSimulation>,
        guest: &OrderedGuest,
        kind: GuestMachine,
    ) -> Result<RequestedOrder, UserError> {
        let Some(ChosenSimulation { named, is_default }) = chosen else {
            return Ok(RequestedOrder::default());
        };
        let machine = match named {
            Some(machine) => machine,
            None => find_simulated_machine(default_machine(kind).as_ref(), &self.machine.rule)?,
        };
        let mut settings = match self.machine.place(machine, guest.cpus) {
            Ok(settings) => settings,
            Err(_) if is_default => return Ok(RequestedOrder::default()),
            Err(error) => return Err(error.into()),
        };
        if self.machine.simulate.is_none() && guest.has_end {
            // All of the work is recorded.
            settings.length = LENGTH_MAX;
            settings.warm_up = Duration::ZERO;
        }
        settings.moves.clone_from(&self.moves);
        Ok(RequestedOrder {
            simulation: RefCell::new(Some(settings)),
            is_default,
        })
    }
}

/// Returns the machine in whose time guests of a kind execute that are asked for none.
fn default_machine(kind: GuestMachine) -> &'static str {
    match kind {
        GuestMachine::X86 => DEFAULT_MACHINE_X86,
        GuestMachine::Aarch64 => DEFAULT_MACHINE_AARCH64,
    }
}
