//! Options of `relayout record` for guests in simulated time.

use std::cell::RefCell;
use std::time::Duration;

use relayout_messages::{RecordingProgress, UserError};
use relayout_record::{Error, GuestMachine, NamedMachine, RequestedMove, SimulationSettings};

use crate::option_groups::{RatesArgs, SimulatedMachineArgs};

/// Machine in whose time guests of x86-64 execute that are asked for none.
const DEFAULT_MACHINE_X86: &str = "sapphire-rapids-2s";
/// The same for guests of arm64.
const DEFAULT_MACHINE_AARCH64: &str = "graviton4-2s";

/// Options of kernels' guests in simulated time.
#[derive(Debug, clap::Args)]
pub struct SimulationArgs {
    /// Order the accesses as a machine in simulated time does, or as the host that records [default: simulated
    /// for --workload, where the guest has a snapshot; else host]
    #[arg(long, value_name = "ORDER")]
    order: Option<AccessOrder>,
    #[command(flatten)]
    pub machine: SimulatedMachineArgs,
    #[command(flatten)]
    pub rates: RatesArgs,
    /// Execute as if members of all objects of a type in slabs lay elsewhere: TYPE.MEMBER,MEMBER=OFFSET or
    /// =own-line, TYPE@FROM..TO=own-line for bytes, =free for lines that cost nothing, CACHE:TYPE for those of a slab cache, VARIABLE:TYPE for a
    /// variable; may be given more than once
    #[arg(long = "move", value_name = "TYPE.MEMBER=OFFSET", requires = "rates")]
    moves: Vec<RequestedMove>,
    /// Let each CPU execute its own code for so many nanoseconds after each operation, in simulated time
    #[arg(long, value_name = "NS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=1_000_000_000))]
    user_time: u32,
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
    /// Why the default machine cannot have the guest.
    no_default: Option<String>,
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
        let note_host = |why: &str| {
            progress.step(&format!("accesses get the order of the host: {why}"));
        };
        if let Some(why) = &self.no_default {
            note_host(why);
        }
        let simulation = self.simulation.borrow().clone();
        match record(simulation) {
            Err(Error::Simulation(why)) if self.is_default => {
                note_host(&why);
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
        let rates = self.rates.rates.then_some("--rates");
        let option = match self.order {
            Some(AccessOrder::Simulated) => Some("--order simulated"),
            _ => self.machine.first_option().or(rates),
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
        let find = |machine| self.machine.find_machine(machine);
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
            None => self.machine.find_machine(default_machine(kind).as_ref())?,
        };
        let mut settings = match self.machine.place(machine, guest.cpus) {
            Ok(settings) => settings,
            Err(why) if is_default => {
                return Ok(RequestedOrder {
                    no_default: Some(why.to_string()),
                    ..RequestedOrder::default()
                });
            }
            Err(error) => return Err(error.into()),
        };
        if self.machine.simulate.is_none() && guest.has_end {
            settings.run_to_the_end();
        }
        settings.user_time = Duration::from_nanos(self.user_time.into());
        settings.moves.clone_from(&self.moves);
        Ok(RequestedOrder {
            simulation: RefCell::new(Some(settings)),
            is_default,
            no_default: None,
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
