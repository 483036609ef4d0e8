//! Search for the member at an offset.

use crate::types::NESTING_MAX;
use crate::wrappers::{is_left_out, path_part, wrapped_member};
use crate::{Aggregate, AggregateKind, ArrayElement, Member, MemberAt, Type, TypeArena, TypeId};

/// Most union members that one search visits. Unions of unions multiply.
const VISITS_MAX: u32 = 4096;

impl TypeArena {
    /// Innermost member that holds the byte at `offset` from the start of `id`, for an access of
    /// `size` bytes.
    ///
    /// In a union, the first member with exactly the accessed bytes wins, then one of the accessed
    /// size, then one that is no hole. Members of anonymous aggregates and base classes have no
    /// path component of their own, nor has what a wrapper of a library holds: `hits`, not
    /// `hits.v.value`. An element of an array counts as the member, and offsets behind
    /// a type that ends in a flexible array belong to that array. A bitfield has the bytes that its
    /// bits touch; the first of several in one byte wins.
    ///
    /// In a hole, the path is empty, and offset and size are those of the hole. `None` if `offset`
    /// is outside the type or the type has no size.
    pub fn member_at(&self, id: TypeId, offset: u64, size: u64) -> Option<MemberAt> {
        let mut search = MemberSearch {
            types: self,
            size,
            visits: 0,
        };
        let found = search.descend(id, &SoughtByte { offset, start: 0 }, 0)?;
        let path = match (found.hole, found.path.is_empty()) {
            (true, _) => String::new(),
            // The type itself is a wrapper.
            (false, true) => found.innermost.unwrap_or_default(),
            (false, false) => join_path(found.path),
        };
        let types_path = found.type_names.into_iter().rev().collect();
        Some(MemberAt {
            path,
            types_path,
            offset: found.offset,
            size: found.size,
            elements: found.elements.into_iter().rev().collect(),
        })
    }
}

/// Sought byte relative to the current type, and the start of that type.
struct SoughtByte {
    offset: u64,
    start: u64,
}

/// Member that was found. Path, elements and types are collected from the inside outwards.
struct MemberHit {
    path: Vec<String>,
    elements: Vec<ArrayElement>,
    type_names: Vec<String>,
    offset: u64,
    size: u64,
    hole: bool,
    /// Name of the innermost member, also where the path leaves it out.
    innermost: Option<String>,
    /// The aggregate around what was found so far is a wrapper that the path leaves out.
    in_wrapper: bool,
}

struct MemberSearch<'t> {
    types: &'t TypeArena,
    size: u64,
    visits: u32,
}

