//! Walks from a type inwards, to the parts at an offset.

use relayout_layout::{Aggregate, AggregateKind, Member, Type, TypeArena, TypeId};

/// Parts visited in one walk, at most; more are a sign of damaged debug information.
const VISITS_MAX: u32 = 512;

/// Nested empty classes that are followed, at most.
const EMPTY_DEPTH_MAX: u32 = 8;

/// Structs nested at the end of each other that are searched for an array, at most.
const TAIL_DEPTH_MAX: u32 = 16;

/// Part of an outer type, at some offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypePart {
    /// Type of the part as declared.
    pub ty: TypeId,
    /// Bytes from the start of the part to the offset of the walk.
    pub offset: u64,
    /// The part is an element of an array.
    pub element: bool,
}

/// Returns every type, from `outer` itself inwards, that holds the byte at `offset`. All members of
/// a union are followed, one after the other.
pub fn parts_at(types: &TypeArena, outer: TypeId, offset: u64) -> Vec<TypePart> {
    TypeWalk::new(types, false).walk(outer, offset)
}

/// As [`parts_at`], with the parts that the alternatives of Rust enums may have there.
pub fn parts_and_alternatives_at(types: &TypeArena, outer: TypeId, offset: u64) -> Vec<TypePart> {
    TypeWalk::new(types, true).walk(outer, offset)
}

struct TypeWalk<'t> {
    types: &'t TypeArena,
    follows_alternatives: bool,
    found: Vec<TypePart>,
    visits: u32,
}

impl<'t> TypeWalk<'t> {
    fn new(types: &'t TypeArena, follows_alternatives: bool) -> Self {
        Self {
            types,
            follows_alternatives,
            found: Vec::new(),
            visits: 0,
        }
    }

    fn walk(mut self, ty: TypeId, offset: u64) -> Vec<TypePart> {
        let element = false;
        self.descend(TypePart {
            ty,
            offset,
            element,
        });
        self.found
    }

    fn descend(&mut self, part: TypePart) {
        self.visits += 1;
        if self.visits > VISITS_MAX {
            return;
        }
        self.found.push(part);
        match self.types.get(self.types.strip_typedefs(part.ty)) {
            Type::Aggregate(aggregate) => self.descend_into_members(aggregate, part.offset),
            Type::Array { element, .. } => {
                if let Some(stride) = self.types.size_of(*element).filter(|&s| s > 0) {
                    self.descend(TypePart {
                        ty: *element,
                        offset: part.offset % stride,
                        element: true,
                    });
                }
            }
            _ => {}
        }
    }

    fn descend_into_members(&mut self, aggregate: &Aggregate, offset: u64) {
        for member in &aggregate.members {
            if self.descend_into(aggregate, member, offset)
                && aggregate.kind != AggregateKind::Union
                && !is_empty(self.types, member.ty, 0)
            {
                return;
            }
        }
        let alternatives = aggregate
            .variants
            .as_deref()
            .filter(|_| self.follows_alternatives);
        for alternative in alternatives.iter().flat_map(|variants| &variants.variants) {
            self.descend_into(aggregate, &alternative.member, offset);
        }
    }

    /// Returns true if the member holds the byte.
    fn descend_into(&mut self, aggregate: &Aggregate, member: &Member, offset: u64) -> bool {
        let Some(offset) = offset_within(self.types, aggregate, member, offset) else {
            return false;
        };
        self.descend(TypePart {
            ty: member.ty,
            offset,
            element: false,
        });
        true
    }
}

fn offset_within(
    types: &TypeArena,
    aggregate: &Aggregate,
    member: &Member,
    offset: u64,
) -> Option<u64> {
    let inner = offset.checked_sub(member.offset)?;
    if member.bits.is_some() {
        return None;
    }
    let size = types.size_of(member.ty)?;
    let flexible = size == 0 && is_flexible(types, aggregate, member);
    (inner < size || flexible).then_some(inner)
}

/// Returns true for an empty base class of C++, which shares its offset with the first member. It
/// may have empty bases itself.
fn is_empty(types: &TypeArena, ty: TypeId, depth: u32) -> bool {
    let nothing = |a: &Aggregate| {
        let mut members = a.members.iter();
        a.complete && a.size == 1 && members.all(|m| is_empty(types, m.ty, depth + 1))
    };
    depth < EMPTY_DEPTH_MAX && types.aggregate(ty).is_some_and(nothing)
}

/// Returns true if the member, of no bytes, is an array that no other member follows, so that elements may
/// lie behind the type. Arrays of no elements also mark places between members.
fn is_flexible(types: &TypeArena, aggregate: &Aggregate, member: &Member) -> bool {
    let array = matches!(
        types.get(types.strip_typedefs(member.ty)),
        Type::Array { .. }
    );
    let is_union = aggregate.kind == AggregateKind::Union;
    let is_before = |other: &Member| {
        let is_empty = || other.bits.is_none() && types.size_of(other.ty) == Some(0);
        other.offset < member.offset || other.offset == member.offset && (is_union || is_empty())
    };
    array && aggregate.members.iter().all(is_before)
}

