//! Predicted throughput of layouts, on the probed machine.

use relayout_contend::throughput::{
    RecordedLoad, ThroughputGain, ThroughputInputs, find_spin_waits,
};
use relayout_contend::{ObjectExtent, TraceAccess};
use relayout_layout::abi::StructLayout;
use relayout_profile::ClockUnit;
use relayout_search::{AdviceSubject, LayoutAdvice, RecordedInstance, waits_by_stretch};

use super::gathered::GatheredType;
use super::guards::GuardAdvice;
use super::searched::SearchedType;
use crate::{ProbedMachine, ResolvedProfile};

/// Predicts the gains of the first `top` candidates and of the user's layouts, and stores them in
/// the advice. Returns a sentence if the type allows no prediction. Recordings whose clock counts instructions have
/// none: they are executed in simulated time instead.
pub fn predict_gains(
    resolved: &ResolvedProfile<'_>,
    searched: &mut SearchedType<'_>,
    guards: Option<&mut GuardAdvice>,
    machine: &ProbedMachine,
    top: usize,
) -> Option<String> {
    if resolved.profile.meta.clock == Some(ClockUnit::Instructions) {
        return None;
    }
    let costs = machine.costs.as_ref()?;
    if let Some(why) = waiting_words(&searched.gathered) {
        let name = &searched.gathered.name;
        return Some(format!(
            "No throughput is predicted for struct {name}: {why}."
        ));
    }
    let name = &searched.gathered.name;
    let step = format!("predicting the gain of layouts of {name}");
    resolved.progress.step(&step);
    let advice = searched.outcome.as_ref().ok()?;
    let subject = searched.subject(resolved.line_bytes);
    let load = RecordedLoad::new(resolved.profile, &logged_extents(&subject));
    let inputs = ThroughputInputs {
        load: &load,
        costs,
        contexts: machine.cpus,
    };
    let shown = advice.shown_candidates(top);
    let unguarded = layout_gains(&inputs, subject, |_| false, advice, shown);
    if let Some(guards) = guards {
        let advice = &guards.guarded.advice;
        let mut shown = advice.shown_candidates(top);
        let alone = guards.guarded.guards_alone_index();
        shown.extend(alone.filter(|index| !shown.contains(index)));
        let guarded = layout_gains(&inputs, subject, guards.guard_filter(), advice, shown);
        guarded.store_into(&mut guards.guarded.advice);
    }
    if let Ok(advice) = &mut searched.outcome {
        unguarded.store_into(advice);
    }
    None
}

/// Predicted gains of the layouts of one search.
struct LayoutGains {
    by_candidate: Vec<(usize, Option<ThroughputGain>)>,
    of_user_layouts: Vec<Option<ThroughputGain>>,
}

impl LayoutGains {
    fn store_into(self, advice: &mut LayoutAdvice) {
        advice.set_gains(self.by_candidate, self.of_user_layouts);
    }
}

/// Says where contexts wait for each other's stores to objects of the type, if they do. Then none of them is as fast as
/// it would be alone.
fn waiting_words(gathered: &GatheredType<'_>) -> Option<String> {
    let traces = gathered.instances.iter().map(|instance| &instance.trace);
    let spin_waits = find_spin_waits(traces);
    let longest_wait = spin_waits.iter().max_by_key(|wait| wait.times)?;
    let layout = gathered
        .shape
        .lay_out(&gathered.shape.current_arrangement());
    let atom_of = |instance: &RecordedInstance| {
        gathered.atom_at_offset(&layout, instance, longest_wait.offset)
    };
    let atom = gathered.instances.iter().find_map(atom_of)?;
    Some(format!(
        "contexts wait for each other ({} reads '{}' until another stores to it, {} times in the accesses recorded in \
         order)",
        longest_wait.context, gathered.shape.atoms[atom].name, longest_wait.times
    ))
}

/// Predicts the gains of candidates, by their indices, and of the user's layouts.
fn layout_gains(
    inputs: &ThroughputInputs<'_>,
    subject: AdviceSubject<'_>,
    is_guarded: impl Fn(&TraceAccess) -> bool,
    advice: &LayoutAdvice,
    indices: Vec<usize>,
) -> LayoutGains {
    let layouts: Vec<&StructLayout> = indices
        .iter()
        .map(|index| &advice.candidates[*index])
        .chain(&advice.user_layouts)
        .map(|scored| &scored.layout)
        .collect();
    let stretches = waits_by_stretch(subject, is_guarded, &layouts);
    let mut gains = stretches.iter().map(|waits| inputs.gain(waits));
    LayoutGains {
        by_candidate: indices.into_iter().zip(gains.by_ref()).collect(),
        of_user_layouts: gains.collect(),
    }
}

/// Returns the places of the objects whose accesses were logged in order, which replay covers.
fn logged_extents(subject: &AdviceSubject<'_>) -> Vec<ObjectExtent> {
    let covered_end =
        |instance: &RecordedInstance| instance.trace.covered.iter().map(|bytes| bytes.end).max();
    let mut extents: Vec<ObjectExtent> = subject
        .instances
        .iter()
        .map(|instance| ObjectExtent {
            run: instance.run,
            base: instance.trace.base,
            bytes: covered_end(instance).unwrap_or(0),
        })
        .collect();
    extents.sort_unstable();
    extents.dedup();
    extents
}
