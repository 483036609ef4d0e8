//! The machine that predictions are for.

use relayout_contend::throughput::MachineCosts;
use relayout_profile::{ClockUnit, Profile};

/// Costs of a probed machine.
#[derive(Clone, Debug, Default)]
pub struct ProbedMachine {
    /// Cost of a pair transfer, in transfers; 0 where it is unknown.
    pub pair_coefficient: f64,
    /// Costs of accesses; `None` where the machine was not probed.
    pub costs: Option<MachineCosts>,
    /// Number of CPUs to predict for; `None` for as many as were recorded.
    pub cpus: Option<u32>,
    /// True if the user named the machine, its pair coefficient or its number of CPUs.
    pub is_given: bool,
    /// Sentence that says why a probed machine has no costs.
    pub missing_costs_note: Option<String>,
}

impl ProbedMachine {
    /// Says why nothing is predicted of a profile on a machine that was probed; `None` where nothing could be: profiles
    /// whose clock counts instructions are executed in simulated time.
    pub(crate) fn missing_note(&self, profile: &Profile) -> Option<String> {
        let is_predicted = profile.meta.clock != Some(ClockUnit::Instructions);
        self.missing_costs_note.clone().filter(|_| is_predicted)
    }
}
