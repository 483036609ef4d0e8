//! The remedy of a message about an unknown name.

/// Remedy `close: a, b` of a message; `None` without similar names.
pub fn close_names(close: &[String]) -> Option<String> {
    (!close.is_empty()).then(|| format!("close: {}", close.join(", ")))
}
