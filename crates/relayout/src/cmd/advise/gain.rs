//! What candidates are predicted to gain, on the machine that was probed.

use std::path::{Path, PathBuf};

use anyhow::bail;
use relayout_contend::throughput::{
    LineHabit, MachineCosts, RecordedLoad, ThroughputGain, ThroughputInputs, find_spin_waits,
};
use relayout_contend::{ObjectExtent, TraceAccess};
use relayout_host::probe::{self, AccessCost, MachineFile};
use relayout_host::RecordingProgress as _;
use relayout_layout::abi::StructLayout;
use relayout_search::{
    AdviceSubject, LayoutAdvice, RecordedInstance, waits_by_stretch,
};

use super::TypeAdvice;
use crate::resolved::ResolvedProfile;

/// Where predictions come from.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct MachineArgs {
    /// Predict throughput, and weigh pairs of lines, by what is in this file [default: what `relayout probe`
    /// measured on this machine]
    #[arg(long, value_name = "FILE")]
    pub machine: Option<PathBuf>,
    /// Predict it for N CPUs that do what the recorded ones do [default: as many as were recorded]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=4096))]
    pub cpus: Option<u32>,
}

/// What is known of the machine that is asked about.
#[derive(Clone, Debug, Default)]
pub struct ProbedMachine {
    /// What a pair transfer costs there, in transfers; 0 where it is not known.
    pub pair_coefficient: f64,
    /// Why no throughput is predicted although the machine was probed: a sentence.
    missing_costs_note: Option<String>,
    costs: Option<MachineCosts>,
    cpus: Option<u32>,
}

impl MachineArgs {
    /// Reads what was measured; a `pair_coefficient` that is given counts instead of the measured one.
    ///
    /// # Errors
    /// A file that cannot be read, or that was named and has no costs.
    pub(in crate::cmd) fn read_probed(
        &self,
        pair_coefficient: Option<f64>,
    ) -> anyhow::Result<ProbedMachine> {
        let file = match &self.machine {
            Some(path) => Some(MachineFile::read(path).map_err(machine_file_error)?),
            None => probe::load_machine_file()?,
        };
        let measured = file.as_ref().and_then(|file| file.pair_coefficient.value);
        let mut probed = ProbedMachine {
            pair_coefficient: pair_coefficient.or(measured).unwrap_or(0.0),
            costs: file.as_ref().and_then(costs_from_file),
            cpus: self.cpus,
            missing_costs_note: None,
        };
        if file.is_some() && probed.costs.is_none() {
            match &self.machine {
                Some(path) => bail!("{}", missing_costs_message(path, "relayout probe -o FILE")),
                None => {
                    let path = MachineFile::default_path().unwrap_or_default();
                    let message = missing_costs_message(&path, "relayout probe");
                    probed.missing_costs_note =
                        Some(format!("No throughput is predicted: {message}."));
                }
            }
        }
        Ok(probed)
    }
}

/// Errors of the document itself say what to do.
fn machine_file_error(error: probe::Error) -> anyhow::Error {
    match error {
        probe::Error::MachineFile { .. } => error.into(),
        error => anyhow::Error::from(error)
            .context("`relayout probe -o FILE` writes what --machine reads"),
    }
}

fn missing_costs_message(path: &Path, command: &str) -> String {
    format!(
        "{}: it does not have what all accesses cost: an earlier version wrote it, or the machine was too noisy; \
         `{command}` measures again",
        path.display()
    )
}

