//! What `report`, `advise` and `what-if` start from: a profile, the debug files that it goes with,
//! and the objects that they name together.

mod debug_files;
mod kept;

use std::path::{Path, PathBuf};

use relayout_host::RecordingProgress as _;
use relayout_profile::Profile;
use relayout_resolve::{DebugImages, Resolution};

use crate::progress::TerminalProgress;

/// Size of a cache line in bytes where the profile does not say.
const LINE_BYTES_DEFAULT: u32 = 64;

/// A profile, resolved.
#[derive(Clone, Copy)]
pub struct ResolvedProfile<'a> {
    /// What was recorded.
    pub profile: &'a Profile,
    /// Of the profile, made with the debug files.
    pub resolution: &'a Resolution,
    /// Bytes of a cache line.
    pub line_bytes: u32,
    /// Where to say what takes long.
    pub progress: &'a TerminalProgress,
}

/// Reads the profile and its debug files (`debug`, or else those recorded with), resolves the one
/// with the others, and hands all on.
///
/// # Errors
/// A profile or debug file that cannot be read, or that do not go together; and those of `then`.
pub fn with_resolved_profile<T>(
    profile: &Path,
    debug: &[PathBuf],
    then: impl FnOnce(&ResolvedProfile<'_>, &DebugImages<'_, '_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let progress = TerminalProgress::when_slow();
    let result = load_and_resolve(profile, debug, &progress, then);
    progress.finish();
    result
}

fn load_and_resolve<T>(
    profile: &Path,
    debug: &[PathBuf],
    progress: &TerminalProgress,
    then: impl FnOnce(&ResolvedProfile<'_>, &DebugImages<'_, '_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    progress.step("reading the profile");
    let profile = relayout_profile::read(profile)?;
    progress.step("reading the debug file");
    debug_files::with_debug_images(debug, &profile, |images| {
        progress.step("naming what was recorded");
        let resolution = kept::resolve_with_cache(&profile, images)?;
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
