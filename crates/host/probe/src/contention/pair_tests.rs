//! Measurements of contention on two CPUs with the loops that the probe always uses.

use crate::Error;
use crate::contention::document::{AdjacentTest, CoreThreadTest, KnownPositive, LoadStoreCost};
use crate::estimate::{self, ProbeEstimate};
use crate::instructions::HAS_STORE_PREFETCH;
use crate::loops::{ProbeLoop, WordDistance, WordUse};
use crate::move_times::MOVED_NS_MIN;
use crate::tally::{UnknownReason, WindowTally, estimate_windows};
use crate::topology::{CpuPair, CpuRelation};
use crate::visits::{LineVisit, LoadGap};

/// False sharing that is known to be there makes a program slower by at least this factor.
const KNOWN_POSITIVE_MIN: f64 = 1.5;
/// Instructions between a load and a store.
const GAP_INSTRUCTIONS: [u32; 6] = [0, 8, 16, 32, 64, 128];

/// Measures the two programs that are known to share a line falsely.
pub fn measure_known_positives(
    pair: CpuPair,
    tally: &mut WindowTally<'_>,
) -> Result<Vec<KnownPositive>, Error> {
    let CpuPair { cpu_a, cpu_b, .. } = pair;
    tally.step(&format!(
        "known false sharing, on CPU {cpu_a} and CPU {cpu_b}"
    ));
    let update = |distance| ProbeLoop::Compete(WordUse::Update, WordUse::Update, distance);
    let distances = [WordDistance::Same, WordDistance::Apart];
    let programs = [
        ("counters", distances.map(ProbeLoop::TwoWriters)),
        ("updates", distances.map(update)),
    ];
    let loops = programs.iter().flat_map(|(_, loops)| *loops).collect();
    let windows = tally.run_plan([cpu_a, cpu_b], &tally.plan_contention(loops))?;
    let mut positives = Vec::new();
    for (program, loops) in programs {
        let ratio = estimate_windows(&windows, loops, estimate::ratio);
        let key = format!("contention.known_positives[{program},{cpu_a},{cpu_b}].ratio");
        let ratio = tally.value_or_unknown(&key, ratio);
        positives.push(KnownPositive {
            program: program.to_owned(),
            cpu_a,
            cpu_b,
            relation: pair.relation,
            ratio,
            shows: ratio.low.is_some_and(|low| low > KNOWN_POSITIVE_MIN),
        });
    }
    Ok(positives)
}

/// Measures whether visits of two CPUs move a line. They do not where the CPUs are threads of one core.
pub fn test_core_threads(
    pair: CpuPair,
    tally: &mut WindowTally<'_>,
) -> Result<CoreThreadTest, Error> {
    let CpuPair { cpu_a, cpu_b, .. } = pair;
    tally.step(&format!("threads of a core: CPU {cpu_a} and CPU {cpu_b}"));
    let loops = [WordDistance::Same, WordDistance::Apart]
        .map(|distance| ProbeLoop::Visit(LineVisit::Exchange, LineVisit::Exchange, distance));
    let windows = tally.run_plan([cpu_a, cpu_b], &tally.plan_contention(loops.to_vec()))?;
    let visit = estimate_windows(&windows, loops, estimate::any_difference);
    let key = format!("contention.core_threads[{cpu_a},{cpu_b}].visit_ns");
    let visit_ns = tally.value_or_unknown(&key, visit);
    let measured = visit_ns.low.zip(visit_ns.high).and_then(|(low, high)| {
        if high < MOVED_NS_MIN {
            Some(true)
        } else {
            (low > MOVED_NS_MIN).then_some(false)
        }
    });
    Ok(CoreThreadTest {
        cpu_a,
        cpu_b,
        named_by_kernel: pair.relation == CpuRelation::SmtSibling,
        visit_ns,
        measured,
    })
}

