//! What `report`, `advise` and `what-if` start from: a profile, the debug files that it goes with,
//! and the objects that they name together.

mod debug_files;
mod kept;

use std::path::{Path, PathBuf};

use relayout_host::Progress as _;
use relayout_profile::Profile;
use relayout_resolve::{Images, Resolution};

use crate::progress::Shown;

/// Size of a cache line in bytes where the profile does not say.
const LINE_BYTES: u32 = 64;

/// A profile, resolved.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// What was recorded.
    pub profile: &'a Profile,
    /// Of the profile, made with the debug files.
    pub resolution: &'a Resolution,
    /// Bytes of a cache line.
    pub line_bytes: u32,
    /// Where to say what takes long.
    pub progress: &'a Shown,
}

/// Reads the profile and its debug files (`debug`, or else those recorded with), resolves the one
/// with the others, and hands all on.
///
/// # Errors
/// A profile or debug file that cannot be read, or that do not go together; and those of `then`.
pub fn with<T>(
    profile: &Path,
    debug: &[PathBuf],
    then: impl FnOnce(&Input<'_>, &Images<'_, '_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let progress = Shown::when_slow();
    let result = load(profile, debug, &progress, then);
    progress.done();
    result
}

fn load<T>(
    profile: &Path,
    debug: &[PathBuf],
    progress: &Shown,
    then: impl FnOnce(&Input<'_>, &Images<'_, '_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    progress.step("reading the profile");
    let profile = relayout_profile::read(profile)?;
    progress.step("reading the debug file");
    debug_files::with(debug, &profile, |images| {
        progress.step("naming what was recorded");
        let resolution = kept::resolve(&profile, images)?;
        let line_bytes = match profile.meta.line_bytes {
            0 => LINE_BYTES,
            bytes => bytes,
        };
        let input = Input {
            profile: &profile,
            resolution: &resolution,
            line_bytes,
            progress,
        };
        then(&input, images)
    })
}
