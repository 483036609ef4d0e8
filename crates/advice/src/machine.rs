//! The machine that predictions are for.

use relayout_contend::throughput::MachineCosts;
use relayout_profile::{ClockUnit, Profile};
use relayout_timed::{MachineRules, TimedMachine};

/// Costs of a probed machine.
#[derive(Clone, Debug, Default)]
pub struct ProbedMachine {
    /// Cost of a pair transfer, in transfers; 0 where it is unknown.
    pub pair_coefficient: f64,
    /// Costs of accesses; `None` where the machine was not probed.
    pub costs: Option<MachineCosts>,
    /// Number of CPUs to predict for; `None` for as many as were recorded.
    pub cpus: Option<u32>,
    /// The machine as the timed model takes it, and what is known of its rules; `None` where it was not probed.
    pub timed: Option<(TimedMachine, MachineRules)>,
    /// True if the user named the machine, its pair coefficient or its number of CPUs.
    pub is_given: bool,
    /// Sentence that says why a probed machine has no costs.
    pub missing_costs_note: Option<String>,
    /// Sentence that says why a probed machine has no model.
    pub missing_visits_note: Option<String>,
}

impl ProbedMachine {
    /// Says why nothing is predicted of a profile on a machine that was probed. One whose clock counts instructions needs
    /// the costs of visits, and others those of accesses.
    pub(crate) fn missing_note(&self, profile: &Profile) -> Option<String> {
        match profile.meta.clock {
            Some(ClockUnit::Instructions) => self.missing_visits_note.clone(),
            _ => self.missing_costs_note.clone(),
        }
    }
}
