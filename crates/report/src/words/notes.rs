//! Notes that explain the numbers of a finding. The document holds them, and every rendering shows them.

use relayout_contend::finding::{ElementRun, LinePlace, SharedElements};
use relayout_contend::{CONFIDENCE_MIN_PERCENT, Finding, FindingKind};
use relayout_layout::word_lists::word_list;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::percent::{percent_of, whole_percent};
use super::{ContextNoun, count_more, counted};

/// Contexts in a list, at most.
const CONTEXTS_MAX: usize = 4;
/// Runs of elements of an array in a list, at most.
const RUNS_MAX: usize = 8;
/// Places of lines in a list, at most.
const PLACES_MAX: usize = 4;

/// A note on a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct FindingNote {
    /// Subject of the note.
    pub kind: NoteKind,
    /// Sentences.
    pub text: String,
}

/// Subject of a note on a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NoteKind {
    /// The numbers are estimates from samples.
    Estimated,
    /// Hardware reported transfers.
    HitmObserved,
    /// Many of the objects have a type that is uncertain, and the type that other code takes them for.
    UncertainType,
    /// Transfers are false at first, but not for as long as the line stays.
    Lifetime,
    /// Elements of an array share the lines.
    Elements,
    /// The finding has several lines.
    Places,
    /// The line has the word of a lock.
    LockWord,
    /// The object or the access lies on two lines.
    Straddle,
    /// The finding has another kind in some recordings.
    Unstable,
    /// Part of the recordings in which the finding keeps its rank.
    Stability,
}

impl NoteKind {
    fn note(self, text: impl Into<String>) -> FindingNote {
        FindingNote {
            kind: self,
            text: text.into(),
        }
    }
}

/// Returns the notes on a finding, in the order in which they are shown.
pub(crate) fn finding_notes(finding: &Finding, noun: ContextNoun) -> Vec<FindingNote> {
    let lines_note = match &finding.elements {
        Some(elements) => Some(elements_note(elements, noun)),
        None => places_note(finding),
    };
    let kind_note = match finding.kind {
        FindingKind::LockWord => Some(
            NoteKind::LockWord
                .note("Those who try to take the lock pull the line from under its holder."),
        ),
        FindingKind::Straddle => Some(NoteKind::Straddle.note("Lies on two lines and moves both.")),
        _ => None,
    };
    let notes = [
        estimated_note(finding),
        hitm_note(finding),
        uncertain_type_note(finding),
        lifetime_note(finding, noun),
        lines_note,
        kind_note,
        unstable_note(finding),
        stability_note(finding),
    ];
    notes.into_iter().flatten().collect()
}

fn estimated_note(finding: &Finding) -> Option<FindingNote> {
    let text = "Estimated from rates of sampled accesses, not counted.";
    finding.estimated.then(|| NoteKind::Estimated.note(text))
}

fn hitm_note(finding: &Finding) -> Option<FindingNote> {
    let observed = finding.hitm?;
    let text = format!("Hardware told of {observed} transfers (HITM) of these lines.");
    Some(NoteKind::HitmObserved.note(text))
}

/// Returns a note on elected types, if many of the objects have an uncertain one.
fn uncertain_type_note(finding: &Finding) -> Option<FindingNote> {
    let confidence = finding.type_confidence;
    let rival = finding.rival_type.as_ref().map_or(String::new(), |rival| {
        format!(" Other code takes the same memory for {rival}: it is an arena, or was used again.")
    });
    confidence.is_doubtful().then(|| {
        NoteKind::UncertainType.note(format!(
            "The type of {} of {} was elected by evidence that hardly agrees, with a confidence from {}% (below \
             {CONFIDENCE_MIN_PERCENT}%): see --explain {}.{rival}",
            confidence.uncertain,
            counted(confidence.objects, "object"),
            confidence.least_percent,
            finding.rank
        ))
    })
}

/// Returns a note on misses that are false at first, but whose contexts go on to use what another wrote.
fn lifetime_note(finding: &Finding, noun: ContextNoun) -> Option<FindingNote> {
    let transfers = finding.tally.transfers();
    let first_touch = finding.tally.false_first_touch;
    let lifetime = finding.tally.false_lifetime;
    if first_touch <= transfers / 2 || lifetime > transfers / 2 {
        return None;
    }
    Some(NoteKind::Lifetime.note(format!(
        "{} of the misses hit data that no other {noun} had changed (first use), but most of those {noun}s use the changed \
         data soon after: over the whole stay, {} of the transfers are false.",
        percent_of(first_touch, transfers),
        percent_of(lifetime, transfers),
        noun = noun.singular()
    )))
}

/// Returns the stride of an array, and the contexts that use its elements.
fn elements_note(elements: &SharedElements, noun: ContextNoun) -> FindingNote {
    let shown = elements.runs.iter().take(RUNS_MAX);
    let mut users: Vec<String> = shown.map(|run| run_words(run, noun.singular())).collect();
    let rest = elements.runs.get(users.len()..).unwrap_or_default();
    let elements_left: u64 = rest.iter().map(ElementRun::element_count).sum();
    if elements_left > 0 {
        users.push(count_more(elements_left, "element"));
    }
    let array = match &elements.member {
        Some(member) => format!("`{member}` is an array"),
        None => "An array".to_owned(),
    };
    NoteKind::Elements.note(format!(
        "{array} of {}, {} bytes each. Used on these lines: {}.",
        counted(elements.count, "element"),
        elements.stride,
        users.join(", ")
    ))
}

/// Returns `[2] by thread 3`, or `[0..24] by thread 1`.
fn run_words(run: &ElementRun, noun: &str) -> String {
    let contexts = run.contexts.iter();
    let contexts: Vec<String> = contexts.map(|context| context.0.to_string()).collect();
    let plural = if run.contexts.len() == 1 { "" } else { "s" };
    let contexts = word_list(&contexts, CONTEXTS_MAX);
    let elements = match run.element_count() {
        1 => format!("[{}]", run.first),
        _ => format!("[{}..{}]", run.first, run.last),
    };
    format!("{elements} by {noun}{plural} {contexts}")
}

/// Returns the offsets of the finding's lines, if there are several.
fn places_note(finding: &Finding) -> Option<FindingNote> {
    let transfers = finding.tally.transfers();
    let place_words = |place: &LinePlace| {
        let part = percent_of(place.transfers, transfers);
        format!(
            "{:+} ({part}, {})",
            place.line_offset,
            counted(place.objects, "object")
        )
    };
    let places: Vec<String> = finding.places.iter().map(place_words).collect();
    (places.len() > 1).then(|| {
        let reason = match finding.phase() {
            None => "Objects begin at several places in a line",
            Some(_) => "It lies on several lines",
        };
        let places = word_list(&places, PLACES_MAX);
        NoteKind::Places.note(format!("{reason}; lines begin at {places}."))
    })
}

fn unstable_note(finding: &Finding) -> Option<FindingNote> {
    let kinds = { finding.kinds_by_run.iter() }
        .map(|(kind, runs)| format!("{} in {runs}", kind.as_str()))
        .collect::<Vec<_>>()
        .join(", ");
    finding.is_unstable().then(|| {
        NoteKind::Unstable.note(format!(
            "Unstable: not the same thing in all recordings ({kinds}), so no advice."
        ))
    })
}

fn stability_note(finding: &Finding) -> Option<FindingNote> {
    let kept = whole_percent(finding.stability?);
    Some(NoteKind::Stability.note(format!("Keeps its rank in {kept} of the recordings.")))
}
