//! Rules of the machine: name, value, range and source of each.

/// A rule of the machine that has a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MachineRule {
    /// Times to move a line, over those of the topology.
    TransferTime,
    /// Largest deviation of a transfer, as a fraction of it.
    TransferJitter,
    /// Time to get a line exclusively that the core reads already, over that to move it.
    Upgrade,
    /// Time to read a line that nobody modified, over that to move it.
    CleanRead,
    /// Time for which such a read keeps the line from others.
    CleanReadOccupation,
    /// Time for which a core goes on using a line after its transfer to another began, over that of the transfer.
    HoldAfterLoss,
    /// Stores of a CPU that wait for their lines, at most.
    StoresInFlight,
    /// Time of code that a CPU executes while a load waits.
    LoadOverlap,
    /// A second load of a line that is on its way waits until it is there, so that the code behind it is not hidden: it
    /// uses what it loads, as the first one may not.
    SecondLoadWaits,
    /// Time between a load and a store to its line up to which the load fetches the line for both.
    LoadBeforeStore,
    /// Time between two pauses up to which the loads between them are those of a poll, which fetch for loads only.
    PollInterval,
    /// Times that a request is passed over at most by later ones from nearer to the line. With 0, the first that came is
    /// served first.
    NearFirst,
    /// Each socket has a queue of its own, of which the first request waits at the line's home; the home serves the sockets
    /// in turn. Replaces [`MachineRule::NearFirst`].
    SocketQueues,
    /// Time for which an owner keeps a line before it goes to another socket.
    FarTenure,
    /// A load that misses also requests the other line of its pair of 128 bytes.
    AdjacentLine,
    /// Longest sleep of a CPU that executes a pause instruction.
    PauseLimit,
    /// Time between two polls. A CPU that sleeps in a pause instruction notices a store at a random point of it.
    PollPeriod,
    /// Time from an interrupt until an idle CPU executes.
    WakeUp,
    /// Time from an interrupt until a CPU that pauses executes.
    InterruptLatency,
    /// Largest deviation of the code between two ordered accesses from its mean, as a fraction of its time. It only ever
    /// takes longer, by this fraction on average, because the past cannot be changed.
    CodeJitter,
    /// Time by which a CPU may be ahead of the others while it executes uncontended code.
    Quantum,
    /// Factor of the time of code while another thread of the core executes.
    SharedIssue,
    /// Time since the last use by another CPU, after which an access that hits is not ordered.
    OrderedWithin,
}

/// Unit of a rule's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RuleUnit {
    /// Nanoseconds.
    Nanoseconds,
    /// Microseconds.
    Microseconds,
    /// Factor, or fraction.
    Factor,
    /// Count.
    Count,
    /// 0 for no, 1 for yes.
    Switch,
}

impl RuleUnit {
    /// Returns the unit as a noun: `nanoseconds`, `a factor`.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Nanoseconds => "nanoseconds",
            Self::Microseconds => "microseconds",
            Self::Factor => "a factor",
            Self::Count => "a whole number",
            Self::Switch => "a switch",
        }
    }
}

/// Facts about a rule.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RuleFacts {
    /// Rule.
    pub rule: MachineRule,
    /// Name by which users set it.
    pub key: &'static str,
    /// Name in words.
    pub name: &'static str,
    /// Unit of the values.
    pub unit: RuleUnit,
    /// Expected value.
    pub expected: f64,
    /// Smallest value that is possible.
    pub low: f64,
    /// Largest value that is possible.
    pub high: f64,
    /// Value at which the rule has no effect.
    pub off: f64,
    /// Origin of value and range.
    pub source: &'static str,
}

const fn facts(
    rule: MachineRule,
    key: &'static str,
    name: &'static str,
    unit: RuleUnit,
    [expected, low, high, off]: [f64; 4],
    source: &'static str,
) -> RuleFacts {
    RuleFacts {
        rule,
        key,
        name,
        unit,
        expected,
        low,
        high,
        off,
        source,
    }
}

/// Value of a limit that is never reached.
const UNLIMITED: f64 = 1e9;

use MachineRule as Rule;
use RuleUnit::{Count, Factor, Microseconds, Nanoseconds, Switch};

