//! Rules of the model, and the range of the value of each.

use crate::lines::LineUse;

/// Instructions from a load to a store of the same line, up to which the load is expected to fetch the line for both.
const MERGED_TICKS: f64 = 32.0;

/// Part of the time to move a line for which its owner goes on using it, where nothing was measured.
const KEPT: f64 = 0.4;

/// Values of all rules.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelRules {
    /// Times to move a line, over those of the machine.
    pub transfer_factor: f64,
    /// Nanoseconds of an instruction.
    pub tick_ns: f64,
    /// Nanoseconds of an atomic instruction beyond that.
    pub locked_ns: f64,
    /// Nanoseconds from one operation to the next.
    pub between_ns: f64,
    /// Largest deviation of the code between two accesses, as a fraction. Without any, CPUs fall into step.
    pub jitter: f64,
    /// Time to get exclusive access to a line that the CPU has, over that to move it.
    pub upgrade: f64,
    /// Time to read a line that nobody modified, over that to move it.
    pub clean_read: f64,
    /// Nanoseconds for which such a read keeps the line from others.
    pub clean_hold_ns: f64,
    /// Time for which a CPU goes on using a line after its transfer to another began, over the time of that
    /// transfer: by its own use, and by that of the other.
    pub kept: [[f64; 3]; 3],
    /// Factor of all these.
    pub kept_factor: f64,
    /// Stores of a CPU that wait for their lines, at most; it stops at the next.
    pub stores_max: f64,
    /// Nanoseconds of code that a processor executes while a load waits.
    pub overlap_ns: f64,
    /// A load fetches its line for a store as well, if fewer instructions than this lie between them.
    pub merged_ticks: f64,
    /// A load of a line that another CPU has modified takes it away from there, so that a store behind it finds it: 0 or
    /// 1.
    pub moved_by_loads: f64,
    /// Nanoseconds from the moment at which a lock is given back until a context runs that slept for it.
    pub wake_ns: f64,
    /// Nanoseconds that a context takes to fall asleep in the kernel, or to wake another.
    pub kernel_ns: f64,
}

impl Default for ModelRules {
    fn default() -> Self {
        let mut rules = Self {
            transfer_factor: 0.0,
            tick_ns: 0.0,
            locked_ns: 0.0,
            between_ns: 0.0,
            jitter: 0.3,
            upgrade: 0.0,
            clean_read: 0.0,
            clean_hold_ns: 0.0,
            kept: [[KEPT; 3]; 3],
            kept_factor: 0.0,
            stores_max: 0.0,
            overlap_ns: 0.0,
            merged_ticks: 0.0,
            moved_by_loads: 0.0,
            wake_ns: 0.0,
            kernel_ns: 0.0,
        };
        for known in MachineRules::default().ranges {
            known.rule.set(&mut rules, known.expected);
        }
        rules
    }
}

impl ModelRules {
    /// Returns for which part of a transfer a CPU goes on using its line.
    pub fn kept_part(&self, own: LineUse, other: LineUse) -> f64 {
        self.kept[own as usize][other as usize] * self.kept_factor
    }
}

/// A rule whose value differs between machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ModelRule {
    /// [`ModelRules::transfer_factor`].
    Transfer,
    /// [`ModelRules::tick_ns`].
    Instruction,
    /// [`ModelRules::locked_ns`].
    AtomicInstruction,
    /// [`ModelRules::upgrade`].
    Upgrade,
    /// [`ModelRules::clean_read`].
    CleanRead,
    /// [`ModelRules::clean_hold_ns`].
    CleanHold,
    /// [`ModelRules::kept_factor`].
    Hold,
    /// [`ModelRules::stores_max`].
    StoresWaiting,
    /// [`ModelRules::overlap_ns`].
    Overlap,
    /// [`ModelRules::merged_ticks`].
    MergedLoad,
    /// [`ModelRules::moved_by_loads`].
    MovedByLoad,
    /// [`ModelRules::wake_ns`].
    WakeUp,
    /// [`ModelRules::kernel_ns`].
    SleepCall,
}