impl MemberSearch<'_> {
    fn descend(&mut self, id: TypeId, sought: &SoughtByte, depth: u32) -> Option<MemberHit> {
        self.visits += 1;
        if depth > NESTING_MAX || self.visits > VISITS_MAX {
            return None;
        }
        match self.types.get(self.types.strip_typedefs(id)) {
            Type::Aggregate(aggregate) if aggregate.complete => {
                let mut found = self.find_in_aggregate(aggregate, sought, depth)?;
                if depth == 0 || !found.in_wrapper {
                    found.type_names.extend(self.aggregate_name(id, aggregate));
                }
                found.in_wrapper = false;
                Some(found)
            }
            Type::Array { element, counts } => {
                let stride = self.types.size_of(*element).filter(|stride| *stride > 0)?;
                let offset = sought.offset % stride;
                let start = sought.start + (sought.offset - offset);
                let mut found = self.descend(*element, &SoughtByte { offset, start }, depth + 1)?;
                found.path.push("[]".to_owned());
                let count_of = |count: &Option<u64>| count.unwrap_or(0);
                let count = { counts.iter().map(count_of) }.fold(1, u64::saturating_mul);
                found.elements.push(ArrayElement {
                    array_offset: sought.start,
                    stride,
                    count,
                    inner_counts: counts.iter().skip(1).map(count_of).collect(),
                    index: sought.offset / stride,
                });
                Some(found)
            }
            _ => {
                let size = self
                    .types
                    .size_of(id)
                    .filter(|size| sought.offset < *size)?;
                Some(member_hit(sought.start, size, false))
            }
        }
    }

    fn find_in_aggregate(
        &mut self,
        aggregate: &Aggregate,
        sought: &SoughtByte,
        depth: u32,
    ) -> Option<MemberHit> {
        let mut best: Option<MemberHit> = None;
        for member in &aggregate.members {
            let Some(mut found) = self.find_in_member(aggregate, member, sought, depth) else {
                continue;
            };
            self.add_name(aggregate, member, &mut found);
            let hole = found.hole;
            if best
                .as_ref()
                .is_none_or(|best| self.rank(&found, sought) > self.rank(best, sought))
            {
                best = Some(found);
            }
            // An empty base class of C++ has the offset of the first member.
            if aggregate.kind != AggregateKind::Union && !hole {
                break;
            }
        }
        best.or_else(|| self.find_in_variants(aggregate, sought, depth))
            .or_else(|| self.hole_at(aggregate, sought))
    }

    /// Searches the alternatives of a Rust enum as those of a union. The discriminant is named
    /// `discriminant` if it is no alternative's member.
    fn find_in_variants(
        &mut self,
        aggregate: &Aggregate,
        sought: &SoughtByte,
        depth: u32,
    ) -> Option<MemberHit> {
        let variants = aggregate.variants.as_ref()?;
        let mut best: Option<MemberHit> = None;
        for variant in &variants.variants {
            let Some(mut found) = self.find_in_member(aggregate, &variant.member, sought, depth)
            else {
                continue;
            };
            self.add_name(aggregate, &variant.member, &mut found);
            if best
                .as_ref()
                .is_none_or(|best| self.rank(&found, sought) > self.rank(best, sought))
            {
                best = Some(found);
            }
        }
        if best.as_ref().is_some_and(|best| !best.hole) {
            return best;
        }
        let discriminant = variants.discriminant.as_ref();
        let found = discriminant.and_then(|tag| self.find_in_member(aggregate, tag, sought, depth));
        match found {
            Some(mut found) => {
                found.path.push("discriminant".to_owned());
                Some(found)
            }
            None => best,
        }
    }

    /// Puts the name of a member in front of the path inside of it, unless the path is clear
    /// without.
    fn add_name(&self, aggregate: &Aggregate, member: &Member, found: &mut MemberHit) {
        let Some(name) = &member.name else { return };
        found
            .innermost
            .get_or_insert_with(|| path_part(name).to_owned());
        let is_payload = wrapped_member(aggregate).is_some_and(|held| std::ptr::eq(held, member));
        let bytes = self.types.size_of(member.ty).unwrap_or(0);
        let first = found.path.last().map(String::as_str);
        found.in_wrapper = is_payload && is_left_out(aggregate, member, bytes, first);
        if !found.in_wrapper {
            found.path.push(path_part(name).to_owned());
        }
    }

    fn find_in_member(
        &mut self,
        aggregate: &Aggregate,
        member: &Member,
        sought: &SoughtByte,
        depth: u32,
    ) -> Option<MemberHit> {
        if let Some(bits) = member.bits {
            let first = bits.offset_bits / 8;
            let end = bits.offset_bits.checked_add(bits.size_bits)?.div_ceil(8);
            let holds = (first..end).contains(&sought.offset);
            return holds
                .then(|| member_hit(sought.start.saturating_add(first), end - first, false));
        }
        let offset = sought.offset.checked_sub(member.offset)?;
        let size = self.types.size_of(member.ty)?;
        // Older C and C++ write an array of one element where more may follow.
        let is_open = size == 0 || sought.offset >= aggregate.size && self.has_one_element(member);
        if offset >= size && !(is_open && self.is_last_array(aggregate, member)) {
            return None;
        }
        let start = sought.start.checked_add(member.offset)?;
        self.descend(member.ty, &SoughtByte { offset, start }, depth + 1)
    }

    /// Returns true for an array at the end, which may go on behind the aggregate.
    fn is_last_array(&self, aggregate: &Aggregate, member: &Member) -> bool {
        let array = matches!(
            self.types.get(self.types.strip_typedefs(member.ty)),
            Type::Array { .. }
        );
        let is_union = aggregate.kind == AggregateKind::Union;
        // An array of no elements may also mark the place of the next member.
        let is_marked = |other: &Member| {
            let has_bytes = other.bits.is_some() || self.types.size_of(other.ty) > Some(0);
            !is_union && has_bytes && !std::ptr::eq(other, member) && other.offset == member.offset
        };
        let after = |other: &Member| other.offset > member.offset || is_marked(other);
        array && !aggregate.members.iter().any(after)
    }

    fn has_one_element(&self, member: &Member) -> bool {
        let array = self.types.get(self.types.strip_typedefs(member.ty));
        matches!(array, Type::Array { counts, .. } if counts[..] == [Some(1)])
    }

    /// Rank of a union member that holds the byte; the largest is the best.
    fn rank(&self, found: &MemberHit, sought: &SoughtByte) -> (bool, bool, bool) {
        let same_size = found.size == self.size && !found.hole;
        let exact = same_size && found.offset == sought.start.saturating_add(sought.offset);
        (!found.hole, exact, same_size)
    }

    fn hole_at(&self, aggregate: &Aggregate, sought: &SoughtByte) -> Option<MemberHit> {
        if sought.offset >= aggregate.size {
            return None;
        }
        let mut start = 0;
        let mut end = aggregate.size;
        for member in &aggregate.members {
            let (first, after) = match member.bits {
                Some(bits) => (
                    bits.offset_bits / 8,
                    bits.offset_bits.saturating_add(bits.size_bits).div_ceil(8),
                ),
                None => {
                    let size = self.types.size_of(member.ty).unwrap_or(0);
                    (member.offset, member.offset.saturating_add(size))
                }
            };
            if after <= sought.offset {
                start = start.max(after);
            } else if first > sought.offset {
                end = end.min(first);
            }
        }
        Some(member_hit(
            sought.start.saturating_add(start),
            end - start,
            true,
        ))
    }

    /// Tag with its scope, or for an anonymous aggregate the typedef directly in front of it.
    fn aggregate_name(&self, id: TypeId, aggregate: &Aggregate) -> Option<String> {
        if aggregate.name.is_some() {
            return aggregate.readable_name();
        }
        let mut name = None;
        let mut at = id;
        for _ in 0..NESTING_MAX {
            match self.types.get(at) {
                Type::Typedef {
                    name: alias,
                    target: Some(target),
                    ..
                } => {
                    name = Some(alias.clone());
                    at = *target;
                }
                Type::Qualified {
                    target: Some(target),
                    ..
                } => at = *target,
                _ => break,
            }
        }
        name
    }
}

fn member_hit(offset: u64, size: u64, hole: bool) -> MemberHit {
    MemberHit {
        path: Vec::new(),
        elements: Vec::new(),
        type_names: Vec::new(),
        offset,
        size,
        hole,
        innermost: None,
        in_wrapper: false,
    }
}

/// `["counter", "[]", "lists"]` from the inside out becomes `lists[].counter`.
fn join_path(parts: Vec<String>) -> String {
    let mut path = String::new();
    for part in parts.iter().rev() {
        if !path.is_empty() && part != "[]" {
            path.push('.');
        }
        path.push_str(part);
    }
    path
}
