//! Search for unused bits of a type: holes, bits between bitfields, and padding.

use relayout_layout::{Aggregate, AggregateKind};

use crate::type_layout::{BitGap, PlacedMember};

/// Gaps between the members of `aggregate`. Unused bits inside a named type belong to that type.
pub(super) fn find_gaps(members: &[PlacedMember], aggregate: &Aggregate) -> Vec<BitGap> {
    let mut gaps = Vec::new();
    // Alternatives of a union or a Rust enum leave different bytes unused.
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
