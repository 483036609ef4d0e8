//! Holes, bit holes and padding of a struct.
//!
//! Bits between two bitfields of one storage unit are a bit hole, and so are the bits that a unit
//! has left when another member follows. Whole unused bytes outside of units are holes.

use crate::{Aggregate, AggregateKind, Member, TypeArena, TypeId};

/// Unused bytes and bits after one member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemberGap {
    /// Whole unused bytes.
    pub bytes: u64,
    /// Unused bits of the storage unit.
    pub bits: u64,
}

/// Unused bytes and bits of one aggregate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AggregateGaps {
    /// Unused before the first member.
    pub before: MemberGap,
    /// Unused after each member in declaration order; nothing after the last.
    pub after: Vec<MemberGap>,
    /// Unused bytes at the end.
    pub padding: u64,
    /// Unused bits of a storage unit at the end.
    pub bit_padding: u64,
}

/// Storage unit that bitfields are filling, in bits from the start of the struct.
#[derive(Clone, Copy)]
struct StorageUnit {
    end: u64,
    size: u64,
}

impl AggregateGaps {
    /// Gaps of one aggregate, without those inside its members.
    pub fn from_aggregate(types: &TypeArena, aggregate: &Aggregate) -> Self {
        let mut before = MemberGap::default();
        let mut after = vec![MemberGap::default(); aggregate.members.len()];
        let (padding, bit_padding) =
            walk_gaps(types, aggregate, |index, gap| match index.checked_sub(1) {
                Some(previous) => after[previous] = gap,
                None => before = gap,
            });
        Self {
            before,
            after,
            padding,
            bit_padding,
        }
    }

    /// Unused bytes at the end of an aggregate.
    pub fn padding_bytes(types: &TypeArena, aggregate: &Aggregate) -> u64 {
        walk_gaps(types, aggregate, |_, _| {}).0
    }

    /// Returns true if there are whole unused bytes.
    pub fn has_unused_bytes(&self) -> bool {
        self.padding != 0 || self.holes().next().is_some()
    }

    /// Sizes of the holes in bytes, before the first member and between members.
    pub fn holes(&self) -> impl Iterator<Item = u64> {
        self.member_gaps()
            .map(|gap| gap.bytes)
            .filter(|bytes| *bytes > 0)
    }

    /// Sizes of the bit holes in bits, before the first member and between members.
    pub fn bit_holes(&self) -> impl Iterator<Item = u64> {
        self.member_gaps()
            .map(|gap| gap.bits)
            .filter(|bits| *bits > 0)
    }

    fn member_gaps(&self) -> impl Iterator<Item = MemberGap> {
        std::iter::once(self.before).chain(self.after.iter().copied())
    }
}

impl TypeArena {
    /// Holes and padding of the aggregate at `id`. Unions have none. `None` for other types and for
    /// declarations without members.
    pub fn gaps(&self, id: TypeId) -> Option<AggregateGaps> {
        self.aggregate(id)
            .filter(|aggregate| aggregate.complete)
            .map(|aggregate| AggregateGaps::from_aggregate(self, aggregate))
    }

    /// Size of the member's type in bytes; for a bitfield, size of its storage unit. 0 where
    /// unknown.
    pub fn storage_size(&self, member: &Member) -> u64 {
        self.size_of(member.ty).unwrap_or(0)
    }
}

/// Calls `visit` with each member's index and the gap before it. Returns the unused bytes and bits
/// at the end. Unions have neither.
fn walk_gaps(
    types: &TypeArena,
    aggregate: &Aggregate,
    mut visit: impl FnMut(usize, MemberGap),
) -> (u64, u64) {
    if aggregate.kind == AggregateKind::Union {
        return (0, 0);
    }
    let mut seen = 0;
    let mut unit: Option<StorageUnit> = None;
    let mut is_unbounded = false;
    for (index, member) in aggregate.members.iter().enumerate() {
        let size = types.storage_size(member);
        if is_unbounded {
            seen = seen.max(start_of(member));
        }
        visit(index, gap_before(member, &mut seen, unit));
        seen = end_of(member, size);
        // What a member of unknown size leaves of the bytes up to the next one is not known either.
        is_unbounded = member.bits.is_none() && types.size_of(member.ty).is_none();
        unit = match member.bits {
            Some(_) => next_unit(unit, member, size, seen),
            None => None,
        };
    }
    seen = seen.max(end_of_others(types, aggregate));
    let size_bits = aggregate.size.saturating_mul(8);
    if is_unbounded {
        seen = seen.max(size_bits);
    }
    let mut bit_padding = 0;
    if let Some(unit) = unit {
        let end = size_bits.min(unit.end);
        bit_padding = end.saturating_sub(seen);
        seen = end.max(seen);
    }
    (aggregate.size.saturating_sub(seen / 8), bit_padding)
}

/// End in bits of the parts beside the members: the alternatives of a Rust enum, and virtual bases,
/// which may be anywhere behind the members.
fn end_of_others(types: &TypeArena, aggregate: &Aggregate) -> u64 {
    if !aggregate.virtual_bases.is_empty() {
        return aggregate.size.saturating_mul(8);
    }
    let ends = aggregate.variants.iter().flat_map(|alternatives| {
        let variants = alternatives.variants.iter().map(|variant| &variant.member);
        let all = variants.chain(&alternatives.discriminant);
        all.map(|member| end_of(member, types.storage_size(member)))
    });
    ends.max().unwrap_or(0)
}

/// Gap between the bits up to `seen` and the member. Moves `seen` over the bits that were counted.
fn gap_before(member: &Member, seen: &mut u64, unit: Option<StorageUnit>) -> MemberGap {
    let mut gap = MemberGap::default();
    let start = start_of(member);
    if let Some(unit) = unit {
        let end = start.min(unit.end);
        gap.bits = end.saturating_sub(*seen);
        *seen = end.max(*seen).min(start.max(end));
    }
    if member.bits.is_some() {
        let aligned = member.offset.saturating_mul(8);
        if *seen < aligned && aligned <= start {
            gap.bytes = member.offset - *seen / 8;
            *seen = aligned;
        }
        gap.bits += start.saturating_sub(*seen);
    } else {
        gap.bytes = (start / 8).saturating_sub(*seen / 8);
    }
    gap
}

fn start_of(member: &Member) -> u64 {
    member
        .bits
        .map_or(member.offset.saturating_mul(8), |bits| bits.offset_bits)
}

fn end_of(member: &Member, size: u64) -> u64 {
    let length = member
        .bits
        .map_or(size.saturating_mul(8), |bits| bits.size_bits);
    start_of(member).saturating_add(length)
}

/// Storage unit that is being filled after the bitfield `member`, which ends at bit `end`.
fn next_unit(
    unit: Option<StorageUnit>,
    member: &Member,
    size: u64,
    end: u64,
) -> Option<StorageUnit> {
    let size = size.saturating_mul(8);
    match unit {
        Some(unit) if end <= unit.end && size <= unit.size => Some(unit),
        _ => {
            let mut unit = StorageUnit {
                end: member.offset.saturating_mul(8).saturating_add(size),
                size,
            };
            // A bitfield that began in the bits left by the previous unit ends in the next one.
            if end > unit.end {
                unit.end = unit.end.saturating_add(size);
            }
            Some(unit)
        }
    }
}