impl ModelRule {
    /// Returns the name in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Transfer => "time to move a line",
            Self::Instruction => "time of an instruction",
            Self::AtomicInstruction => "time of an atomic instruction",
            Self::Upgrade => "cost of an upgrade",
            Self::CleanRead => "cost of a clean read",
            Self::CleanHold => "time for which a clean read keeps the line from others",
            Self::Hold => "time for which a line is kept",
            Self::StoresWaiting => "stores that wait at most",
            Self::Overlap => "code that hides a wait",
            Self::MergedLoad => "a load fetches the line for a store close behind",
            Self::MovedByLoad => "a load takes a modified line away from its owner",
            Self::WakeUp => "time until a woken task runs",
            Self::SleepCall => "time to fall asleep or to wake another",
        }
    }

    /// Sets the value of the rule.
    pub fn set(self, rules: &mut ModelRules, value: f64) {
        let place = match self {
            Self::Transfer => &mut rules.transfer_factor,
            Self::Instruction => &mut rules.tick_ns,
            Self::AtomicInstruction => &mut rules.locked_ns,
            Self::Upgrade => &mut rules.upgrade,
            Self::CleanRead => &mut rules.clean_read,
            Self::CleanHold => &mut rules.clean_hold_ns,
            Self::Hold => &mut rules.kept_factor,
            Self::StoresWaiting => &mut rules.stores_max,
            Self::Overlap => &mut rules.overlap_ns,
            Self::MergedLoad => &mut rules.merged_ticks,
            Self::MovedByLoad => &mut rules.moved_by_loads,
            Self::WakeUp => &mut rules.wake_ns,
            Self::SleepCall => &mut rules.kernel_ns,
        };
        *place = value;
    }
}

/// Range of the value of a rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RuleRange {
    /// Rule.
    pub rule: ModelRule,
    /// Expected value.
    pub expected: f64,
    /// Smallest value.
    pub low: f64,
    /// Largest value.
    pub high: f64,
    /// The value was measured on the machine.
    pub is_measured: bool,
}

impl RuleRange {
    const fn assumed(rule: ModelRule, expected: f64, low: f64, high: f64) -> Self {
        Self {
            rule,
            expected,
            low,
            high,
            is_measured: false,
        }
    }

    /// Returns a value that is possible, by a number from 0 to 1. A rule that holds or does not has no values in
    /// between.
    pub(crate) fn draw(&self, unit: f64) -> f64 {
        match self.rule {
            ModelRule::MergedLoad | ModelRule::MovedByLoad if unit < 0.5 => self.low,
            ModelRule::MergedLoad | ModelRule::MovedByLoad => self.high,
            _ => self.low + (self.high - self.low) * unit,
        }
    }
}

/// Ranges of all rules on one machine.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineRules {
    /// By rule, each once.
    pub ranges: Vec<RuleRange>,
    /// [`ModelRules::kept`].
    pub kept: [[f64; 3]; 3],
}

/// The default has the ranges that are assumed where nothing was measured.
impl Default for MachineRules {
    fn default() -> Self {
        use ModelRule as Rule;
        Self {
            kept: [[KEPT; 3]; 3],
            ranges: vec![
                RuleRange::assumed(Rule::Transfer, 1.0, 0.75, 1.33),
                RuleRange::assumed(Rule::Instruction, 0.2, 0.12, 0.35),
                RuleRange::assumed(Rule::AtomicInstruction, 6.0, 3.0, 10.0),
                RuleRange::assumed(Rule::Upgrade, 0.75, 0.5, 1.0),
                RuleRange::assumed(Rule::CleanRead, 0.5, 0.3, 0.8),
                RuleRange::assumed(Rule::CleanHold, 4.0, 2.0, 40.0),
                RuleRange::assumed(Rule::Hold, 1.0, 0.5, 2.0),
                RuleRange::assumed(Rule::StoresWaiting, 64.0, 40.0, 112.0),
                RuleRange::assumed(Rule::Overlap, 50.0, 0.0, 100.0),
                RuleRange::assumed(
                    Rule::MergedLoad,
                    MERGED_TICKS + 1.0,
                    0.0,
                    MERGED_TICKS + 1.0,
                ),
                RuleRange::assumed(Rule::MovedByLoad, 0.0, 0.0, 1.0),
                RuleRange::assumed(Rule::WakeUp, 3000.0, 1500.0, 8000.0),
                RuleRange::assumed(Rule::SleepCall, 1000.0, 500.0, 2000.0),
            ],
        }
    }
}

impl MachineRules {
    /// Notes the measured value of a rule, with its interval.
    pub fn note_measured(&mut self, rule: ModelRule, [expected, low, high]: [f64; 3]) {
        for range in &mut self.ranges {
            if range.rule == rule {
                *range = RuleRange {
                    rule,
                    expected,
                    low: low.min(expected),
                    high: high.max(expected),
                    is_measured: true,
                };
            }
        }
    }

    /// Widens the range of a rule so that it holds both values.
    pub(crate) fn widen(&mut self, rule: ModelRule, low: f64, high: f64) {
        for range in &mut self.ranges {
            if range.rule == rule {
                range.low = range.low.min(low);
                range.high = range.high.max(high);
            }
        }
    }

    /// Returns the expected values.
    pub fn expected(&self) -> ModelRules {
        let mut rules = ModelRules {
            kept: self.kept,
            ..ModelRules::default()
        };
        for known in &self.ranges {
            known.rule.set(&mut rules, known.expected);
        }
        rules
    }
}