impl ProbedMachine {
    /// Adds what the first `top` candidates and the given layouts gain, if that can be told; gives sentences that
    /// say why not.
    pub(in crate::cmd) fn predict_gains(
        &self,
        input: &ResolvedProfile<'_>,
        advised: &mut [TypeAdvice<'_>],
        top: usize,
    ) -> Vec<String> {
        let mut notes: Vec<String> = self.missing_costs_note.iter().cloned().collect();
        let Some(costs) = &self.costs else {
            return notes;
        };
        for type_advice in advised {
            if let Some(note) = waiting_note(type_advice) {
                notes.push(note);
                continue;
            }
            input.progress.step(&format!(
                "predicting what layouts of {} gain",
                type_advice.name
            ));
            add_gains(input, type_advice, top, (costs, self.cpus));
        }
        notes
    }
}

/// Where contexts wait for one another's stores to objects of the type, none of them is as fast as it would be
/// by itself.
fn waiting_note(type_advice: &TypeAdvice<'_>) -> Option<String> {
    let waiting_contexts =
        find_spin_waits(type_advice.instances.iter().map(|instance| &instance.trace));
    let longest_wait = waiting_contexts
        .iter()
        .max_by_key(|waiting| waiting.times)?;
    let layout = type_advice
        .shape
        .lay_out(&type_advice.shape.current_arrangement());
    let has_atom = |instance: &&RecordedInstance| {
        type_advice
            .atom_at_offset(&layout, instance, longest_wait.offset)
            .is_some()
    };
    let instance = type_advice.instances.iter().find(has_atom)?;
    let atom = type_advice.atom_at_offset(&layout, instance, longest_wait.offset)?;
    Some(format!(
        "No throughput is predicted for struct {}: contexts wait for one another there ({} looks at '{}' until \
         another has stored to it, {} times in what was recorded in order).",
        type_advice.name,
        longest_wait.context,
        type_advice.shape.atoms[atom].name,
        longest_wait.times
    ))
}

fn costs_from_file(file: &MachineFile) -> Option<MachineCosts> {
    let mut costs = MachineCosts {
        // The first is of the CPUs on which accesses were measured.
        transfer_ns: file.transfers.first()?.ns?,
        ..MachineCosts::default()
    };
    for own in LineHabit::ALL {
        for other in LineHabit::ALL {
            if (own, other) == (LineHabit::Load, LineHabit::Load) {
                continue;
            }
            let has_habits = |cost: &&AccessCost| {
                cost.kind == habit_name(own) && cost.against == habit_name(other)
            };
            let cost = file.accesses.iter().find(has_habits)?;
            costs.alone_ns[own as usize] = cost.alone_ns.value?;
            costs.contended_ns[own as usize][other as usize] = cost.contended_ns.value?;
        }
    }
    Some(costs)
}

/// As the machine file has it.
fn habit_name(habit: LineHabit) -> &'static str {
    match habit {
        LineHabit::Load => "load",
        LineHabit::Store => "store",
        LineHabit::Update => "update",
        LineHabit::Exchange => "exchange",
    }
}

/// Adds to the first `top` candidates, without checks and with them, and to the user's layouts, what they gain.
fn add_gains(
    input: &ResolvedProfile<'_>,
    type_advice: &mut TypeAdvice<'_>,
    top: usize,
    (costs, contexts): (&MachineCosts, Option<u32>),
) {
    let Ok(advice) = &type_advice.search_outcome else {
        return;
    };
    let subject = type_advice.search_subject(input.line_bytes);
    let load = RecordedLoad::new(input.profile, &logged_extents(&subject));
    let inputs = ThroughputInputs {
        load: &load,
        costs,
        contexts,
    };
    let unguarded = PredictedGains::for_candidates(
        &inputs,
        subject,
        |_| false,
        advice,
        advice.shown_candidates(top),
    );
    let guarded_gains = type_advice.guard_advice.as_ref().map(|check| {
        let advice = &check.guarded.advice;
        let mut predicted_candidates = advice.shown_candidates(top);
        let guards_alone = check.guarded.guards_alone_index();
        predicted_candidates
            .extend(guards_alone.filter(|index| !predicted_candidates.contains(index)));
        PredictedGains::for_candidates(
            &inputs,
            subject,
            check.guard_filter(),
            advice,
            predicted_candidates,
        )
    });
    if let Ok(advice) = &mut type_advice.search_outcome {
        unguarded.store_into(advice);
    }
    if let (Some(guarded_gains), Some(guard_advice)) =
        (guarded_gains, &mut type_advice.guard_advice)
    {
        guarded_gains.store_into(&mut guard_advice.guarded.advice);
    }
}

/// What layouts gain, if that can be told.
struct PredictedGains {
    /// Candidates, by index.
    candidate_indices: Vec<usize>,
    /// Theirs, then those of the given layouts.
    gains: Vec<Option<ThroughputGain>>,
}

impl PredictedGains {
    /// Of these candidates of `advice` and what was given, with a check before stores that are `guarded`.
    fn for_candidates(
        inputs: &ThroughputInputs<'_>,
        subject: AdviceSubject<'_>,
        is_guarded: impl Fn(&TraceAccess) -> bool,
        advice: &LayoutAdvice,
        candidate_indices: Vec<usize>,
    ) -> Self {
        let candidates = candidate_indices
            .iter()
            .map(|index| &advice.candidates[*index]);
        let layouts = candidates
            .chain(&advice.user_layouts)
            .map(|scored| &scored.layout);
        let layouts: Vec<&StructLayout> = layouts.collect();
        let stretches = waits_by_stretch(subject, is_guarded, &layouts);
        Self {
            candidate_indices,
            gains: stretches.iter().map(|waits| inputs.gain(waits)).collect(),
        }
    }

    fn store_into(self, advice: &mut LayoutAdvice) {
        let mut gains = self.gains;
        let user_layout_gains = gains.split_off(self.candidate_indices.len());
        let candidate_gains = self.candidate_indices.into_iter().zip(gains);
        advice.set_gains(candidate_gains, user_layout_gains);
    }
}

/// Where the objects are that were logged in order: what replay says is of those.
fn logged_extents(subject: &AdviceSubject<'_>) -> Vec<ObjectExtent> {
    let covered_end =
        |instance: &RecordedInstance| instance.trace.covered.iter().map(|bytes| bytes.end).max();
    let instances = subject.instances.iter();
    let mut extents: Vec<ObjectExtent> = instances
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