/// Returns true if `ty` contains an array of anything but single bytes.
pub fn has_array(types: &TypeArena, ty: TypeId) -> bool {
    let mut open = vec![ty];
    for _ in 0..VISITS_MAX {
        let Some(ty) = open.pop() else { return false };
        match types.get(types.strip_typedefs(ty)) {
            Type::Aggregate(aggregate) => open.extend(aggregate.members.iter().map(|m| m.ty)),
            Type::Array { element, .. } if types.size_of(*element) > Some(1) => return true,
            _ => {}
        }
    }
    // The type is too large to search.
    true
}

/// Returns true if the type is a struct with an array as its only member.
pub fn is_mere_array(types: &TypeArena, ty: TypeId) -> bool {
    let Some(aggregate) = types.aggregate(ty) else {
        return false;
    };
    let only = (aggregate.members.len() == 1)
        .then(|| types.get(types.strip_typedefs(aggregate.members[0].ty)));
    matches!(only, Some(Type::Array { .. }))
}

/// Array at the end of a type, of which objects may have more elements than the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlexibleTail {
    /// Bytes from the start of the type to the first element.
    pub offset: u64,
    /// Type of the elements.
    pub element: TypeId,
    /// The array has no length in the source, so nothing follows it. One of no elements (`T x[0]`) may
    /// only mark a place, and one of one element may have no more.
    pub is_certain: bool,
}

/// Returns the array without a length that the type ends in, if it does.
pub fn flexible_tail(types: &TypeArena, ty: TypeId) -> Option<FlexibleTail> {
    let (mut at, mut start) = (ty, 0);
    for _ in 0..TAIL_DEPTH_MAX {
        let aggregate = types.aggregate(at)?;
        let last = aggregate.members.iter().max_by_key(|m| m.offset)?;
        start += last.offset;
        if types.size_of(last.ty) != Some(0) {
            at = last.ty;
            continue;
        }
        let Type::Array { element, counts } = types.get(types.strip_typedefs(last.ty)) else {
            return None;
        };
        return is_flexible(types, aggregate, last).then_some(FlexibleTail {
            offset: start,
            element: *element,
            is_certain: counts.first().is_none_or(Option::is_none),
        });
    }
    None
}

/// Returns true if objects of the type may be longer than `sizeof`, because it ends in an array
/// without a length.
pub fn has_flexible_tail(types: &TypeArena, ty: TypeId) -> bool {
    flexible_tail(types, ty).is_some_and(|tail| types.size_of(tail.element) != Some(0))
}

/// Returns the array of one element that the type ends in. Older C and C++ write it where more may
/// follow, and compilers take it for flexible unless told otherwise (`-fstrict-flex-arrays`).
pub fn short_tail(types: &TypeArena, ty: TypeId) -> Option<FlexibleTail> {
    let aggregate = types
        .aggregate(ty)
        .filter(|a| a.kind != AggregateKind::Union)?;
    let last = aggregate.members.iter().max_by_key(|m| m.offset)?;
    let is_only = aggregate.members.len() == 1;
    match types.get(types.strip_typedefs(last.ty)) {
        Type::Array { element, counts } if !is_only && counts[..] == [Some(1)] => {
            Some(FlexibleTail {
                offset: last.offset,
                element: *element,
                is_certain: false,
            })
        }
        _ => None,
    }
}

/// Returns the array that the type ends in, if it may have more elements than it is declared with.
pub fn open_tail(types: &TypeArena, ty: TypeId) -> Option<FlexibleTail> {
    flexible_tail(types, ty).or_else(|| short_tail(types, ty))
}

