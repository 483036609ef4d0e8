//! Offsets of bitfields by the ABI.

/// Bitfield; widths and units in bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bitfield {
    /// Width in bits; 0 for `:0`.
    pub width_bits: u64,
    /// Size of the declared type in bits.
    pub unit_bits: u64,
    /// Alignment of the declared type inside a struct, in bits.
    pub align_bits: u64,
    /// True if the bitfield has a name.
    pub is_named: bool,
    /// True for one of [`Aggregate::members`](crate::Aggregate::members), false for an inferred
    /// bitfield.
    pub is_member: bool,
    /// True if the struct is `packed`.
    pub type_packed: bool,
    /// True if this bitfield is `packed`.
    pub packed: bool,
    /// `aligned(N)` on this bitfield, in bytes; 0 without. 1 moves it to the next byte.
    pub explicit_align: u64,
}

impl Bitfield {
    /// Unnamed bitfield of an unsigned integer type, which debug information leaves out.
    pub(super) fn unnamed(width_bits: u64, unit_bits: u64, align_bits: u64, packed: bool) -> Self {
        Self {
            width_bits,
            unit_bits,
            align_bits,
            is_named: false,
            is_member: false,
            type_packed: packed,
            packed: false,
            explicit_align: 0,
        }
    }

    fn is_packed(&self) -> bool {
        self.packed || self.type_packed
    }

    /// First bit at or behind bit `cursor`, aligned to at least `forced` bytes.
    ///
    /// A bitfield may not span more units of its type's alignment than the type does, unless it is
    /// packed. `:0` goes to the next unit even then.
    pub(super) fn first_bit_from(&self, cursor: u64, forced: u64) -> u64 {
        let forced = if forced > 1 { forced } else { 0 };
        let first = match self.explicit_align.max(forced) {
            0 => cursor,
            align => cursor.next_multiple_of(align * 8),
        };
        if self.width_bits == 0 {
            return first.next_multiple_of(self.align_bits);
        }
        let span = (first % self.align_bits + self.width_bits).div_ceil(self.align_bits);
        match self.is_packed() || span <= self.unit_bits / self.align_bits {
            true => first,
            false => first.next_multiple_of(self.align_bits),
        }
    }

    /// Alignment in bytes that the bitfield demands of its struct.
    pub(super) fn required_align(&self, forced: u64, unnamed_bits_align: bool) -> u64 {
        if !self.is_named && !unnamed_bits_align {
            return 1;
        }
        let natural = match self.is_packed() && self.width_bits > 0 {
            true => 1,
            false => self.align_bits / 8,
        };
        natural.max(self.explicit_align).max(forced)
    }
}
