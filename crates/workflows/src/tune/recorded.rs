//! Recordings of a build, in a folder of the state.

use std::path::PathBuf;

use super::state::StateFolder;

/// A build of a commit or change, with a profile for each benchmark.
#[derive(Clone, Debug)]
pub(super) struct RecordedBuild {
    folder: PathBuf,
}

impl RecordedBuild {
    /// Names the build in the folder of this name.
    pub(super) fn new(state: &StateFolder, folder: &str) -> Self {
        Self {
            folder: state.join(folder),
        }
    }

    /// Folder.
    pub(super) fn folder(&self) -> &std::path::Path {
        &self.folder
    }

    /// Returns the profile of the benchmark of this index.
    pub(super) fn profile(&self, index: usize) -> PathBuf {
        self.folder.join(format!("bench-{index}.relayout"))
    }

    /// Returns the profiles of the first `count` benchmarks.
    pub(super) fn profiles(&self, count: usize) -> Vec<PathBuf> {
        (0..count).map(|index| self.profile(index)).collect()
    }
}
