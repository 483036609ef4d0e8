//! Rules of the simulated machine, from measurements.

use relayout_machine::MachineRule;

use crate::contention::document::{ContentionTests, LoadStoreCost, MeasuredRule, OwnerRuns};
use crate::estimate::ProbeEstimate;
use crate::file::MachineFile;
use crate::move_times::TAKEN_BY_LOAD;
use crate::tally::WindowTally;

/// Time of an instruction of the simulated machine, and of an atomic one beside it, in nanoseconds.
const INSTRUCTION_NS: f64 = 0.2;
const ATOMIC_NS: f64 = 6.0;
/// Share of hand-overs by which near CPUs are preferred at least if they are.
const PREFERENCE_MIN: f64 = 0.05;

/// A value and the ends of its interval, or the reason for having none.
type RuleValue = Result<[f64; 3], String>;

/// Returns the rules that the measurements tell, and notes why they do not tell the others.
pub fn derive_rules(
    contention: &ContentionTests,
    file: &MachineFile,
    tally: &mut WindowTally<'_>,
) -> Vec<MeasuredRule> {
    let values = [
        (MachineRule::TransferTime, transfer_time(file)),
        (MachineRule::Upgrade, upgrade(contention, file)),
        (
            MachineRule::CleanReadOccupation,
            clean_read_occupation(contention),
        ),
        (
            MachineRule::HoldAfterLoss,
            hold_after_loss(contention, file),
        ),
        (
            MachineRule::LoadBeforeStore,
            load_before_store(&contention.load_store),
        ),
        (MachineRule::NearFirst, near_first(contention)),
        (MachineRule::AdjacentLine, adjacent_line(contention)),
    ];
    let mut rules = Vec::new();
    for (rule, value) in values {
        let key = rule.facts().key;
        match value {
            Ok([value, low, high]) => rules.push(MeasuredRule {
                rule: key.to_owned(),
                value,
                low,
                high,
            }),
            Err(why) => tally.note_unknown(&format!("contention.rules[{key}]"), &why),
        }
    }
    rules
}

/// Time to move a line between the nearest two cores, with its interval.
fn move_ns(file: &MachineFile) -> RuleValue {
    let times = file.move_times().and_then(|times| times.nearest_interval);
    times.ok_or_else(|| "the time to move a line is not known".to_owned())
}

fn interval(estimate: ProbeEstimate, name: &str) -> RuleValue {
    match (estimate.value, estimate.low, estimate.high) {
        (Some(value), Some(low), Some(high)) => Ok([value, low, high]),
        _ => Err(format!("{name} is not known")),
    }
}

fn transfer_time(file: &MachineFile) -> RuleValue {
    let [value, low, high] = move_ns(file)?;
    Ok([1.0, low / value, high / value])
}

fn upgrade(contention: &ContentionTests, file: &MachineFile) -> RuleValue {
    if file.loads_take_lines() == Some(true) {
        return Err("a load takes the line away from its owner, so nothing is upgraded".to_owned());
    }
    let point = contention.upgrade.points.first();
    let cost = interval(point.map(|point| point.ns).unwrap_or_default(), "the cost")?;
    Ok(ratio(cost, move_ns(file)?))
}

/// Each reader lengthens the time from one ownership to the next by its read, and by the upgrade over its copy.
fn clean_read_occupation(contention: &ContentionTests) -> RuleValue {
    let reads = interval(contention.readers.slope_ns, "the cost of a reader")?;
    let copies = interval(contention.upgrade.slope_ns, "the cost of a copy")?;
    Ok([
        reads[0] - copies[0],
        reads[1] - copies[2],
        reads[2] - copies[1],
    ])
}

fn hold_after_loss(contention: &ContentionTests, file: &MachineFile) -> RuleValue {
    let nearest = contention.hold.first();
    let half = nearest.map(|hold| hold.half_ns).unwrap_or_default();
    Ok(ratio(interval(half, "the time")?, move_ns(file)?))
}

