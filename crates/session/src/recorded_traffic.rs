//! Traffic of the recordings of a profile: what two builds are compared by, and what is kept of many
//! profiles.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use relayout_advice::{ResolvedNames, ResolvedProfile, recorded_names};
use relayout_contend::{
    AddressNamer as _, FindingSubject, RecordingTraffic, SiteSource, count_traffic,
};
use relayout_diff::TypeLayout;
use relayout_messages::{RecordingProgress, UserError};
use relayout_profile::{AccessCoverage, ProfileMeta, RecordedRun, RecordedTime, SiteId};

use crate::declarations::find_object;
use crate::with_resolved_profile;

/// Complete recordings of a profile.
#[derive(Clone, Debug)]
pub struct ProfileTraffic {
    /// Metadata of the profile, without its runs.
    pub meta: ProfileMeta,
    /// Bytes of a cache line.
    pub line_bytes: u32,
    /// Names of all types and variables of the profile, contended or not.
    pub names: BTreeSet<String>,
    /// Complete recordings.
    pub recordings: Vec<RecordedOperations>,
    /// Number of recordings that were cut off.
    pub incomplete: usize,
}

/// Traffic of a recording, and its operations.
#[derive(Clone, Debug)]
pub struct RecordedOperations {
    /// Profile that holds the recording.
    pub profile: PathBuf,
    /// Seed and extent, which tell it from others of its workload and build.
    pub extent: RecordingExtent,
    /// Operations in the recorded time, a fraction where only slices were recorded.
    pub operations: f64,
    /// Operations in a second of simulated time; `None` in the host's order.
    pub operations_per_second: Option<f64>,
    /// Transfers.
    pub traffic: RecordingTraffic,
}

/// Seed of a recording, and how much it recorded: equal for one recording in two profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecordingExtent {
    /// Seed.
    pub seed: u64,
    /// Recorded accesses.
    pub accesses: u64,
    /// Recorded wall time in nanoseconds.
    pub wall_ns: u64,
}

impl RecordingExtent {
    fn of_run(run: &RecordedRun) -> Self {
        Self {
            seed: run.seed,
            accesses: run.accesses,
            wall_ns: run.window_wall_ns,
        }
    }
}

/// Returns the complete recordings of a profile with this metadata, in the order of
/// [`ProfileTraffic::recordings`].
pub fn complete_recordings(meta: &ProfileMeta) -> Vec<RecordingExtent> {
    { recordings_of_runs(&meta.runs).into_iter() }
        .filter(|runs| is_complete(runs))
        .map(|runs| RecordingExtent::of_run(&runs[0]))
        .collect()
}

impl RecordedOperations {
    /// Returns a count as a rate per operation.
    pub fn rate(&self, count: u64) -> f64 {
        count as f64 / self.operations
    }

    /// Returns true if both are one recording, maybe in two profiles.
    pub fn is_same_recording(&self, other: &Self) -> bool {
        self.extent == other.extent
    }
}

impl ProfileTraffic {
    /// Counts the traffic of a profile that was read from `path`.
    pub fn count(
        path: &Path,
        resolved: &ResolvedProfile<'_>,
        names: &ResolvedNames<'_, '_>,
    ) -> Self {
        Self::from_counts(path, resolved, count_traffic(resolved.profile, names))
    }

    fn from_counts(
        path: &Path,
        resolved: &ResolvedProfile<'_>,
        traffic: Vec<RecordingTraffic>,
    ) -> Self {
        let meta = &resolved.profile.meta;
        let runs = recordings_of_runs(&meta.runs);
        let (complete, cut): (Vec<_>, Vec<_>) =
            { runs.into_iter().zip(traffic) }.partition(|(runs, _)| is_complete(runs));
        Self {
            meta: ProfileMeta {
                runs: Vec::new(),
                ..meta.clone()
            },
            line_bytes: resolved.line_bytes,
            names: recorded_names(resolved),
            recordings: { complete.into_iter() }
                .map(|(runs, traffic)| recorded_operations(path, runs, traffic))
                .collect(),
            incomplete: cut.len(),
        }
    }

