//! The marker instruction with which a program opens its own window.

/// Bytes of the marker: a long no-op whose displacement is relayout's number.
const START: [u8; 8] = [0x0f, 0x1f, 0x84, 0x00, 0x01, 0x00, 0x4c, 0x52];

/// Returns true if the program has the marker, and so decides itself when its window opens.
pub(crate) fn has_start_marker(program: &[u8]) -> bool {
    program.windows(START.len()).any(|bytes| bytes == START)
}
