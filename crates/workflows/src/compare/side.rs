//! One side of a comparison: its recordings by workload.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use relayout_advice::{ResolvedNames, ResolvedProfile};
use relayout_messages::{RecordingProgress, UserError};
use relayout_profile::ProfileMeta;
use relayout_resolve::DebugImages;
use relayout_session::{
    ProfileTraffic, RecordedOperations, main_debug_path, read_profile, resolve_read_profile,
};

use super::ComparedWorkload;
use super::profiles::find_profiles;

/// Recordings of one side.
#[derive(Clone, Debug)]
pub struct ComparedSide {
    /// Profile, or folder of profiles.
    pub path: PathBuf,
    /// Recordings by workload.
    pub workloads: BTreeMap<ComparedWorkload, SideWorkload>,
    /// Sentences about recordings that were left out.
    pub notes: Vec<String>,
}

/// Recordings of one workload on one build.
#[derive(Clone, Debug)]
pub struct SideWorkload {
    /// Metadata of the first profile, without its runs.
    pub meta: ProfileMeta,
    /// File with the types of the build, or the reason why it cannot be opened.
    pub debug_file: Result<PathBuf, String>,
    /// Bytes of a cache line.
    pub line_bytes: u32,
    /// Names of all types and variables of the profiles, contended or not.
    pub names: BTreeSet<String>,
    /// Complete recordings.
    pub recordings: Vec<RecordedOperations>,
}

impl ComparedSide {
    /// Reads a profile, or all profiles in a folder.
    ///
    /// `debug` are files to use instead of those that the profiles name.
    ///
    /// # Errors
    /// There is no profile; a profile or debug file cannot be read; a profile holds samples, no
    /// operations or no complete recording; or one workload has recordings of several builds.
    pub fn read(
        path: &Path,
        debug: &[PathBuf],
        progress: &dyn RecordingProgress,
    ) -> Result<Self, UserError> {
        Self::read_if_marked(path, debug, progress)?.map_err(|unmarked| {
            UserError::input(format!(
                "{} marks no operations, so its transfers cannot be told per operation",
                unmarked.display()
            ))
            .with_remedy("call relayout_operation() once for each unit of work (docs/programs.md)")
        })
    }

    /// Reads a side as [`read`](Self::read) does; returns the first profile that marks no operations as the inner error.
    ///
    /// # Errors
    /// The others of [`read`](Self::read).
    pub(crate) fn read_if_marked(
        path: &Path,
        debug: &[PathBuf],
        progress: &dyn RecordingProgress,
    ) -> Result<Result<Self, PathBuf>, UserError> {
        let mut side = Self {
            path: path.to_owned(),
            workloads: BTreeMap::new(),
            notes: Vec::new(),
        };
        for profile in find_profiles(path)? {
            let content = read_profile(&profile, progress)?;
            let count = |resolved: &ResolvedProfile<'_>, images: &DebugImages<'_, '_>| {
                let names = ResolvedNames::new(resolved, images);
                Ok(ProfileTraffic::count(&profile, resolved, &names))
            };
            let read = resolve_read_profile(&content, debug, progress, |_| Ok(()), count)
                .map_err(UserError::wrap::<UserError>(profile.display().to_string()))?;
            verify_extent(&read, &profile)?;
            let lacks_operations = |recording: &RecordedOperations| recording.operations <= 0.0;
            if read.recordings.iter().any(lacks_operations) {
                return Ok(Err(profile));
            }
            side.add(&profile, debug, read)?;
        }
        Ok(Ok(side))
    }

    fn add(
        &mut self,
        profile: &Path,
        debug: &[PathBuf],
        read: ProfileTraffic,
    ) -> Result<(), UserError> {
        if read.incomplete > 0 {
            self.notes.push(format!(
                "{}: {} of {} recordings were cut off and are left out",
                profile.display(),
                read.incomplete,
                read.incomplete + read.recordings.len()
            ));
        }
        let workload = ComparedWorkload::from_meta(&read.meta);
        let new_workload = || SideWorkload {
            debug_file: main_debug_path(debug, &read.meta).map_err(|error| error.to_string()),
            meta: read.meta.clone(),
            line_bytes: read.line_bytes,
            names: BTreeSet::new(),
            recordings: Vec::new(),
        };
        let name = workload.to_string();
        let held = self.workloads.entry(workload).or_insert_with(new_workload);
        if !held.is_of_build(&read.meta) {
            let message = format!(
                "{} holds recordings of {name} on several builds ({} and {})",
                self.path.display(),
                build_name(&held.meta),
                build_name(&read.meta)
            );
            return Err(
                UserError::input(message).with_remedy("give a folder or profile of one build")
            );
        }
        held.names.extend(read.names);
        for recording in read.recordings {
            match { held.recordings.iter() }.find(|other| other.is_same_recording(&recording)) {
                Some(other) => self.notes.push(format!(
                    "{} holds the recording of seed {} that {} holds: it counts once",
                    profile.display(),
                    recording.extent.seed,
                    other.profile.display()
                )),
                None => held.recordings.push(recording),
            }
        }
        Ok(())
    }

    /// Returns the workloads as a list.
    pub(super) fn workload_names(&self) -> String {
        let names: Vec<String> = self.workloads.keys().map(ToString::to_string).collect();
        names.join(", ")
    }
}

impl SideWorkload {
    fn is_of_build(&self, meta: &ProfileMeta) -> bool {
        (&self.meta.build_id, &self.meta.release) == (&meta.build_id, &meta.release)
    }

    /// Returns the names of types and variables with transfers.
    pub(super) fn contended_names(&self) -> impl Iterator<Item = &str> {
        { self.recordings.iter() }
            .flat_map(|recording| recording.traffic.subjects.keys())
            .flat_map(|subject| [Some(subject.type_name()), subject.variable()])
            .flatten()
    }

    /// Returns the operations of all recordings.
    pub fn operations(&self) -> f64 {
        let operations = self.recordings.iter().map(|recording| recording.operations);
        operations.sum()
    }
}

/// Names a build: `6.12.117 (build id 3bde3ce0)`.
fn build_name(meta: &ProfileMeta) -> String {
    let id: String = meta.build_id.chars().take(8).collect();
    match id.as_str() {
        "" => meta.release.clone(),
        id => format!("{}, build id {id}", meta.release),
    }
}

/// Rejects traffic without counts.
fn verify_extent(read: &ProfileTraffic, path: &Path) -> Result<(), UserError> {
    if read.is_sampled() {
        return Err(refuse_samples(path));
    }
    if read.recordings.is_empty() {
        return Err(refuse_cut_off(path));
    }
    Ok(())
}

/// Makes the error of a profile that holds samples, which are no counts.
pub fn refuse_samples(profile: &Path) -> UserError {
    UserError::input(format!(
        "{} holds samples of accesses, which are no counts",
        profile.display()
    ))
    .with_remedy("record with `relayout record kernel` or `relayout record run`")
}

/// Makes the error of a profile without a complete recording.
pub fn refuse_cut_off(profile: &Path) -> UserError {
    UserError::input(format!(
        "{}: every recording was cut off before its end",
        profile.display()
    ))
    .with_remedy("record again")
}
