//! A line that several CPUs want at once: `relayout probe --contend`.
//!
//! Programs whose false sharing is known come first ([`ContentionPlan::measure_known_positive`]): where that does not
//! show, nothing else is concluded.

mod document;
mod hold;
mod owners;
mod pair_tests;
mod readers;
mod rules;
mod series;
mod tickets;
mod upgrade;

pub use self::document::{
    AdjacentTest, ContentionTests, CoreThreadTest, HoldPoint, HoldTest, KnownPositive,
    LoadStoreCost, MeasuredRule, OwnerOrder, OwnerRuns, ReaderPoint, ReaderTest, SampledPairs,
    UpgradePoint, UpgradeTest,
};

use crate::Error;
use crate::cpu_position::{CpuChoice, CpuPosition, cpu_positions};
use crate::file::MachineFile;
use crate::tally::WindowTally;
use crate::topology::{CpuPair, CpuRelation, CpuTopology, PairLimits, PairSample, choose_pairs};

/// Pairs that are tested for being threads of one core: those that the kernel names, and the nearest ones.
const NAMED_THREADS_MAX: usize = 4;
const NEAREST_PAIRS_MAX: usize = 4;
/// Reason for measuring nothing on one CPU.
const ONE_CPU: &str = "one CPU only: the process may run on no other";
const ONE_CORE: &str =
    "one core only: the process may run on no other, and its threads share all caches";

/// CPUs and pairs of CPUs for the tests.
pub struct ContentionPlan {
    cpus: usize,
    map: PairSample,
    /// A pair of cores of each distance, the nearest first.
    pairs: Vec<CpuPair>,
    positions: Vec<CpuPosition>,
}

impl ContentionPlan {
    /// Chooses among the CPUs that the process may use.
    pub fn new(cpus: &[CpuTopology]) -> Self {
        let mut map = choose_pairs(cpus, PairLimits::MAP);
        let cores = { map.pairs.iter() }.filter(|pair| pair.relation != CpuRelation::SmtSibling);
        let mut pairs: Vec<CpuPair> = cores.copied().collect();
        pairs.dedup_by_key(|pair| pair.relation);
        map.add_likely_threads(cpus);
        Self {
            cpus: cpus.len(),
            map,
            pairs,
            positions: cpu_positions(cpus),
        }
    }

    /// Pairs between which moving a line is measured, the nearest cores first.
    pub fn map_pairs(&self) -> &[CpuPair] {
        &self.map.pairs
    }

    /// Returns how many pairs of each relation there are, and are measured.
    pub fn sampled_pairs(&self) -> Vec<SampledPairs> {
        let measured = |relation: CpuRelation| {
            let pairs = self.map.pairs.iter();
            pairs.filter(|pair| pair.relation == relation).count() as u64
        };
        let counts = self.map.counts.iter();
        counts
            .map(|(&relation, &pairs)| SampledPairs {
                relation,
                pairs,
                measured: measured(relation),
            })
            .collect()
    }

    /// Measures programs whose false sharing must show, on a pair of cores of each distance. Where it does not, notes
    /// that nothing else is concluded.
    pub fn measure_known_positive(
        &self,
        tally: &mut WindowTally<'_>,
    ) -> Result<ContentionTests, Error> {
        let mut contention = ContentionTests::default();
        for pair in &self.pairs {
            let positives = pair_tests::measure_known_positives(*pair, tally)?;
            contention.known_positives.extend(positives);
        }
        if !contention.shows_false_sharing() {
            tally.note_nothing_concluded(&self.nothing_concluded(&contention));
        }
        Ok(contention)
    }

    fn nothing_concluded(&self, contention: &ContentionTests) -> String {
        let mut positives = contention.known_positives.iter();
        let Some(positive) = positives.find(|positive| !positive.shows) else {
            return if self.cpus < 2 { ONE_CPU } else { ONE_CORE }.to_owned();
        };
        let ratio = positive.ratio;
        let measured = match (ratio.value, ratio.low, ratio.high) {
            (Some(value), Some(low), Some(high)) => {
                format!("{value:.2} times ({low:.2} to {high:.2})")
            }
            _ => "too noisy".to_owned(),
        };
        format!(
            "nothing else is concluded: known false sharing of '{}' does not show on CPU {} \
             and CPU {}: {measured}",
            positive.program, positive.cpu_a, positive.cpu_b
        )
    }

    /// Measures everything else. `file` has the costs of this machine.
    pub fn measure(
        &self,
        contention: &mut ContentionTests,
        file: &MachineFile,
        tally: &mut WindowTally<'_>,
    ) -> Result<(), Error> {
        let Some((nearest, farther)) = self.pairs.split_first() else {
            return Ok(());
        };
        for pair in near_pairs(file) {
            let test = pair_tests::test_core_threads(pair, tally)?;
            contention.core_threads.push(test);
        }
        contention.owners = owners::measure_owners(&self.positions, tally)?;
        for pair in &self.pairs {
            contention.hold.push(hold::measure_hold(*pair, tally)?);
        }
        let cores = CpuChoice::Pack.order(&self.positions);
        let is_first_thread = |position: &CpuPosition| position.thread == 0;
        let cores: Vec<CpuPosition> = cores.into_iter().filter(is_first_thread).collect();
        contention.readers = readers::measure_readers(&cores, tally)?;
        contention.load_store = pair_tests::measure_load_store(*nearest, tally)?;
        contention.upgrade = upgrade::measure_upgrade(&cores, tally)?;
        for pair in [Some(nearest), farther.last()].into_iter().flatten() {
            let tests = pair_tests::measure_adjacent(*pair, tally)?;
            contention.adjacent.extend(tests);
        }
        contention.rules = rules::derive_rules(contention, file, tally);
        Ok(())
    }
}

/// Pairs that may be threads of one core.
fn near_pairs(file: &MachineFile) -> Vec<CpuPair> {
    let mut transfers: Vec<(f64, CpuPair)> = { file.transfers.iter() }
        .filter_map(|transfer| {
            let pair = CpuPair {
                cpu_a: transfer.cpu_a,
                cpu_b: transfer.cpu_b,
                relation: transfer.relation,
            };
            Some((transfer.ns?, pair))
        })
        .collect();
    transfers.sort_by(|a, b| a.0.total_cmp(&b.0));
    let pairs = transfers.into_iter().map(|(_, pair)| pair);
    let (named, others): (Vec<CpuPair>, Vec<CpuPair>) =
        pairs.partition(|pair| pair.relation == CpuRelation::SmtSibling);
    let named = named.into_iter().take(NAMED_THREADS_MAX);
    named
        .chain(others.into_iter().take(NEAREST_PAIRS_MAX))
        .collect()
}
