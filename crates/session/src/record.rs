//! Repeated recordings, merged into one profile.

use relayout_profile::Profile;

/// Names the tool's version and the command in the profile.
pub fn sign_profile(profile: &mut Profile, command: &[String]) {
    profile.meta.tool_version = env!("CARGO_PKG_VERSION").to_owned();
    profile.meta.command = command.to_vec();
}
