//! Results of `relayout probe --contend`: the part `contention` of the machine file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::ProbeEstimate;
use crate::topology::CpuRelation;

/// A line that several CPUs want at once. A result that could not be measured is null; `unknown` of the file has the
/// reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContentionTests {
    /// Programs that are known to share a line falsely. If one of them is not measurably slower for it, nothing else is
    /// measured. Empty where the process may run on one core only.
    pub known_positives: Vec<KnownPositive>,
    /// Pairs of CPUs between which moving a line was measured: `transfers` of the file has the times.
    pub pairs: Vec<SampledPairs>,
    /// Pairs that may be two hardware threads of one core: those that the kernel names, and those with the shortest
    /// times to move a line.
    pub core_threads: Vec<CoreThreadTest>,
    /// Order in which CPUs get a line that all of them add to, by set of CPUs.
    pub owners: Vec<OwnerOrder>,
    /// Time for which a CPU goes on using a line that another waits for.
    pub hold: Vec<HoldTest>,
    /// Cost of readers to the one that writes.
    pub readers: ReaderTest,
    /// Visits of a line with a load and then a compare-and-exchange or a store: whether the load fetches the line for
    /// both.
    pub load_store: Vec<LoadStoreCost>,
    /// Cost of an atomic add to a line that others have copies of.
    pub upgrade: UpgradeTest,
    /// Cost of using the other line of a pair of lines, by pair of CPUs.
    pub adjacent: Vec<AdjacentTest>,
    /// Rules of the simulated machine, as these measurements tell them: `record kernel --machine FILE` takes them.
    pub rules: Vec<MeasuredRule>,
}

/// A program that is known to share a line falsely.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KnownPositive {
    /// `counters` (each CPU adds atomically to a counter of its own) or `updates` (each stores to two words of its own,
    /// and loads one of them).
    pub program: String,
    /// Number of the one CPU.
    pub cpu_a: u32,
    /// Number of the other.
    pub cpu_b: u32,
    /// Distance of the two CPUs.
    pub relation: CpuRelation,
    /// Time with both on one line, over the time with each on its own.
    pub ratio: ProbeEstimate,
    /// True if the whole interval is above 1.5.
    pub shows: bool,
}

/// Pairs of CPUs of one relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SampledPairs {
    /// Distance of the two CPUs, as the kernel has it.
    pub relation: CpuRelation,
    /// Pairs of this relation that the process may use.
    pub pairs: u64,
    /// Those of them that were measured.
    pub measured: u64,
}

/// A test for two hardware threads of one core, which have one copy of a line: visits to it do not move it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CoreThreadTest {
    /// Number of the one CPU.
    pub cpu_a: u32,
    /// Number of the other.
    pub cpu_b: u32,
    /// True if the kernel says that they are threads of one core.
    pub named_by_kernel: bool,
    /// Nanoseconds that an atomic add waits for the line that the other CPU adds to now and then.
    pub visit_ns: ProbeEstimate,
    /// True if the whole interval is below 8 ns: the line did not move. False if it is above. Null if neither.
    pub measured: Option<bool>,
}

/// Order of the tickets that a set of CPUs takes from one line by atomic adds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OwnerOrder {
    /// `pack` (neighbouring cores) or `spread` (cores of all sockets and caches in turn).
    pub placement: String,
    /// CPUs that take tickets.
    pub cpus: u32,
    /// Nanoseconds for a ticket.
    pub ticket_ns: ProbeEstimate,
    /// Share of the CPU with most tickets, over an equal share.
    pub largest_share: ProbeEstimate,
    /// Share of the CPU with fewest tickets, over an equal share.
    pub smallest_share: ProbeEstimate,
    /// Runs of consecutive tickets of one core, of one cluster (cores that share a last-level cache), and of one
    /// socket; each where the set has several.
    pub runs: Vec<OwnerRuns>,
}

