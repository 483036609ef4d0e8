//! Copies of C types in Rust code.
//!
//! Linux generates them with bindgen into two crates: `bindings::bindings_raw::page` is `struct
//! page` again, and `uapi::page` once more. They follow the C types; nobody edits or checks them.

/// Crates of Linux that hold copies of C types.
const BINDING_CRATES: [&str; 2] = ["bindings", "uapi"];

/// Returns true if types in `scope` are copies of C types: the outermost part is a crate of
/// generated bindings.
///
/// ```
/// use relayout_layout::is_binding_scope;
///
/// assert!(is_binding_scope("bindings::bindings_raw"));
/// assert!(!is_binding_scope("kernel::bindings"));
/// ```
pub fn is_binding_scope(scope: &str) -> bool {
    let outermost = scope.split("::").next().unwrap_or(scope);
    BINDING_CRATES.contains(&outermost)
}
