//! Comparison of two sides, workload by workload.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use relayout_layout::known_names::{KnownName, NameMatch, list_meant};
use relayout_layout::{InlineNamespaces, TypePattern};
use relayout_messages::{RecordingProgress, UserError};
use relayout_profile::boot::COMMAND_LINE_SETTING;
use relayout_profile::{AccessCoverage, ProfileMeta};
use relayout_session::RecordedOperations;
use relayout_verify::judged_change::ChangeVerdict;

use super::causes::find_causes;
use super::rates::judge_rates;
use super::subjects::{SubjectChange, compare_subjects};
use super::{CarriedLayouts, ComparedSide, RateChange, SideWorkload, ThroughputChange};

/// Changes below this fraction do not matter, unless the user says otherwise.
const MARGIN_DEFAULT: f64 = 0.05;

/// Settings of a comparison.
#[derive(Clone, Debug)]
pub struct CompareSettings {
    /// Names of types and variables to compare; empty for all.
    pub names: Vec<String>,
    /// Changes below this fraction count as none.
    pub margin: f64,
}

impl Default for CompareSettings {
    fn default() -> Self {
        Self {
            names: Vec::new(),
            margin: MARGIN_DEFAULT,
        }
    }
}

/// Workload, the same on both sides.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ComparedWorkload {
    /// `kernel` or `program`.
    pub target: String,
    /// Name of a kernel's workload; command line of a program, without the folder of the program.
    pub name: String,
    /// CPUs of the guest; 0 for programs, whose threads may differ.
    pub cpus: u16,
    /// Machine in whose simulated time a kernel was recorded; `None` for the host's order. Counts of two
    /// orders are not those of one workload.
    pub machine: Option<String>,
}

impl ComparedWorkload {
    /// Returns the workload that a profile with this metadata recorded.
    pub fn from_meta(meta: &ProfileMeta) -> Self {
        let is_program = meta.target == "program";
        Self {
            target: meta.target.clone(),
            name: match is_program {
                true => without_folder(&meta.workload, &meta.release),
                false => meta.workload.clone(),
            },
            cpus: if is_program { 0 } else { meta.contexts },
            machine: { meta.simulated_machine.as_ref() }.map(ToString::to_string),
        }
    }
}

impl fmt::Display for ComparedWorkload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cpus {
            0 => write!(f, "{}", self.name),
            cpus => write!(f, "{} on {cpus} CPUs", self.name),
        }?;
        match &self.machine {
            Some(machine) => write!(f, " of {machine}, simulated"),
            None => Ok(()),
        }
    }
}

/// Returns the command line without the folder of its program.
fn without_folder(command: &str, program: &str) -> String {
    let (first, rest) = match command.strip_prefix(program) {
        Some(rest) if !program.is_empty() => (program, rest),
        _ => command.split_at(command.find(' ').unwrap_or(command.len())),
    };
    let name = Path::new(first).file_name().unwrap_or_default();
    format!("{}{rest}", name.display())
}

/// Comparison of all workloads that both sides have.
#[derive(Clone, Debug)]
pub struct RecordingComparison {
    /// By workload.
    pub workloads: Vec<WorkloadComparison>,
    /// True if only named types and variables were compared.
    pub is_partial: bool,
    /// Changes below this fraction count as none.
    pub margin: f64,
    /// Sentences about recordings and workloads that were left out.
    pub notes: Vec<String>,
}

/// Comparison of one workload.
#[derive(Clone, Debug)]
pub struct WorkloadComparison {
    /// The workload.
    pub workload: ComparedWorkload,
    /// Recordings of the old build.
    pub old: SideWorkload,
    /// Recordings of the new build.
    pub new: SideWorkload,
    /// Operations in a second of simulated time; `None` for recordings in the host's order.
    pub throughput: Option<ThroughputChange>,
    /// All transfers.
    pub total: RateChange,
    /// Types and variables with at least 1% of the transfers of a side, worse ones first, then
    /// better ones; in each group the largest change first.
    pub subjects: Vec<SubjectChange>,
    /// What changed layouts alone bring, if they were executed: see [`RecordingComparison::carry_layouts`].
    pub carried: Vec<CarriedLayouts>,
    /// Sentences about differences of the recordings that may matter.
    pub notes: Vec<String>,
}