/// Largest time between a load and a compare-and-exchange at which both cost one transfer.
fn load_before_store(costs: &[LoadStoreCost]) -> RuleValue {
    let cost = |access: &str, between: Option<&str>| {
        let mut costs = costs.iter();
        let found = costs.find(|cost| cost.access == access && cost.between.as_deref() == between);
        let ns = found.map(|cost| cost.ns).unwrap_or_default();
        interval(ns, "the cost of a visit")
    };
    let single = cost("exchange", None)?[0];
    let separate = cost("compare-exchange", Some("address"))?[0];
    let [_, kept_min] = TAKEN_BY_LOAD;
    if separate < kept_min * single {
        return Err(format!(
            "a load and a store that waits for it cost {separate:.0} ns, as much as one access \
             ({single:.0} ns): any load fetches the line for both"
        ));
    }
    let (mut merged, mut first_separate) = (0.0, None);
    let gaps = { costs.iter() }.filter(|cost| cost.access == "compare-exchange");
    for gap in gaps {
        let Some(instructions) = gap.instructions else {
            continue;
        };
        let gap_ns = f64::from(instructions) * INSTRUCTION_NS + ATOMIC_NS;
        let [ns, ..] = interval(gap.ns, "the cost of a visit")?;
        if ns >= (single + separate) / 2.0 {
            first_separate.get_or_insert(gap_ns);
        } else if let Some(first) = first_separate {
            return Err(format!(
                "a load and a store {first:.0} ns behind it cost two transfers, and {gap_ns:.0} ns behind it one"
            ));
        } else {
            merged = gap_ns;
        }
    }
    Ok([merged, merged, first_separate.unwrap_or(merged)])
}

/// By how many hand-overs runs of near CPUs are longer than by chance, in the largest set of CPUs.
fn near_first(contention: &ContentionTests) -> RuleValue {
    let sets = contention.owners.iter();
    let runs = sets.filter_map(|set| {
        let is_wide = |runs: &&OwnerRuns| runs.near_share_by_chance.is_some();
        Some((set.cpus, set.runs.iter().find(is_wide)?))
    });
    let (_, runs) =
        { runs.max_by_key(|(cpus, _)| *cpus) }.ok_or("takes cores of several caches or sockets")?;
    let shares = interval(runs.near_share, "the share of near hand-overs")?;
    let chance = runs.near_share_by_chance.unwrap_or_default();
    let [_, low, high] = shares;
    let run_length = |share: f64| 1.0 / (1.0 - share.min(0.999));
    if high < chance + PREFERENCE_MIN {
        Ok([0.0; 3])
    } else if low > chance + PREFERENCE_MIN {
        let passed_over = |share| (run_length(share) - run_length(chance)).round().max(1.0);
        Ok(shares.map(passed_over))
    } else {
        Err(format!(
            "{:.0} to {:.0} % of the hand-overs are near, by chance {:.0} %",
            100.0 * low,
            100.0 * high,
            100.0 * chance
        ))
    }
}

fn adjacent_line(contention: &ContentionTests) -> RuleValue {
    let coefficients = contention
        .adjacent
        .iter()
        .map(|test| test.coefficient.value);
    let is_above_zero = |value: Option<f64>| value.is_some_and(|value| value > 0.0);
    if coefficients.clone().any(is_above_zero) {
        return Ok([1.0; 3]);
    }
    match coefficients.collect::<Option<Vec<f64>>>() {
        Some(values) if !values.is_empty() => Ok([0.0; 3]),
        _ => Err("not every pattern of use could be measured".to_owned()),
    }
}

/// Returns the ratio of two estimates, with the widest interval.
fn ratio(over: [f64; 3], under: [f64; 3]) -> [f64; 3] {
    [over[0] / under[0], over[1] / under[2], over[2] / under[1]]
}

#[cfg(test)]
mod tests;