    /// Returns true if the profile holds samples of accesses, which are no counts.
    pub fn is_sampled(&self) -> bool {
        self.meta.coverage == AccessCoverage::Samples
    }
}

/// Splits runs into recordings: each is a run and the further processes that follow it.
fn recordings_of_runs(runs: &[RecordedRun]) -> Vec<&[RecordedRun]> {
    runs.chunk_by(|_, next| next.is_further_process()).collect()
}

fn is_complete(runs: &[RecordedRun]) -> bool {
    runs.iter().all(|run| run.complete)
}

fn recorded_operations(
    path: &Path,
    runs: &[RecordedRun],
    traffic: RecordingTraffic,
) -> RecordedOperations {
    let operations: u64 = runs.iter().map(|run| run.operations).sum();
    let first = &runs[0];
    let share = { first.recorded_time.as_ref() }.map_or(1.0, RecordedTime::share);
    RecordedOperations {
        profile: path.to_owned(),
        extent: RecordingExtent::of_run(first),
        operations: operations as f64 * share,
        operations_per_second: { first.simulated.as_ref() }
            .map(|order| operations as f64 / (order.window_ns.max(1) as f64 / 1e9)),
        traffic,
    }
}

/// Traffic of a profile with all that names it, so that neither the profile nor its debug files are
/// needed any more.
#[derive(Clone, Debug)]
pub struct NamedTraffic {
    /// Traffic.
    pub traffic: ProfileTraffic,
    /// Source of each instruction of its meetings.
    pub sites: BTreeMap<SiteId, SiteSource>,
    /// Layouts of its structs and classes.
    pub layouts: Vec<(FindingSubject, TypeLayout)>,
}

/// Reads the traffic of a profile with its names.
///
/// `debug` are files to use instead of those that the profile names.
///
/// # Errors
/// A profile or debug file cannot be read, or they do not belong together.
pub fn read_named_traffic(
    profile: &Path,
    debug: &[PathBuf],
    progress: &dyn RecordingProgress,
) -> Result<NamedTraffic, UserError> {
    with_resolved_profile(profile, debug, progress, |resolved, images| {
        let counting = ResolvedNames::new(resolved, images);
        let names = ResolvedNames::new(resolved, images);
        let recording = resolved.profile;
        // Counting looks up no source, and takes as long as reading what sources are looked up in.
        let (counts, names) = rayon::join(
            move || count_traffic(recording, &counting),
            move || {
                names.load_sources();
                names
            },
        );
        let traffic = ProfileTraffic::from_counts(profile, resolved, counts);
        let subjects: Vec<_> = { traffic.recordings.iter() }
            .flat_map(|recording| &recording.traffic.subjects)
            .collect();
        let sites: BTreeSet<SiteId> = { subjects.iter() }
            .flat_map(|(_, subject)| subject.meetings.keys())
            .flat_map(|meeting| [meeting.site, meeting.other_site])
            .collect();
        let contended: BTreeSet<&FindingSubject> = { subjects.iter() }
            .filter(|(_, subject)| subject.transfers > 0)
            .map(|(name, _)| *name)
            .collect();
        let layouts = { contended.into_iter() }
            .filter_map(|subject| Some((subject.clone(), layout_of(resolved, subject)?)))
            .collect();
        let sites = { sites.into_iter() }
            .map(|site| (site, names.source_of_site(site)))
            .collect();
        Ok(NamedTraffic {
            traffic,
            sites,
            layouts,
        })
    })
}

fn layout_of(resolved: &ResolvedProfile<'_>, subject: &FindingSubject) -> Option<TypeLayout> {
    let types = resolved.resolution.types();
    let object = find_object(resolved, subject)?;
    TypeLayout::from_type(types, types.strip_typedefs(object.ty))
        .or_else(|| TypeLayout::from_type(types, object.ty))
}
