//! Common spelling of members that compilers spell differently.

use std::borrow::Cow;

/// Canonical member name: `_vptr$Base` of clang becomes `_vptr.Base` of gcc.
pub(super) fn canonical_member(name: &str) -> Cow<'_, str> {
    match name.strip_prefix("_vptr$") {
        Some(class) => Cow::Owned(format!("_vptr.{class}")),
        None => Cow::Borrowed(name),
    }
}
