//! A profile with its debug files and the objects that they name together.

use std::path::{Path, PathBuf};

use relayout_files::RecordingProgress;
use relayout_profile::Profile;
use relayout_resolve::{DebugImages, Resolution};

use crate::Error;
use crate::debug_images::with_debug_images;
use crate::resolution_cache::resolve_with_cache;

/// Size of a cache line in bytes where the profile has none.
const LINE_BYTES_DEFAULT: u32 = 64;

/// A profile, resolved.
#[derive(Clone, Copy)]
pub struct ResolvedProfile<'a> {
    /// The recording.
    pub profile: &'a Profile,
    /// Objects, types and members of its accesses.
    pub resolution: &'a Resolution,
    /// Bytes of a cache line.
    pub line_bytes: u32,
    /// Receiver of steps and warnings.
    pub progress: &'a dyn RecordingProgress,
}

/// Reads the profile and its debug files, resolves it, and calls `then` with the result.
///
/// `debug` are files to use instead of those that the profile names.
///
/// # Errors
/// A profile or debug file cannot be read, or they do not belong together; and those of `then`.
pub fn with_resolved_profile<T, E: From<Error>>(
    profile: &Path,
    debug: &[PathBuf],
    progress: &dyn RecordingProgress,
    then: impl FnOnce(&ResolvedProfile<'_>, &DebugImages<'_, '_>) -> Result<T, E>,
) -> Result<T, E> {
    progress.step("reading the profile");
    let profile = relayout_profile::read(profile).map_err(Error::Profile)?;
    progress.step("reading the debug file");
    with_debug_images(debug, &profile, progress, |images| {
        progress.step("naming the recorded objects");
        let resolution = resolve_with_cache(&profile, images).map_err(Error::Resolve)?;
        let line_bytes = match profile.meta.line_bytes {
            0 => LINE_BYTES_DEFAULT,
            bytes => bytes,
        };
        let resolved = ResolvedProfile {
            profile: &profile,
            resolution: &resolution,
            line_bytes,
            progress,
        };
        then(&resolved, images)
    })
}