impl RecordingComparison {
    /// Returns the changes that the verdict is made of: of named types, or of all and the totals.
    pub fn judged_changes(&self) -> impl Iterator<Item = &RateChange> {
        self.workloads.iter().flat_map(|workload| {
            let total = (!self.is_partial).then_some(&workload.total);
            let subjects = workload.subjects.iter().map(|subject| &subject.rate);
            total.into_iter().chain(subjects)
        })
    }

    /// Returns true if a type, a variable or the whole got worse.
    pub fn is_worse(&self) -> bool {
        self.judged_changes()
            .any(|change| change.judged.verdict == ChangeVerdict::Worse)
    }
}

/// Compares the workloads that both sides have.
///
/// # Errors
/// The sides have no workload in common or share a recording; or a name is unknown.
pub fn compare_sides(
    old: &ComparedSide,
    new: &ComparedSide,
    settings: &CompareSettings,
    progress: &dyn RecordingProgress,
) -> Result<RecordingComparison, UserError> {
    reject_shared_recordings(old, new)?;
    if !old
        .workloads
        .keys()
        .any(|workload| new.workloads.contains_key(workload))
    {
        let message = format!(
            "{} holds {}, {} holds {}: no workload is on both sides",
            old.path.display(),
            old.workload_names(),
            new.path.display(),
            new.workload_names()
        );
        return Err(UserError::input(message).with_remedy("record one workload on both builds"));
    }
    let settings = &CompareSettings {
        names: meant_names(old, new, &settings.names)?,
        ..*settings
    };
    let mut comparison = RecordingComparison {
        workloads: Vec::new(),
        is_partial: !settings.names.is_empty(),
        margin: settings.margin,
        notes: [&*old.notes, &*new.notes].concat(),
    };
    for (workload, before) in &old.workloads {
        match new.workloads.get(workload) {
            Some(after) => {
                let compared = compare_workload(workload, before, after, settings);
                comparison.workloads.push(compared);
            }
            None => comparison.notes.push(unmatched_words(workload, &new.path)),
        }
    }
    let unmatched = { new.workloads.keys() }.filter(|key| !old.workloads.contains_key(key));
    let unmatched = unmatched.map(|workload| unmatched_words(workload, &old.path));
    comparison.notes.extend(unmatched);
    find_causes(&mut comparison.workloads, progress, &mut comparison.notes);
    Ok(comparison)
}

fn unmatched_words(workload: &ComparedWorkload, other: &Path) -> String {
    format!(
        "{workload} is not compared: {} has no recording of it",
        other.display()
    )
}

fn reject_shared_recordings(old: &ComparedSide, new: &ComparedSide) -> Result<(), UserError> {
    for (workload, before) in &old.workloads {
        let Some(after) = new.workloads.get(workload) else {
            continue;
        };
        for recording in &before.recordings {
            let is_shared = |other: &&RecordedOperations| other.is_same_recording(recording);
            if let Some(other) = after.recordings.iter().find(is_shared) {
                return Err(UserError::input(format!(
                    "{} and {} hold the same recording (seed {}): nothing is compared by comparing it with itself",
                    recording.profile.display(),
                    other.profile.display(),
                    recording.extent.seed
                )));
            }
        }
    }
    Ok(())
}

fn compare_workload(
    workload: &ComparedWorkload,
    old: &SideWorkload,
    new: &SideWorkload,
    settings: &CompareSettings,
) -> WorkloadComparison {
    let totals = [old, new].map(|side| {
        let rate = |recording: &RecordedOperations| recording.rate(recording.traffic.transfers);
        side.recordings.iter().map(rate).collect()
    });
    let mut total = judge_rates(vec![totals], settings.margin);
    WorkloadComparison {
        workload: workload.clone(),
        old: old.clone(),
        new: new.clone(),
        throughput: ThroughputChange::find([old, new]),
        total: total.remove(0),
        subjects: compare_subjects(old, new, settings),
        carried: Vec::new(),
        notes: difference_notes(&old.meta, &new.meta),
    }
}

