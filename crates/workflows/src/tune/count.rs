//! Counts of two builds, by recording both.

use std::path::PathBuf;

use relayout_advice::{BenchEffect, EffectSubject};
use relayout_contend::strip_type_tag;
use relayout_messages::{RecordingProgress, UserError};

use crate::compare::{CompareSettings, ComparedSide, RateChange, compare_sides};

/// Compares the recordings of a benchmark before and after a change: all memory, and the type.
/// Returns nothing for a benchmark that marks no operations.
pub(super) fn count_effects(
    profiles: [PathBuf; 2],
    bench: &str,
    type_name: &str,
    progress: &dyn RecordingProgress,
) -> Result<Vec<BenchEffect>, UserError> {
    let [before, after] =
        profiles.map(|profile| ComparedSide::read_if_marked(&profile, &[], progress));
    let (before, after) = match (before, after) {
        (Ok(Err(_)), _) | (_, Ok(Err(_))) => return Ok(Vec::new()),
        (Err(error), _) | (_, Err(error)) => return Err(error),
        (Ok(Ok(before)), Ok(Ok(after))) => (before, after),
    };
    let settings = CompareSettings::default();
    let comparison = compare_sides(&before, &after, &settings, progress)?;
    let mut effects = Vec::new();
    for workload in &comparison.workloads {
        effects.push(counted_effect(bench, None, &workload.total));
        let is_of_type = |name: &str| strip_type_tag(name) == type_name;
        for subject in &workload.subjects {
            if is_of_type(subject.subject.type_name()) {
                effects.push(counted_effect(bench, Some(type_name), &subject.rate));
            }
        }
    }
    Ok(effects)
}

/// Returns the effect on all memory, or a type, by the rates of recordings of both builds.
pub(crate) fn counted_effect(
    bench: &str,
    type_name: Option<&str>,
    rate: &RateChange,
) -> BenchEffect {
    BenchEffect {
        bench: bench.to_owned(),
        subject: EffectSubject::transfers(type_name),
        judged: rate.judged.clone(),
        is_paired: false,
        samples: rate.old.len().min(rate.new.len()),
    }
}
