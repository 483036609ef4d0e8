//! Alignments to print: declared ones, or for formats that carry none, what the gaps suggest.

use super::facts::Facts;
use super::{Options, holes};
use crate::{Aggregate, AggregateKind, Member, Types};

/// The alignment to show for each member, in bytes.
pub(super) fn of_members(
    facts: &Facts<'_>,
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
            // Markers without size take the place but not the alignment.
            if holes::storage_size(types, member) == 0 {
                return None;
            }
            let natural = facts.natural_align(member.ty);
            let align = inferred(member.offset, natural, after, options.cacheline_size);
            after = end(types, aggregate, member);
            align
        })
        .collect()
}

/// The alignment to show for the aggregate itself, in bytes.
pub(super) fn of_type(facts: &Facts<'_>, aggregate: &Aggregate, options: &Options) -> Option<u64> {
    let types = facts.types;
    if options.alignments_known {
        return aggregate.declared_align;
    }
    let natural = facts.largest_align(aggregate);
    let last = aggregate
        .members
        .iter()
        .rfind(|member| holes::storage_size(types, member) > 0);
    let after = last.map_or(0, |member| end(types, aggregate, member));
    inferred(aggregate.size, natural, after, options.cacheline_size)
}

/// Where the next member could begin without alignment.
fn end(types: &Types, aggregate: &Aggregate, member: &Member) -> u64 {
    match aggregate.kind {
        AggregateKind::Union => 0,
        _ => member
            .offset
            .saturating_add(holes::storage_size(types, member)),
    }
}

/// A gap that the natural alignment does not explain was asked for: by the next power of two, or
/// by the cache line where the place fits one.
fn inferred(offset: u64, natural: u64, after: u64, line: u64) -> Option<u64> {
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
