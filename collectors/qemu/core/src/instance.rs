//! The installed plugin, which all callbacks use.

use std::sync::atomic::{AtomicPtr, Ordering::*};

use crate::plugin::RecordingPlugin;
use crate::window::RECORDING;

static PLUGIN: AtomicPtr<RecordingPlugin> = AtomicPtr::new(std::ptr::null_mut());

/// Returns the installed plugin; `None` before [`set_plugin`] and in a forked child.
pub fn plugin() -> Option<&'static RecordingPlugin> {
    // SAFETY: null, or set once from a leaked box.
    unsafe { PLUGIN.load(Acquire).as_ref() }
}

/// Makes `plugin` the one that callbacks use.
pub fn set_plugin(plugin: RecordingPlugin) {
    PLUGIN.store(Box::leak(Box::new(plugin)), Release);
}

/// Makes all callbacks do nothing, in a forked child, which shares its files with the recorded
/// process.
pub fn forget_plugin() {
    RECORDING.store(false, Relaxed);
    PLUGIN.store(std::ptr::null_mut(), Release);
}
