//! Alignments to print: declared ones, or for BTF, which has none, those that gaps suggest.

use relayout_layout::{Aggregate, AggregateKind, Member, TypeArena};

use crate::facts::AlignmentFacts;
use crate::options::Options;

/// Alignment to print for each member, in bytes.
pub(super) fn member_aligns(
    facts: &AlignmentFacts<'_>,
    aggregate: &Aggregate,
    options: &Options,
) -> Vec<Option<u64>> {
    let types = facts.types;
    let members = aggregate.members.iter();
    if options.alignments_known {
        return members.map(|member| member.declared_align).collect();
    }
    let mut after = 0;
    members
        .map(|member| {
            // Markers without size have an offset but no alignment.
            if types.storage_size(member) == 0 {
                return None;
            }
            let natural = facts.natural_align(member.ty);
            let align = infer_align(member.offset, natural, after, options.cacheline_size);
            after = unaligned_end(types, aggregate, member);
            align
        })
        .collect()
}

/// Alignment to print for the aggregate itself, in bytes.
pub(super) fn type_align(
    facts: &AlignmentFacts<'_>,
    aggregate: &Aggregate,
    options: &Options,
) -> Option<u64> {
    let types = facts.types;
    if options.alignments_known {
        return aggregate.declared_align;
    }
    let natural = facts.largest_align(aggregate);
    let last = aggregate
        .members
        .iter()
        .rfind(|member| types.storage_size(member) > 0);
    let after = last.map_or(0, |member| unaligned_end(types, aggregate, member));
    infer_align(aggregate.size, natural, after, options.cacheline_size)
}

/// End of the member: the offset of the next member without alignment.
fn unaligned_end(types: &TypeArena, aggregate: &Aggregate, member: &Member) -> u64 {
    match aggregate.kind {
        AggregateKind::Union => 0,
        _ => member.offset.saturating_add(types.storage_size(member)),
    }
}

/// Alignment that explains a gap which the natural alignment does not explain: the next power of
/// two, or the cache line where the offset fits one.
fn infer_align(offset: u64, natural: u64, after: u64, line: u64) -> Option<u64> {
    let gap = offset.checked_sub(after).filter(|gap| *gap > 0)?;
    if !offset.is_multiple_of(2) {
        return None;
    }
    let align = gap.checked_add(1)?.checked_next_power_of_two()?;
    if align <= natural {
        None
    } else if align < line && line.is_multiple_of(align) && offset.is_multiple_of(line) {
        Some(line)
    } else {
        Some(align)
    }
}
