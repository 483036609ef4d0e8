//! A profile with the objects that its debug files name.

use relayout_messages::RecordingProgress;
use relayout_profile::Profile;
use relayout_resolve::Resolution;

/// Size of a cache line in bytes where the profile has none.
pub const LINE_BYTES_DEFAULT: u32 = 64;

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
