//! One side of a comparison: its recordings by workload.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use relayout_files::RecordingProgress;
use relayout_profile::ProfileMeta;

use super::profiles::find_profiles;
use super::{CompareError, ComparedWorkload};
use crate::debug_images::main_debug_path;
use crate::recorded_traffic::{ProfileTraffic, RecordedOperations};
use crate::{ResolvedNames, with_resolved_profile};

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
    ) -> Result<Self, CompareError> {
        let mut side = Self {
            path: path.to_owned(),
            workloads: BTreeMap::new(),
            notes: Vec::new(),
        };
        for profile in find_profiles(path)? {
            let read = with_resolved_profile(&profile, debug, progress, |resolved, images| {
                let names = ResolvedNames::new(resolved, images);
                Ok::<_, crate::Error>(ProfileTraffic::count(&profile, resolved, &names))
            });
            let read = read.map_err(|source| match source {
                // The message names the profile.
                crate::Error::Profile(_) => CompareError::Session(source),
                source => CompareError::Profile {
                    path: profile.clone(),
                    source: source.into(),
                },
            })?;
            verify_rates(&read, &profile)?;
            side.add(&profile, debug, read)?;
        }
        Ok(side)
    }

    fn add(
        &mut self,
        profile: &Path,
        debug: &[PathBuf],
        read: ProfileTraffic,
    ) -> Result<(), CompareError> {
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
            return Err(CompareError::SeveralBuilds {
                path: self.path.clone(),
                workload: name,
                first: build_name(&held.meta),
                second: build_name(&read.meta),
            });
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

/// Rejects traffic without rates.
fn verify_rates(read: &ProfileTraffic, path: &Path) -> Result<(), CompareError> {
    let lacks_operations = |recording: &RecordedOperations| recording.operations <= 0.0;
    match () {
        () if read.is_sampled() => Err(CompareError::Sampled(path.to_owned())),
        () if read.recordings.is_empty() => Err(CompareError::Incomplete(path.to_owned())),
        () if read.recordings.iter().any(lacks_operations) => {
            Err(CompareError::NoOperations(path.to_owned()))
        }
        () => Ok(()),
    }
}
