//! Rules in whole picoseconds and millionths, as the simulation uses them.

use crate::random::WHOLE;
use crate::rules::{MachineRule, MachineRules};
use crate::topology::{CpuDistance, MachineTopology};

const PS_IN_NS: f64 = 1e3;
const PS_IN_US: f64 = 1e6;
/// Denominator of [`RuleAmounts::shared_issue`].
pub(crate) const ISSUE_DENOMINATOR: u64 = 1000;

/// Values of all rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RuleAmounts {
    /// Time to move a line, by [`CpuDistance`].
    pub transfer_ps: [u64; CpuDistance::ALL.len()],
    pub transfer_jitter: u64,
    pub upgrade: u64,
    pub clean_read: u64,
    pub clean_occupation_ps: u64,
    pub hold: u64,
    pub stores_max: usize,
    pub overlap_ps: u64,
    pub second_load_waits: bool,
    pub load_before_store_ps: u64,
    pub poll_interval_ps: u64,
    pub passed_over_max: u32,
    pub has_socket_queues: bool,
    pub far_tenure_ps: u64,
    pub fetches_pair: bool,
    pub pause_limit_ps: u64,
    pub poll_period_ps: u64,
    pub wake_up_ps: u64,
    pub interrupt_ps: u64,
    pub code_jitter: u64,
    pub quantum_ps: u64,
    /// Numerator over [`ISSUE_DENOMINATOR`].
    pub shared_issue: u64,
    pub ordered_within_ps: u64,
}

impl RuleAmounts {
    pub(crate) fn new(rules: &MachineRules, topology: &MachineTopology) -> Self {
        use MachineRule as Rule;
        let scaled = |rule, scale| rounded(rules.value(rule) * scale);
        let fraction = |rule| scaled(rule, WHOLE as f64);
        let factor = rules.value(Rule::TransferTime);
        Self {
            transfer_ps: CpuDistance::ALL
                .map(|distance| rounded(topology.times.at(distance) * factor * PS_IN_NS)),
            transfer_jitter: fraction(Rule::TransferJitter).min(WHOLE),
            upgrade: fraction(Rule::Upgrade),
            clean_read: fraction(Rule::CleanRead),
            clean_occupation_ps: scaled(Rule::CleanReadOccupation, PS_IN_NS),
            hold: fraction(Rule::HoldAfterLoss),
            // A store that waits takes one place.
            stores_max: scaled(Rule::StoresInFlight, 1.0).max(1) as usize,
            overlap_ps: scaled(Rule::LoadOverlap, PS_IN_NS),
            second_load_waits: rules.value(Rule::SecondLoadWaits) >= 0.5,
            load_before_store_ps: scaled(Rule::LoadBeforeStore, PS_IN_NS),
            poll_interval_ps: scaled(Rule::PollInterval, PS_IN_US),
            passed_over_max: scaled(Rule::NearFirst, 1.0) as u32,
            has_socket_queues: rules.value(Rule::SocketQueues) >= 0.5,
            far_tenure_ps: scaled(Rule::FarTenure, PS_IN_NS),
            fetches_pair: rules.value(Rule::AdjacentLine) >= 0.5,
            pause_limit_ps: scaled(Rule::PauseLimit, PS_IN_US),
            poll_period_ps: scaled(Rule::PollPeriod, PS_IN_NS),
            wake_up_ps: scaled(Rule::WakeUp, PS_IN_NS),
            interrupt_ps: scaled(Rule::InterruptLatency, PS_IN_NS),
            code_jitter: fraction(Rule::CodeJitter),
            quantum_ps: scaled(Rule::Quantum, PS_IN_NS),
            shared_issue: scaled(Rule::SharedIssue, ISSUE_DENOMINATOR as f64)
                .max(ISSUE_DENOMINATOR),
            ordered_within_ps: scaled(Rule::OrderedWithin, PS_IN_US),
        }
    }
}

/// Returns the nearest whole number; 0 for what is negative or no number.
fn rounded(value: f64) -> u64 {
    (value + 0.5) as u64
}
