//! Options of the commands that execute the recorded guest again with other layouts.

use std::time::Duration;

use relayout_advice::ResolvedProfile;
use relayout_files::InterruptFlag;
use relayout_messages::UserError;
use relayout_workflows::simulate::{
    GuestChoice, GuestSimulation, SimulationRequest, TimeBudget, with_repeated_guest,
};

use super::machine_args::MachineArgs;
use super::repeated_guest::RepeatedGuestArgs;
use crate::arguments;

/// Simulation of what a layout brings.
#[derive(Clone, Debug, clap::Args)]
#[command(
    mut_arg("kernel", |kernel| kernel.requires("simulate")),
    mut_arg("file", |file| file.requires("simulate")),
    mut_arg("program", |program| program.requires("simulate")),
    mut_arg("budget", |budget| budget.requires("simulate").help(
        "Begin no further draw for a struct after this time; what was executed is kept, and the same command goes on from \
         there [default: `what-if` has none; `advise` 1m where CPUs wait for lines, 10m where they wait for locks]"
    ))
)]
pub struct SimulatedChangeArgs {
    /// Execute the recorded guest again in simulated time, as it was and with the members elsewhere, and print what the
    /// layouts bring: on the recorded machine or that of --machine, with the recorded CPUs or those of --cpus. For
    /// recordings of a kernel's workload, and of a program (`record run --machine`), which is then given again behind `--`.
    /// TIME is that of a window [default: as recorded]
    #[arg(
        long,
        value_name = "TIME",
        num_args = 0..=1,
        require_equals = true,
        value_parser = arguments::simulated_time
    )]
    pub simulate: Option<Option<Duration>>,
    /// Execute both again with N draws of the machine's rules that nobody measured: they make the interval
    #[arg(long, value_name = "N", default_value_t = 8, requires = "simulate", value_parser = clap::value_parser!(u16).range(..=500))]
    pub draws: u16,
    /// Put the guest's CPUs there on the machine: `pack` fills clusters and sockets in turn, `spread` does the opposite,
    /// `0,1,56` names threads [default: as recorded]
    #[arg(long, value_name = "PLACEMENT", requires = "simulate")]
    pub placement: Option<String>,
    #[command(flatten)]
    pub guest: RepeatedGuestArgs,
}

impl SimulatedChangeArgs {
    /// Returns the windows that the options ask for; `None` without --simulate.
    pub(super) fn request(
        &self,
        machine: &MachineArgs,
        default_budget: TimeBudget,
    ) -> Result<Option<SimulationRequest>, UserError> {
        let Some(length) = self.simulate else {
            return Ok(None);
        };
        let cpus: Option<Vec<u16>> = { machine.cpus.iter() }
            .map(|&cpus| u16::try_from(cpus).ok())
            .collect();
        Ok(Some(SimulationRequest {
            cpus: cpus.ok_or_else(|| UserError::input("a guest has at most 1024 CPUs"))?,
            length,
            draws: self.draws,
            budget: self.guest.budget.map_or(default_budget, TimeBudget::Given),
        }))
    }

    /// Returns what the options say of the guest.
    pub(super) fn guest_choice<'c>(&'c self, machine: &'c MachineArgs) -> GuestChoice<'c> {
        GuestChoice {
            machine: machine.machine.as_deref(),
            placement: self.placement.as_deref(),
            user_time: (machine.user_time > 0)
                .then(|| Duration::from_nanos(machine.user_time.into())),
            ..self.guest.guest_choice()
        }
    }
}

/// Calls `then` with the simulation of a profile's guest.
///
/// # Errors
/// Those of [`with_repeated_guest`] and of `then`.
pub fn with_simulation<T>(
    resolved: &ResolvedProfile<'_>,
    choice: GuestChoice<'_>,
    request: &SimulationRequest,
    then: impl FnOnce(&GuestSimulation<'_, '_>) -> Result<T, UserError>,
) -> Result<T, UserError> {
    let interrupt = InterruptFlag::catch();
    with_repeated_guest(&resolved.profile.meta, choice, interrupt, |guest| {
        then(&GuestSimulation {
            guest,
            request,
            progress: resolved.progress,
        })
    })
}
