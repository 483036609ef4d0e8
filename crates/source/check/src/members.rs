//! Lookup of the members of a type by path.

use std::collections::HashMap;

use relayout_layout::{Aggregate, Member, SourceLine, Type, TypeArena, TypeId};

use crate::MemberPattern;
use crate::pattern::MemberComponent;

/// Maximum number of members of one lookup. A pattern over nested unions can match many.
pub(crate) const MEMBERS_MAX: usize = 1 << 16;
/// Maximum number of members visited in one lookup.
const VISITS_MAX: usize = 2 * MEMBERS_MAX;
/// Maximum nesting of anonymous members. Deeper nesting means damaged debug information.
const DEPTH_MAX: u32 = 64;

/// Member and its position. Offsets count from the start of the outermost type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MatchedMember {
    /// Path from the outermost type: `mmap_lock.owner`, `lists[2].next`.
    pub path: String,
    pub first_bit: u64,
    /// Size in bits; 0 if unknown, as for a flexible array.
    pub size_bits: u64,
    pub ty: TypeId,
    /// Declaration of the outermost type's direct member that is or contains this member. A fix
    /// would move that direct member.
    pub decl: Option<SourceLine>,
    /// True for a bit-field. C gives a bit-field no offset.
    pub is_bitfield: bool,
}

impl MatchedMember {
    /// Offset of the first byte that the member has a bit in.
    pub(crate) fn offset(&self) -> u64 {
        self.first_bit / 8
    }

    /// Offset after the member's last byte; at least one byte after its first.
    pub(crate) fn end(&self) -> u64 {
        let end = self.first_bit.saturating_add(self.size_bits).div_ceil(8);
        end.max(self.offset().saturating_add(1))
    }

    /// Number of bytes that the member has a bit in.
    pub(crate) fn bytes(&self) -> u64 {
        match self.size_bits {
            0 => 0,
            _ => self.end() - self.offset(),
        }
    }

    /// Indices of the first and last cache line of `line_bytes` that the member touches.
    pub(crate) fn lines(&self, line_bytes: u64) -> (u64, u64) {
        (self.offset() / line_bytes, (self.end() - 1) / line_bytes)
    }
}

/// Error for a pattern that matches more than [`MEMBERS_MAX`] members.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooManyMatches;

/// Returns the members of `id` that `pattern` matches, in order of declaration.
pub(crate) fn find_members(
    types: &TypeArena,
    id: TypeId,
    pattern: &MemberPattern,
) -> Result<Vec<MatchedMember>, TooManyMatches> {
    let mut at = vec![whole_type(id)];
    for component in pattern.components() {
        let mut inner = Vec::new();
        for place in &at {
            inner.extend(matching_children(types, place, component));
            if inner.len() > MEMBERS_MAX {
                return Err(TooManyMatches);
            }
        }
        at = inner;
    }
    Ok(at)
}

/// Leaves each member to one of the groups that `patterns` match, for rules that keep groups apart: no
/// member can lie apart from itself. The member belongs to the pattern that names it without a glob,
/// else to the first that matches it. So `["lock", "*"]` keeps `lock` apart from all other members.
pub(crate) fn leave_to_one_group(patterns: &[MemberPattern], groups: &mut [Vec<MatchedMember>]) {
    let mut owners: HashMap<String, usize> = HashMap::new();
    let closed_first = [false, true].into_iter().flat_map(|is_open| {
        let numbered = patterns.iter().enumerate();
        numbered.filter(move |(_, pattern)| pattern.is_open() == is_open)
    });
    for (index, _) in closed_first {
        for member in groups.get(index).into_iter().flatten() {
            owners.entry(member.path.clone()).or_insert(index);
        }
    }
    for (index, group) in groups.iter_mut().enumerate() {
        group.retain(|member| owners.get(&member.path) == Some(&index));
    }
}

/// Returns a place that covers the whole type.
pub(crate) fn whole_type(id: TypeId) -> MatchedMember {
    MatchedMember {
        path: String::new(),
        first_bit: 0,
        size_bits: 0,
        ty: id,
        decl: None,
        is_bitfield: false,
    }
}

fn matching_children(
    types: &TypeArena,
    place: &MatchedMember,
    component: &MemberComponent,
) -> Vec<MatchedMember> {
    let mut found: Vec<MatchedMember> = Vec::new();
    for child in direct_members(types, place) {
        let name = match place.path.len() {
            0 => &child.path[..],
            outer => &child.path[outer + 1..],
        };
        if component.name.matches(name)
            && let Some(child) = array_element(types, child, &component.indices)
        {
            found.push(child);
        }
    }
    found
}

