//! Unused bits of a type: holes, bits that bitfields leave, and what follows the last member.

use super::shape::Field;
use crate::{Aggregate, AggregateKind};

/// A stretch of bits that no member has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// First bit, from the start of the type.
    pub start_bits: u64,
    /// Bits.
    pub size_bits: u64,
    /// Index of the member that ends where it starts; `None` at the start of the type.
    pub after: Option<usize>,
    /// It ends with the type.
    pub padding: bool,
}

impl Gap {
    /// The bit after its last.
    pub fn end_bits(&self) -> u64 {
        self.start_bits.saturating_add(self.size_bits)
    }
}

/// The gaps between `fields`, which are those of `aggregate`. What is unused inside a named type
/// belongs to that type.
pub(super) fn of(fields: &[Field], aggregate: &Aggregate) -> Vec<Gap> {
    let mut gaps = Vec::new();
    // The alternatives of a union or a Rust enum leave different bytes unused.
    if aggregate.kind == AggregateKind::Union || aggregate.variants.is_some() {
        return gaps;
    }
    let mut by_place: Vec<usize> = (0..fields.len()).collect();
    by_place.sort_by_key(|index| fields[*index].start_bits());
    let mut seen = 0;
    let mut after = None;
    for index in by_place {
        let field = &fields[index];
        if field.start_bits() > seen {
            gaps.push(Gap {
                start_bits: seen,
                size_bits: field.start_bits() - seen,
                after,
                padding: false,
            });
        }
        if field.end_bits() >= seen && field.size_bits() > 0 {
            seen = field.end_bits();
            after = Some(index);
        }
    }
    let end = aggregate.size.saturating_mul(8);
    if end > seen && !fields.is_empty() {
        gaps.push(Gap {
            start_bits: seen,
            size_bits: end - seen,
            after,
            padding: true,
        });
    }
    gaps
}
