//! Options of the text.

/// Release of pahole whose text is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PaholeVersion {
    /// 1.24, of 2022.
    #[default]
    V1_24,
    /// 1.30, of 2025. It also comments on holes and flexible arrays inside of members, and expands
    /// enumerations.
    V1_30,
}

/// Options of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Release of pahole whose text is printed.
    pub version: PaholeVersion,
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
            version: PaholeVersion::default(),
            cacheline_size: 64,
            hex: false,
            expand: false,
            alignments_known: true,
            text_bytes_max: 16 << 20,
        }
    }
}
