//! Options of the text.

/// Options of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Size of a cache line in bytes.
    pub cacheline_size: u64,
    /// Print offsets and sizes in hexadecimal (`pahole --hex`).
    pub hex: bool,
    /// Print types of members in place, down to base types, and the types behind typedefs (`pahole
    /// -E`).
    pub expand: bool,
    /// True if the types carry declared alignments, as from DWARF. BTF has none: alignments are
    /// then inferred from gaps that are too large for the members' own alignment, as pahole does.
    pub alignments_known: bool,
    /// Length in bytes beyond which no further type is printed in place. Shared types in damaged debug
    /// information multiply.
    pub text_bytes_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cacheline_size: 64,
            hex: false,
            expand: false,
            alignments_known: true,
            text_bytes_max: 16 << 20,
        }
    }
}