/// Runs of consecutive tickets that one group of CPUs got.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OwnerRuns {
    /// `core`, `cluster` or `socket`.
    pub group: String,
    /// Groups that the CPUs of the set belong to.
    pub groups: u32,
    /// Mean length of a run, in tickets.
    pub length: ProbeEstimate,
    /// Mean length in a random order of the same tickets.
    pub random_length: Option<f64>,
    /// Mean length if the CPUs had one ticket each in turn, in an order without regard to groups.
    pub in_turn_length: Option<f64>,
    /// Share of the hand-overs from core to core that stay within the group; null for cores.
    pub near_share: ProbeEstimate,
    /// The same share if the next core were drawn at random; null for cores.
    pub near_share_by_chance: Option<f64>,
}

/// Time for which a CPU goes on using a line that another CPU waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HoldTest {
    /// Number of the CPU that adds twice.
    pub cpu_a: u32,
    /// Number of the other, which adds all the time.
    pub cpu_b: u32,
    /// Distance of the two CPUs.
    pub relation: CpuRelation,
    /// Shares by the time between the two adds, the shortest first.
    pub points: Vec<HoldPoint>,
    /// Nanoseconds between the two adds at which half of them have consecutive tickets.
    pub half_ns: ProbeEstimate,
}

/// Share of consecutive tickets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HoldPoint {
    /// Nanoseconds of computation between the two adds.
    pub ns: f64,
    /// Share of the pairs of adds between which the other CPU did not add.
    pub share: ProbeEstimate,
}

/// One CPU adds to a line all the time, and others read it all the time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReaderTest {
    /// Costs by the number of readers.
    pub points: Vec<ReaderPoint>,
    /// Nanoseconds by which each further reader lengthens the time from one ownership of the writer to its next.
    pub slope_ns: ProbeEstimate,
}

/// Costs with one number of readers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReaderPoint {
    /// CPUs that read.
    pub readers: u32,
    /// Nanoseconds from one ownership of the writer to its next; without readers, of one add.
    pub ownership_ns: ProbeEstimate,
    /// Readers that get the line between two ownerships.
    pub reads: ProbeEstimate,
}

/// Cost of visiting a line that another CPU visits as often in the same way: time of the loop, less that of the same
/// loop on a line of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadStoreCost {
    /// `exchange` (an atomic add, without a load before it), `compare-exchange` or `store` (each after a load of the
    /// line; a store is followed by a fence, since its wait would not show otherwise).
    pub access: String,
    /// Between the load and the access: `instructions` that need neither, a `fence`, `address` (that of the access
    /// needs the loaded value), or nothing, but a `prefetchw` of the line before the load. Null for `exchange`.
    pub between: Option<String>,
    /// Number of `instructions`.
    pub instructions: Option<u32>,
    /// The cost in nanoseconds.
    pub ns: ProbeEstimate,
}

/// An atomic add of a CPU that has a copy of the line, while others have copies as well.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UpgradeTest {
    /// Costs by the number of other copies.
    pub points: Vec<UpgradePoint>,
    /// Nanoseconds by which each further copy lengthens it.
    pub slope_ns: ProbeEstimate,
}

/// Cost with one number of other copies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UpgradePoint {
    /// Other CPUs that have a copy.
    pub sharers: u32,
    /// Nanoseconds of the add, less those of one to a line of its own.
    pub ns: ProbeEstimate,
}

/// One way of using the two lines of a pair on two CPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AdjacentTest {
    /// Number of the one CPU.
    pub cpu_a: u32,
    /// Number of the other.
    pub cpu_b: u32,
    /// Distance of the two CPUs.
    pub relation: CpuRelation,
    /// `two-writers`, `beside-shared` or `beside-read` (one CPU writes to both lines, the other reads one of them).
    pub pattern: String,
    /// Cost of the other line of the pair, from none (0) to that of the same line (1); 0 where it is not measurably
    /// above 0.
    pub coefficient: ProbeEstimate,
}

/// A rule of the simulated machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredRule {
    /// Name of the rule, as `probe --rules` lists it.
    pub rule: String,
    /// Measured value, in the unit of the rule. The simulation takes the nearest value that the rule allows.
    pub value: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl ContentionTests {
    /// Returns whether all programs that are known to share a line falsely are slower for it.
    pub fn shows_false_sharing(&self) -> bool {
        let mut positives = self.known_positives.iter();
        !self.known_positives.is_empty() && positives.all(|positive| positive.shows)
    }
}