/// All rules, in the order of [`MachineRule`].
pub static RULES: [RuleFacts; 23] = [
    facts(
        Rule::TransferTime,
        "transfer-time",
        "time to move a line",
        Factor,
        [1.0, 0.75, 1.33, 0.0],
        "assumed around the published times",
    ),
    facts(
        Rule::TransferJitter,
        "transfer-jitter",
        "deviation of a transfer",
        Factor,
        [0.1, 0.0, 0.2, 0.0],
        "assumed; cores of one socket differ by about as much",
    ),
    facts(
        Rule::Upgrade,
        "upgrade",
        "cost of an upgrade",
        Factor,
        [0.75, 0.5, 1.0, 1.0],
        "assumed",
    ),
    facts(
        Rule::CleanRead,
        "clean-read",
        "cost of a clean read",
        Factor,
        [0.5, 0.3, 0.8, 1.0],
        "assumed",
    ),
    facts(
        Rule::CleanReadOccupation,
        "clean-read-occupation",
        "time for which a clean read keeps the line from others",
        Nanoseconds,
        [4.0, 2.0, 40.0, 0.0],
        "assumed; nobody has published it, and it decides the gain for struct file",
    ),
    facts(
        Rule::HoldAfterLoss,
        "hold-after-loss",
        "time for which a lost line is still used",
        Factor,
        [0.4, 0.2, 0.8, 0.0],
        "assumed",
    ),
    facts(
        Rule::StoresInFlight,
        "stores-in-flight",
        "stores that wait at most",
        Count,
        [56.0, 40.0, 112.0, UNLIMITED],
        "Intel optimization manual: store buffers of Skylake (56) to Golden Cove (112); each store takes a place",
    ),
    facts(
        Rule::LoadOverlap,
        "load-overlap",
        "code that hides a wait",
        Nanoseconds,
        [50.0, 0.0, 100.0, 0.0],
        "half of a window of 224 to 512 instructions",
    ),
    facts(
        Rule::SecondLoadWaits,
        "second-load-waits",
        "a second load of a line on its way waits for it",
        Switch,
        [1.0, 0.0, 1.0, 0.0],
        "chosen by the published rates of struct file on near CPUs (docs/predicted-and-published.md); whether later code needs \
         the loaded value is not followed",
    ),
    facts(
        Rule::LoadBeforeStore,
        "load-before-store",
        "a load fetches the line for a store close behind",
        Nanoseconds,
        [20.0, 0.0, 40.0, 0.0],
        "chosen by the published rates of struct file on near CPUs, which any value from 15 gives \
         (docs/predicted-and-published.md); at most what a window of instructions covers, which is not published",
    ),
    facts(
        Rule::PollInterval,
        "poll-interval",
        "pauses this close are those of a poll",
        Microseconds,
        [20.0, 5.0, 50.0, 0.0],
        "assumed: longer than a pause of 5 us and the interrupts between two",
    ),
    facts(
        Rule::NearFirst,
        "near-first",
        "how often near requests pass over a far one",
        Count,
        [6.0, 0.0, 8.0, 0.0],
        "chosen by the published rate of struct file on CPUs of both sockets, which 5 to 8 give \
         (docs/predicted-and-published.md); Intel orders a move within a socket there, up to an unpublished bound \
         (docs/arbitration.md)",
    ),
    facts(
        Rule::SocketQueues,
        "socket-queues",
        "the home serves sockets in turn, one request of each",
        Switch,
        [0.0, 0.0, 1.0, 0.0],
        "assumed: a home that sees one request of each socket at a time (docs/arbitration.md)",
    ),
    facts(
        Rule::FarTenure,
        "far-tenure",
        "time for which an owner keeps a line from another socket",
        Nanoseconds,
        [0.0, 0.0, 300.0, 0.0],
        "assumed: up to twice the time to another socket; nobody has published it",
    ),
    facts(
        Rule::AdjacentLine,
        "adjacent-line",
        "loads fetch the other line of the pair",
        Switch,
        [0.0, 0.0, 1.0, 0.0],
        "Intel optimization manual: spatial prefetcher; firmware of servers turns it on or off",
    ),
    facts(
        Rule::PauseLimit,
        "pause-limit",
        "longest sleep of a pause",
        Microseconds,
        [5.0, 1.0, 20.0, 0.0],
        "bounds what a poll of other state than memory loses; lengths of 5 to 40 ns hardly matter",
    ),
    facts(
        Rule::PollPeriod,
        "poll-period",
        "time between two polls",
        Nanoseconds,
        [40.0, 5.0, 60.0, 0.0],
        "Intel optimization manual: a pause takes up to 140 cycles since Skylake, about 10 before; results hardly depend on it",
    ),
    facts(
        Rule::WakeUp,
        "wake-up",
        "time until an idle CPU executes",
        Nanoseconds,
        [1500.0, 500.0, 8000.0, 0.0],
        "assumed; halt without deep sleep",
    ),
    facts(
        Rule::InterruptLatency,
        "interrupt-latency",
        "time until an interrupt reaches a pausing CPU",
        Nanoseconds,
        [1500.0, 500.0, 3000.0, 0.0],
        "assumed: as for an idle CPU",
    ),
    facts(
        Rule::CodeJitter,
        "code-jitter",
        "stretch of the code between accesses",
        Factor,
        [0.05, 0.0, 0.1, 0.0],
        "assumed; without any, CPUs fall into step",
    ),
    facts(
        Rule::Quantum,
        "quantum",
        "lead of a CPU over the others",
        Nanoseconds,
        [2000.0, 500.0, 10_000.0, 0.0],
        "results are the same within the range",
    ),
    facts(
        Rule::SharedIssue,
        "shared-issue",
        "code of two threads of a core takes longer by",
        Factor,
        [1.6, 1.3, 2.0, 1.0],
        "published gains of a second thread for kernel code, 0 to 50%: assumed",
    ),
    facts(
        Rule::OrderedWithin,
        "ordered-within",
        "a line is contended for so long after its last use by another CPU",
        Microseconds,
        [20.0, 5.0, 100.0, UNLIMITED],
        "assumed: ten quanta",
    ),
];

