//! What `report`, `advise` and `what-if` start from: a profile, the debug file that it goes with,
//! and the objects that the two together name.

mod debug_file;

use std::path::Path;

use relayout_host::Progress as _;
use relayout_layout::dwarf::DwarfFile;
use relayout_profile::Profile;
use relayout_resolve::{Options, Resolution, resolve};

use crate::progress::Shown;

/// Size of a cache line in bytes where the profile does not say.
const LINE_BYTES: u32 = 64;

/// A profile, resolved.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// What was recorded.
    pub profile: &'a Profile,
    /// Of the profile, made with the debug file.
    pub resolution: &'a Resolution,
    /// Bytes of a cache line.
    pub line_bytes: u32,
    /// Where to say what takes long.
    pub progress: &'a Shown,
}

/// Reads the profile and the debug file (`debug`, or else the one recorded with), resolves the one
/// with the other, and hands both on.
///
/// # Errors
/// A profile or debug file that cannot be read, or that do not go together; and those of `then`.
pub fn with<T>(
    profile: &Path,
    debug: Option<&Path>,
    then: impl FnOnce(&Input<'_>, &DwarfFile<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let progress = Shown::when_slow();
    let result = load(profile, debug, &progress, then);
    progress.done();
    result
}

fn load<T>(
    profile: &Path,
    debug: Option<&Path>,
    progress: &Shown,
    then: impl FnOnce(&Input<'_>, &DwarfFile<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    progress.step("reading the profile");
    let profile = relayout_profile::read(profile)?;
    progress.step("reading the debug file");
    debug_file::with(debug, &profile.meta, |debug| {
        progress.step("naming what was recorded");
        let resolution = resolve(&profile, debug, Options::default())?;
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
        then(&input, debug)
    })
}