/// Returns the offset in the declared part of the type that stands for `offset`: elements behind an
/// array of one element are like that element.
pub fn offset_in_declared(types: &TypeArena, ty: TypeId, offset: u64) -> u64 {
    let folded = || {
        let tail = short_tail(types, ty)?;
        let stride = types.size_of(tail.element).filter(|&stride| stride > 0)?;
        Some(tail.offset + offset.checked_sub(tail.offset)? % stride)
    };
    let is_inside = types.size_of(ty).is_none_or(|size| offset < size);
    match is_inside {
        true => offset,
        false => folded().unwrap_or(offset),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use relayout_layout::{EnumVariant, EnumVariants};

    use super::*;

    /// Adds a struct with members of `(name, type, offset)`.
    pub(crate) fn aggregate(
        types: &mut TypeArena,
        name: &str,
        size: u64,
        members: &[(&str, TypeId, u64)],
    ) -> TypeId {
        let member = |&(name, ty, offset): &(&str, TypeId, u64)| Member {
            name: Some(name.to_owned()),
            is_base: false,
            ty,
            offset,
            bits: None,
            declared_align: None,
            decl: None,
        };
        types.add(Type::Aggregate(Aggregate {
            name: Some(name.to_owned()),
            size,
            members: members.iter().map(member).collect(),
            complete: true,
            ..Aggregate::default()
        }))
    }

    #[test]
    fn walks_through_members_and_arrays() {
        let mut types = TypeArena::new();
        let long = types.add(Type::Base {
            name: "long".into(),
            size: 8,
        });
        let inner = aggregate(&mut types, "inner", 16, &[("a", long, 0), ("b", long, 8)]);
        let array = types.add(Type::Array {
            element: inner,
            counts: vec![Some(4)],
        });
        let outer = aggregate(
            &mut types,
            "outer",
            72,
            &[("head", long, 0), ("list", array, 8)],
        );
        let found = parts_at(&types, outer, 8 + 16 + 8);
        let expect = [
            (outer, 32, false),
            (array, 24, false),
            (inner, 8, true),
            (long, 0, false),
        ];
        let seen: Vec<_> = found.iter().map(|p| (p.ty, p.offset, p.element)).collect();
        assert_eq!(seen, expect);
    }

    #[test]
    fn alternatives_are_parts_if_asked_for() {
        let mut types = TypeArena::new();
        let long = types.add(Type::Base {
            name: "u64".into(),
            size: 8,
        });
        let exact = aggregate(&mut types, "Exact", 24, &[("__0", long, 8)]);
        let chunked = aggregate(&mut types, "Chunked", 24, &[("__0", long, 16)]);
        let alternative = |name: &str, ty| EnumVariant {
            discriminant: None,
            member: Member::new(name, ty, 0),
        };
        let buffer = types.add(Type::Aggregate(Aggregate {
            size: 24,
            variants: Some(Box::new(EnumVariants {
                discriminant: None,
                variants: vec![alternative("Exact", exact), alternative("Chunked", chunked)],
            })),
            complete: true,
            ..Aggregate::default()
        }));
        let found = |parts: Vec<TypePart>| parts.iter().map(|p| p.ty).collect::<Vec<_>>();
        assert_eq!(found(parts_at(&types, buffer, 8)), [buffer]);
        let all = parts_and_alternatives_at(&types, buffer, 8);
        assert_eq!(found(all), [buffer, exact, long, chunked]);
    }

    #[test]
    fn empty_bases_hide_nothing() {
        let mut types = TypeArena::new();
        let long = types.add(Type::Base {
            name: "long".into(),
            size: 8,
        });
        let empty = aggregate(&mut types, "empty", 1, &[]);
        let helper = aggregate(&mut types, "helper", 1, &[("base", empty, 0)]);
        let outer = aggregate(
            &mut types,
            "outer",
            8,
            &[("base", helper, 0), ("n", long, 0)],
        );
        let found: Vec<_> = parts_at(&types, outer, 0).iter().map(|p| p.ty).collect();
        assert_eq!(found, [outer, helper, empty, long]);
    }

    #[test]
    fn a_type_that_holds_itself_ends() {
        let mut types = TypeArena::new();
        let own = TypeId(0);
        aggregate(&mut types, "own", 8, &[("me", own, 0)]);
        assert!(parts_at(&types, own, 0).len() <= VISITS_MAX as usize);
    }

    #[test]
    fn types_with_a_flexible_tail() {
        let mut types = TypeArena::new();
        let long = types.add(Type::Base {
            name: "long".into(),
            size: 8,
        });
        let tail = types.add(Type::Array {
            element: long,
            counts: vec![None],
        });
        let with = aggregate(&mut types, "with", 8, &[("n", long, 0), ("tail", tail, 8)]);
        assert!(has_flexible_tail(&types, with));
        assert_eq!(parts_at(&types, with, 24).last().map(|p| p.ty), Some(long));
        let outer = aggregate(&mut types, "outer", 16, &[("n", long, 0), ("in", with, 8)]);
        let found = flexible_tail(&types, outer).map(|found| (found.offset, found.is_certain));
        assert_eq!(found, Some((16, true)));
    }

    #[test]
    fn markers_are_no_tails() {
        let mut types = TypeArena::new();
        let long = types.add(Type::Base {
            name: "long".into(),
            size: 8,
        });
        let nothing = aggregate(&mut types, "", 0, &[]);
        let mut marker = |element| {
            let counts = vec![Some(0)];
            types.add(Type::Array { element, counts })
        };
        let (empty, words) = (marker(nothing), marker(long));
        let with_end = [("n", long, 0), ("end", empty, 8)];
        let with_end = aggregate(&mut types, "with_end", 8, &with_end);
        assert!(!has_flexible_tail(&types, with_end));
        let between = [("n", long, 0), ("group", words, 8), ("m", long, 8)];
        let between = aggregate(&mut types, "between", 16, &between);
        assert!(!has_flexible_tail(&types, between));
        let found: Vec<_> = parts_at(&types, between, 8).iter().map(|p| p.ty).collect();
        assert_eq!(found, [between, long]);
        let old = aggregate(&mut types, "old", 8, &[("n", long, 0), ("tail", words, 8)]);
        let found = flexible_tail(&types, old).map(|found| (found.offset, found.is_certain));
        assert_eq!(found, Some((8, false)));
    }
}