impl MachineRule {
    /// Returns the rule with this key.
    pub fn from_key(key: &str) -> Option<Self> {
        { RULES.iter().find(|facts| facts.key == key) }.map(|facts| facts.rule)
    }

    /// Returns the facts about the rule.
    pub fn facts(self) -> &'static RuleFacts {
        &RULES[self as usize]
    }
}

impl RuleFacts {
    /// Returns whether the rule may have this value.
    ///
    /// ```
    /// use relayout_machine::MachineRule;
    ///
    /// assert!(MachineRule::Upgrade.facts().allows(0.5));
    /// assert!(!MachineRule::Upgrade.facts().allows(0.4));
    /// assert!(!MachineRule::NearFirst.facts().allows(1.5), "a count is a whole number");
    /// ```
    pub fn allows(&self, value: f64) -> bool {
        let is_whole = value == value as u64 as f64;
        (self.low..=self.high).contains(&value)
            && (is_whole || !matches!(self.unit, Count | Switch))
    }
}

/// A value for each rule.
///
/// ```
/// use relayout_machine::{MachineRule, MachineRules};
///
/// let mut rules = MachineRules::default();
/// assert_eq!(rules.value(MachineRule::Upgrade), 0.75);
/// rules.set(MachineRule::Upgrade, 0.5);
/// rules.switch_off(MachineRule::CodeJitter);
/// assert_eq!(rules.value(MachineRule::CodeJitter), 0.0);
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct MachineRules {
    values: [f64; RULES.len()],
}

/// The default has the expected values.
impl Default for MachineRules {
    fn default() -> Self {
        Self {
            values: core::array::from_fn(|at| RULES[at].expected),
        }
    }
}

impl MachineRules {
    /// Returns the value of a rule, in its unit.
    pub fn value(&self, rule: MachineRule) -> f64 {
        self.values[rule as usize]
    }

    /// Sets the value of a rule, in its unit.
    pub fn set(&mut self, rule: MachineRule, value: f64) {
        self.values[rule as usize] = value;
    }

    /// Returns the rules that have another value than the expected one.
    pub fn changed(&self) -> impl Iterator<Item = (&'static RuleFacts, f64)> {
        let values = RULES.iter().zip(self.values);
        values.filter(|(facts, value)| facts.expected != *value)
    }

    /// Sets the value at which a rule has no effect.
    pub fn switch_off(&mut self, rule: MachineRule) {
        self.set(rule, rule.facts().off);
    }
}

#[cfg(test)]
mod tests {
    use super::{MachineRule, MachineRules, RULES};

    #[test]
    fn each_rule_has_its_place_and_range() {
        for (at, facts) in RULES.iter().enumerate() {
            assert_eq!(facts.rule as usize, at, "{}", facts.name);
            assert!(facts.allows(facts.expected) && !facts.source.is_empty());
            assert_eq!(MachineRule::from_key(facts.key), Some(facts.rule));
            assert_eq!(MachineRules::default().value(facts.rule), facts.expected);
        }
    }
}
