//! The recorded window.

use std::sync::atomic::AtomicBool;

/// The window is open: accesses are recorded. A static of its own, so that a callback reads it
/// before it looks for the plugin.
pub static RECORDING: AtomicBool = AtomicBool::new(false);