/// Measures visits that load a line and then store to it.
pub fn measure_load_store(
    pair: CpuPair,
    tally: &mut WindowTally<'_>,
) -> Result<Vec<LoadStoreCost>, Error> {
    let (a, b) = (pair.cpu_a, pair.cpu_b);
    tally.step(&format!(
        "loads before stores of one line, on CPU {a} and CPU {b}"
    ));
    let visits = load_store_visits();
    let loops_of = |visit| {
        [WordDistance::Same, WordDistance::Apart]
            .map(|distance| ProbeLoop::Visit(visit, visit, distance))
    };
    let loops = visits
        .iter()
        .flat_map(|(visit, _)| loops_of(*visit))
        .collect();
    let windows = tally.run_plan([a, b], &tally.plan_contention(loops))?;
    let mut costs = Vec::new();
    for (visit, mut cost) in visits {
        let key = match (&cost.between, cost.instructions) {
            (Some(_), Some(count)) => format!("{},{count} instructions", cost.access),
            (Some(between), None) => format!("{},{between}", cost.access),
            (None, _) => cost.access.clone(),
        };
        let ns = estimate_windows(&windows, loops_of(visit), estimate::difference);
        cost.ns = tally.value_or_unknown(&format!("contention.load_store[{key}].ns"), ns);
        costs.push(cost);
    }
    if !HAS_STORE_PREFETCH {
        tally.note_unknown(
            "contention.load_store[prefetchw]",
            "measured on x86-64 and arm64 only",
        );
    }
    Ok(costs)
}

/// The visits, with their names in the document.
fn load_store_visits() -> Vec<(LineVisit, LoadStoreCost)> {
    let named = |access: &str, between: Option<&str>, instructions| LoadStoreCost {
        access: access.to_owned(),
        between: between.map(str::to_owned),
        instructions,
        ns: ProbeEstimate::default(),
    };
    let mut visits = vec![(LineVisit::Exchange, named("exchange", None, None))];
    let accesses: [(&str, fn(LoadGap) -> LineVisit); 2] = [
        ("compare-exchange", LineVisit::LoadCompareExchange),
        ("store", LineVisit::LoadStore),
    ];
    for (access, visit) in accesses {
        for count in GAP_INSTRUCTIONS {
            let cost = named(access, Some("instructions"), Some(count));
            visits.push((visit(LoadGap::Instructions(count)), cost));
        }
        if HAS_STORE_PREFETCH {
            let cost = named(access, Some("prefetchw"), None);
            visits.push((visit(LoadGap::Prefetch), cost));
        }
        visits.push((visit(LoadGap::Fence), named(access, Some("fence"), None)));
        visits.push((
            visit(LoadGap::Address),
            named(access, Some("address"), None),
        ));
    }
    visits
}

/// Measures the costs of the other line of a pair of lines.
pub fn measure_adjacent(
    pair: CpuPair,
    tally: &mut WindowTally<'_>,
) -> Result<Vec<AdjacentTest>, Error> {
    use WordDistance::{Apart, Buddy, Same};
    let CpuPair { cpu_a, cpu_b, .. } = pair;
    tally.step(&format!("pairs of lines, on CPU {cpu_a} and CPU {cpu_b}"));
    let patterns: [(&str, fn(WordDistance) -> ProbeLoop); 3] = [
        ("two-writers", ProbeLoop::TwoWriters),
        ("beside-shared", ProbeLoop::BesideShared),
        ("beside-read", ProbeLoop::BesideRead),
    ];
    let patterns =
        patterns.map(|(pattern, probe_loop)| (pattern, [Same, Buddy, Apart].map(probe_loop)));
    let loops = patterns.iter().flat_map(|(_, loops)| *loops).collect();
    let windows = tally.run_plan([cpu_a, cpu_b], &tally.plan_contention(loops))?;
    let mut tests = Vec::new();
    for (pattern, loops) in patterns {
        let coefficient: Result<ProbeEstimate, UnknownReason> =
            estimate_windows(&windows, loops, estimate::coefficient);
        let key = format!("contention.adjacent[{pattern},{cpu_a},{cpu_b}].coefficient");
        tests.push(AdjacentTest {
            cpu_a,
            cpu_b,
            relation: pair.relation,
            pattern: pattern.to_owned(),
            coefficient: tally.value_or_unknown(&key, coefficient),
        });
    }
    Ok(tests)
}
