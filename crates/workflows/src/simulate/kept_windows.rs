//! Windows that stay in the user's cache, so that a question that was interrupted, or asked again, goes on.

use relayout_advice::SimulatedWindow;
use relayout_files::{CachedRequest, CachedValues};
use serde::Serialize;

/// All that a window depends on.
#[derive(Debug, Serialize)]
pub(super) struct WindowKey {
    /// Files that execute it: see [`file_identity`](relayout_files::file_identity).
    pub files: Vec<String>,
    /// Build id of the kernel.
    pub build_id: String,
    /// Work and settings of the guest, its machine with all rules, and the members that lie elsewhere, as text: types of
    /// other crates in it know no other form.
    pub recording: String,
    /// True if what CPUs wait for has its name.
    pub is_named: bool,
}

impl CachedRequest for WindowKey {
    const KIND: &'static str = "window";
}

/// Returns the kept window, else the one that `execute` makes, if it makes one. That is kept unless the host disturbed it, or
/// there is no key.
pub(super) fn kept_or_executed<E>(
    key: Option<&WindowKey>,
    execute: impl FnOnce() -> Option<Result<SimulatedWindow, E>>,
) -> Option<Result<SimulatedWindow, E>> {
    let store = key.and_then(|key| Some((CachedValues::locate()?, key)));
    let kept = { store.as_ref() }.and_then(|(store, key)| store.read(*key));
    if let Some(window) = kept.and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
        return Some(Ok(window));
    }
    let executed = execute()?;
    if let (Some((store, key)), Ok(window)) = (store, &executed)
        && window.order_breaks == 0
        && let Ok(bytes) = serde_json::to_vec(window)
    {
        store.keep(key, &bytes);
    }
    Some(executed)
}
