//! Compares a build with itself: the recordings of a profile are split at random into two halves, and
//! every change that is told is a false one.
//!
//! ```text
//! cargo run --release -p relayout-workflows --example compare_splits -- 20 stat-one.relayout mntns.relayout
//! ```

use std::path::Path;

use relayout_messages::SilentProgress;
use relayout_statistics::random::{RandomSequence, SplitMix64};
use relayout_verify::judged_change::ChangeVerdict;
use relayout_workflows::compare::{CompareSettings, ComparedSide, compare_sides};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let splits: u64 = { arguments.next() }
        .ok_or("usage: compare_splits SPLITS PROFILE...")?
        .parse()?;
    for path in arguments {
        let side = ComparedSide::read(Path::new(&path), &[], &SilentProgress)?;
        let mut silent = 0;
        let mut told = Vec::new();
        for seed in 0..splits {
            let names = changes_of_split(&side, seed)?;
            silent += u64::from(names.is_empty());
            told.extend(names);
        }
        println!("{path}: {silent} of {splits} splits without a finding {told:?}");
    }
    Ok(())
}

/// Returns the names of what is called better or worse between two random halves.
fn changes_of_split(
    side: &ComparedSide,
    seed: u64,
) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut random = SplitMix64::new(seed);
    let (mut first, mut second) = (side.clone(), side.clone());
    for (key, workload) in &side.workloads {
        let mut recordings = workload.recordings.clone();
        for index in (1..recordings.len()).rev() {
            let other = (random.unit() * (index + 1) as f64) as usize;
            recordings.swap(index, other);
        }
        let half = recordings.split_off(recordings.len() / 2);
        if let Some(workload) = first.workloads.get_mut(key) {
            workload.recordings = recordings;
        }
        if let Some(workload) = second.workloads.get_mut(key) {
            workload.recordings = half;
        }
    }
    let compared = compare_sides(
        &first,
        &second,
        &CompareSettings::default(),
        &SilentProgress,
    )?;
    let is_told = |verdict| matches!(verdict, ChangeVerdict::Better | ChangeVerdict::Worse);
    let mut names = Vec::new();
    for workload in &compared.workloads {
        if is_told(workload.total.judged.verdict) {
            names.push(format!("{} in all", workload.workload));
        }
        let changes =
            { workload.subjects.iter() }.filter(|change| is_told(change.rate.judged.verdict));
        names.extend(changes.map(|change| format!("{:?}", change.subject)));
    }
    Ok(names)
}