/// Returns the named direct members of `place` in order of declaration, with the members of
/// anonymous structs, unions and base classes. The list is empty if `place` is no struct, union or
/// class.
pub(crate) fn direct_members(types: &TypeArena, place: &MatchedMember) -> Vec<MatchedMember> {
    let mut found = Vec::new();
    if let Some(aggregate) = types.aggregate(place.ty) {
        collect_named(types, aggregate, place, 0, (&mut 0, &mut found));
    }
    found
}

fn collect_named(
    types: &TypeArena,
    aggregate: &Aggregate,
    outer: &MatchedMember,
    depth: u32,
    (visits, found): (&mut usize, &mut Vec<MatchedMember>),
) {
    let variants = aggregate.variants.iter().flat_map(|all| &all.variants);
    let variants = variants.map(|variant| &variant.member);
    for member in aggregate.members.iter().chain(variants) {
        // Anonymous types in damaged debug information can contain themselves and hold nothing.
        *visits += 1;
        if *visits > VISITS_MAX || found.len() > MEMBERS_MAX || depth > DEPTH_MAX {
            return;
        }
        let mut place = place_in(types, member, outer);
        match (&member.name, types.aggregate(member.ty)) {
            (Some(name), _) => {
                if !place.path.is_empty() {
                    place.path.push('.');
                }
                place.path.push_str(name);
                found.push(place);
            }
            (None, Some(inner)) => collect_named(types, inner, &place, depth + 1, (visits, found)),
            (None, None) => {}
        }
    }
}

/// Returns the position of the member. The path is still the path of the outer member.
fn place_in(types: &TypeArena, member: &Member, outer: &MatchedMember) -> MatchedMember {
    let (first_bit, size_bits) = match member.bits {
        Some(bits) => (bits.offset_bits, bits.size_bits),
        None => {
            let size = types.size_of(member.ty).unwrap_or(0);
            (member.offset.saturating_mul(8), size.saturating_mul(8))
        }
    };
    MatchedMember {
        path: outer.path.clone(),
        first_bit: outer.first_bit.saturating_add(first_bit),
        size_bits,
        ty: member.ty,
        is_bitfield: member.bits.is_some(),
        decl: match outer.path.is_empty() {
            true => member.decl.clone(),
            false => outer.decl.clone(),
        },
    }
}

/// Returns an array element, or the member itself without indices. `None` if the element does not
/// exist.
fn array_element(
    types: &TypeArena,
    mut place: MatchedMember,
    indices: &[u64],
) -> Option<MatchedMember> {
    let mut indices = indices;
    while !indices.is_empty() {
        let Type::Array { element, counts } = types.get(types.strip_typedefs(place.ty)) else {
            return None;
        };
        let here = indices.get(..counts.len())?;
        let mut flat = 0u64;
        for (index, count) in here.iter().zip(counts) {
            if count.is_some_and(|count| *index >= count) {
                return None;
            }
            flat = flat.checked_mul(count.unwrap_or(1))?.checked_add(*index)?;
            place.path.push_str(&format!("[{index}]"));
        }
        let size_bits = types.size_of(*element)?.checked_mul(8)?;
        place.first_bit = place.first_bit.checked_add(flat.checked_mul(size_bits)?)?;
        (place.size_bits, place.ty) = (size_bits, *element);
        indices = &indices[counts.len()..];
    }
    Some(place)
}

/// Returns the member at `path` that contains the byte at `offset`. The path has `[]` for an array
/// element.
pub(crate) fn member_with_indices(
    types: &TypeArena,
    id: TypeId,
    path: &str,
    offset: u64,
) -> Option<MatchedMember> {
    let mut at = whole_type(id);
    for component in path.split('.') {
        let name = component.trim_end_matches("[]");
        let name_start = if at.path.is_empty() {
            0
        } else {
            at.path.len() + 1
        };
        let children = direct_members(types, &at).into_iter();
        let holds = |child: &MatchedMember| (child.offset()..child.end()).contains(&offset);
        let mut named = children.filter(|child| child.path.get(name_start..) == Some(name));
        at = named.find(holds)?;
        for _ in 0..component[name.len()..].len() / "[]".len() {
            let indices = indices_at(types, &at, offset)?;
            at = array_element(types, at, &indices)?;
        }
    }
    Some(at)
}

/// Returns the indices of the array element that contains the byte at `offset`.
fn indices_at(types: &TypeArena, array: &MatchedMember, offset: u64) -> Option<Vec<u64>> {
    let Type::Array { element, counts } = types.get(types.strip_typedefs(array.ty)) else {
        return None;
    };
    let size = types.size_of(*element).filter(|size| *size > 0)?;
    let mut flat = offset.checked_sub(array.offset())? / size;
    let mut indices = Vec::new();
    for count in counts.iter().rev() {
        let count = count.unwrap_or(u64::MAX).max(1);
        indices.push(flat % count);
        flat /= count;
    }
    indices.reverse();
    Some(indices)
}