/// Returns sentences about what else differs between the recordings.
fn difference_notes(old: &ProfileMeta, new: &ProfileMeta) -> Vec<String> {
    let mut notes = Vec::new();
    if old.build_id == new.build_id && !old.build_id.is_empty() {
        notes.push("both sides are recordings of one build".to_owned());
    }
    let names: BTreeSet<&str> = { old.settings.iter().chain(&new.settings) }
        .map(|setting| setting.name.as_str())
        .collect();
    let value = |meta: &ProfileMeta, name: &str| {
        let setting = meta.settings.iter().find(|setting| setting.name == name);
        setting.map_or("none".to_owned(), |setting| setting.value.clone())
    };
    let mut differing: Vec<String> = { names.into_iter() }
        .filter(|name| !is_of_the_build(name))
        .map(|name| (name, value(old, name), value(new, name)))
        .filter(|(_, before, after)| before != after)
        .map(|(name, before, after)| format!("{name} was {before} and is {after}"))
        .collect();
    let pairs = [
        ("the collector", &old.collector, &new.collector),
        (
            "the version of relayout",
            &old.tool_version,
            &new.tool_version,
        ),
    ];
    let differs = pairs.iter().filter(|(_, before, after)| before != after);
    differing.extend(differs.map(|(name, was, is)| format!("{name} was {was} and is {is}")));
    if !differing.is_empty() {
        notes.push(format!(
            "the recordings differ in more than the build: {}",
            differing.join("; ")
        ));
    }
    if [old, new]
        .iter()
        .any(|meta| meta.coverage == AccessCoverage::Sliced)
    {
        notes.push(
            "only slices of the time were recorded: the operations are scaled to them".to_owned(),
        );
    }
    notes
}

/// Returns true for settings that name the recorded build or the seed.
fn is_of_the_build(setting: &str) -> bool {
    matches!(setting, COMMAND_LINE_SETTING | "program" | "kernel")
}

/// Returns the types and variables that the names mean, as findings call them.
fn meant_names(
    old: &ComparedSide,
    new: &ComparedSide,
    names: &[String],
) -> Result<Vec<String>, UserError> {
    let is_shared = |workload: &&ComparedWorkload| {
        old.workloads.contains_key(workload) && new.workloads.contains_key(workload)
    };
    let sides = { old.workloads.keys().filter(is_shared) }
        .flat_map(|workload| [&old.workloads[workload], &new.workloads[workload]]);
    let printed: BTreeSet<&str> = sides
        .flat_map(|side| {
            side.names
                .iter()
                .map(String::as_str)
                .chain(side.contended_names())
        })
        .collect();
    let known: Vec<_> = { printed.iter() }
        .map(|name| KnownName::printed(*name, *name))
        .collect();
    let meant_name = |name: &String| {
        let pattern = TypePattern::parse(name).map_err(UserError::input)?;
        match pattern.find_known(&known, &InlineNamespaces::default()) {
            NameMatch::Unique(meant) => Ok(meant.to_owned()),
            NameMatch::Several(meant) => Err(UserError::ambiguous_name(
                pattern.bare_name(),
                &list_meant(&meant),
            )),
            NameMatch::Unknown => {
                let similar = pattern.similar_printed(printed.iter().copied());
                let message = format!("no type or variable of the recordings is called {name}");
                Err(UserError::unknown_name(message, &similar, None))
            }
        }
    };
    names.iter().map(meant_name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, program: &str, expect: &str) {
        assert_eq!(without_folder(command, program), expect);
    }

    #[test]
    fn programs_in_two_folders_are_one_workload() {
        check(
            "/a/old/bench --threads 4",
            "/a/old/bench",
            "bench --threads 4",
        );
        check("./bench --threads 4", "/a/new/bench", "bench --threads 4");
        check("/a b/bench /a/file", "/a b/bench", "bench /a/file");
        check("bench", "", "bench");
    }
}
