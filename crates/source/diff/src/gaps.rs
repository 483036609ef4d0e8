//! Unused bits of a type: holes, bits that bitfields leave, and what follows the last member.
use relayout_layout::{Aggregate, AggregateKind};

use crate::shape::PlacedMember;

/// A stretch of bits that no member has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitGap {
    /// First bit, from the start of the type.
    pub start_bits: u64,
    /// Bits.
    pub size_bits: u64,
    /// Index of the member that ends where it starts; `None` at the start of the type.
    pub after: Option<usize>,
    /// It ends with the type.
    pub padding: bool,
}

impl BitGap {
    /// The bit after its last.
    pub fn end_bits(&self) -> u64 {
        self.start_bits.saturating_add(self.size_bits)
    }
}

/// The gaps between `fields`, which are those of `aggregate`. What is unused inside a named type
/// belongs to that type.
pub(super) fn find_gaps(members: &[PlacedMember], aggregate: &Aggregate) -> Vec<BitGap> {
    let mut gaps = Vec::new();
    // The alternatives of a union or a Rust enum leave different bytes unused.
    if aggregate.kind == AggregateKind::Union || aggregate.variants.is_some() {
        return gaps;
    }
    let mut by_place: Vec<usize> = (0..members.len()).collect();
    by_place.sort_by_key(|index| members[*index].start_bits());
    let mut covered_bits = 0;
    let mut after = None;
    for index in by_place {
        let member = &members[index];
        if member.start_bits() > covered_bits {
            gaps.push(BitGap {
                start_bits: covered_bits,
                size_bits: member.start_bits() - covered_bits,
                after,
                padding: false,
            });
        }
        if member.end_bits() >= covered_bits && member.size_bits() > 0 {
            covered_bits = member.end_bits();
            after = Some(index);
        }
    }
    let end = aggregate.size.saturating_mul(8);
    if end > covered_bits && !members.is_empty() {
        gaps.push(BitGap {
            start_bits: covered_bits,
            size_bits: end - covered_bits,
            after,
            padding: true,
        });
    }
    gaps
}
