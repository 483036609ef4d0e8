//! Messages of the commits that keep changes, in the form of the kernel's.

use std::fmt::Write as _;

use relayout_advice::{BenchEffect, ResolvedProfile, effects_of};
use relayout_probe::MachineIdentity;
use relayout_session::advise::PatchedType;
use relayout_verify::judged_change::ChangeBasis;
use relayout_workflows::tune::{ChangeDescription, ChangeWriter, TriedChange, TuneSettings};

use crate::exports::mail::patch::patch_description;
use crate::words::effects::{
    counted_words, guest_cpus, guest_machine, measured_words, simulated_words,
};
use crate::words::wrap::{wrap_block, wrap_text_at};

/// Columns of a commit message.
const WIDTH: usize = 72;
/// Columns before an effect.
const INDENT: usize = 2;
/// Last line of each message. Other trailers name people, who are to write them.
const TRAILER: &str = "Assisted-by: relayout";

/// Writer of commit messages for a run.
#[derive(Clone, Copy, Debug)]
pub struct TuneWriter;

impl ChangeWriter for TuneWriter {
    fn describe_patch(
        &self,
        resolved: &ResolvedProfile<'_>,
        patched: &PatchedType<'_>,
    ) -> Option<ChangeDescription> {
        patch_description(resolved, patched)
    }

    fn commit_message(
        &self,
        change: &TriedChange,
        settings: &TuneSettings,
        machine: &MachineIdentity,
    ) -> String {
        let Some(proposal) = &change.proposal else {
            return String::new();
        };
        let description = &proposal.description;
        let mut text = format!(
            "{}\n\n{}\n",
            description.subject,
            description.body.trim_end()
        );
        let measured = effects_of(&change.effects, ChangeBasis::Measured);
        if !measured.is_empty() {
            let effects = measured
                .iter()
                .map(|effect| (&effect.bench, effect.words()));
            let heading = measured_words(machine, &sample_counts(&measured));
            push_effects(&mut text, &heading, effects);
        }
        let simulated = effects_of(&change.effects, ChangeBasis::Simulated);
        if let Some(machine) = guest_machine(settings).filter(|_| !simulated.is_empty()) {
            let effects = simulated
                .iter()
                .map(|effect| (&effect.bench, effect.words()));
            let pairs = sample_counts(&simulated);
            let heading = simulated_words(&machine, guest_cpus(settings), &pairs);
            push_effects(&mut text, &heading, effects);
        }
        let counted = effects_of(&change.effects, ChangeBasis::Counted);
        if !counted.is_empty() {
            let effects = counted.iter().map(|effect| (&effect.bench, effect.words()));
            let heading = counted_words(guest_cpus(settings), &sample_counts(&counted));
            push_effects(&mut text, &heading, effects);
        }
        if measured.is_empty() {
            text.push_str("\nNothing was measured on hardware.\n");
        }
        let _ = writeln!(text, "\n{TRAILER}");
        text
    }
}

fn sample_counts(effects: &[&BenchEffect]) -> Vec<usize> {
    effects.iter().map(|effect| effect.samples).collect()
}

fn push_effects<'e>(
    text: &mut String,
    heading: &str,
    effects: impl Iterator<Item = (&'e String, String)>,
) {
    let _ = writeln!(
        text,
        "\n{}\n",
        wrap_text_at(WIDTH, &format!("{heading}:"), 0)
    );
    for (bench, words) in effects {
        let line = format!("{bench}: {words}");
        let _ = writeln!(text, "{}", wrap_block(WIDTH, &line, INDENT, INDENT));
    }
}
