//! Search for the offset of a member by its path.

use crate::types::{NESTING_MAX, element_count};
use crate::wrappers::{path_part, wrapped_member};
use crate::{Aggregate, Member, Type, TypeArena, TypeId};

/// Most members that one search visits. Anonymous types in damaged debug information repeat each
/// other.
const VISITS_MAX: u32 = 1 << 16;

/// Offset of a member that was found by its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocatedMember {
    /// Offset in bytes from the start of the outermost type.
    pub offset: u64,
    /// Size in bytes; for a bitfield, of the bytes that its bits touch.
    pub size: u64,
    /// Index of the element in each array of the path, outermost first.
    pub elements: Vec<u64>,
}

/// Elements of the arrays in a path, which the path itself leaves open.
#[derive(Clone, Copy, Debug)]
pub enum ArrayElements<'e> {
    /// Elements that hold the byte at this offset from the start of the outermost type.
    AtOffset(u64),
    /// Indices, outermost first. An array without index stands for its first element.
    Indices(&'e [u64]),
}

impl TypeArena {
    /// Member at `path`, in the form that [`member_at`](Self::member_at) returns:
    /// `mmap_lock.owner`, `lruvecs[].lists[]`. `None` without such a member.
    pub fn locate_path(
        &self,
        id: TypeId,
        path: &str,
        elements: ArrayElements<'_>,
    ) -> Option<LocatedMember> {
        let mut steps = Vec::new();
        for part in path.split('.') {
            let name = part.trim_end_matches("[]");
            if !name.is_empty() {
                steps.push(PathStep::Member(name));
            }
            let arrays = (part.len() - name.len()) / 2;
            steps.extend(std::iter::repeat_n(PathStep::Element, arrays));
        }
        let mut walk = PathWalk {
            types: self,
            elements,
            visits: 0,
        };
        let start = LocatedMember {
            offset: 0,
            size: 0,
            elements: Vec::new(),
        };
        walk.follow(id, &steps, start, 0)
    }
}

#[derive(Clone, Copy)]
enum PathStep<'p> {
    Member(&'p str),
    Element,
}

struct PathWalk<'t, 'e> {
    types: &'t TypeArena,
    elements: ArrayElements<'e>,
    visits: u32,
}

impl PathWalk<'_, '_> {
    /// Follows `steps` from the type `id` at `at`.
    fn follow(
        &mut self,
        id: TypeId,
        steps: &[PathStep<'_>],
        at: LocatedMember,
        depth: u32,
    ) -> Option<LocatedMember> {
        if depth > NESTING_MAX {
            return None;
        }
        let Some((step, rest)) = steps.split_first() else {
            let size = self.types.size_of(id)?;
            return Some(LocatedMember { size, ..at });
        };
        match (step, self.types.get(self.types.strip_typedefs(id))) {
            (PathStep::Member(name), Type::Aggregate(aggregate)) => {
                self.follow_member(aggregate, name, (steps, rest), &at, depth)
            }
            (PathStep::Element, Type::Array { element, counts }) => {
                let at = self.follow_element(*element, counts, at)?;
                self.follow(*element, rest, at, depth + 1)
            }
            (PathStep::Element, Type::Aggregate(aggregate)) => {
                self.follow_payload(aggregate, steps, &at, depth)
            }
            _ => None,
        }
    }

    fn follow_member(
        &mut self,
        aggregate: &Aggregate,
        name: &str,
        (steps, rest): (&[PathStep<'_>], &[PathStep<'_>]),
        at: &LocatedMember,
        depth: u32,
    ) -> Option<LocatedMember> {
        let alternatives = { aggregate.variants.iter() }
            .flat_map(|enumeration| enumeration.variants.iter().map(|found| &found.member));
        for member in aggregate.members.iter().chain(alternatives) {
            self.visits += 1;
            if self.visits > VISITS_MAX {
                return None;
            }
            let here = LocatedMember {
                offset: at.offset.checked_add(member.offset)?,
                ..at.clone()
            };
            let found = match &member.name {
                Some(own) if own == name || path_part(own) == name => match member.bits {
                    Some(_) => locate_bitfield(member, at),
                    None => self.follow(member.ty, rest, here, depth + 1),
                },
                Some(_) => None,
                None => self.follow(member.ty, steps, here, depth + 1),
            };
            if found.is_some() {
                return found;
            }
        }
        self.follow_payload(aggregate, steps, at, depth)
    }

    /// Follows `steps` from what a wrapper holds, whose own name paths leave out.
    fn follow_payload(
        &mut self,
        aggregate: &Aggregate,
        steps: &[PathStep<'_>],
        at: &LocatedMember,
        depth: u32,
    ) -> Option<LocatedMember> {
        let payload = wrapped_member(aggregate)?;
        let inside = LocatedMember {
            offset: at.offset.checked_add(payload.offset)?,
            ..at.clone()
        };
        self.follow(payload.ty, steps, inside, depth + 1)
    }

    fn follow_element(
        &self,
        element: TypeId,
        counts: &[Option<u64>],
        mut at: LocatedMember,
    ) -> Option<LocatedMember> {
        let stride = self.types.size_of(element)?;
        let count = element_count(counts).unwrap_or(0);
        let wanted = match self.elements {
            ArrayElements::AtOffset(offset) => offset.saturating_sub(at.offset).checked_div(stride),
            ArrayElements::Indices(indices) => indices.get(at.elements.len()).copied(),
        };
        // A flexible array has as many elements as there is memory.
        let index = wanted.filter(|index| count == 0 || *index < count);
        let index = index.unwrap_or(0);
        at.offset = at.offset.checked_add(index.checked_mul(stride)?)?;
        at.elements.push(index);
        Some(at)
    }
}

fn locate_bitfield(member: &Member, at: &LocatedMember) -> Option<LocatedMember> {
    let bits = member.bits?;
    let first = bits.offset_bits / 8;
    let end = bits.offset_bits.checked_add(bits.size_bits)?.div_ceil(8);
    Some(LocatedMember {
        offset: at.offset.checked_add(first)?,
        size: end - first,
        elements: at.elements.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `struct s { long a; struct { struct { int x, y; } in[4]; }; }`
    fn types() -> (TypeArena, TypeId) {
        let mut types = TypeArena::default();
        let int = types.add(Type::Base {
            name: "int".to_owned(),
            size: 4,
        });
        let member = |name: Option<&str>, ty, offset| Member {
            name: name.map(str::to_owned),
            is_base: false,
            ty,
            offset,
            bits: None,
            declared_align: None,
            decl: None,
        };
        let mut aggregate = |size, members| {
            types.add(Type::Aggregate(Aggregate {
                size,
                members,
                complete: true,
                ..Aggregate::default()
            }))
        };
        let inner = aggregate(
            8,
            vec![member(Some("x"), int, 0), member(Some("y"), int, 4)],
        );
        let array = types.add(Type::Array {
            element: inner,
            counts: vec![Some(4)],
        });
        let mut aggregate = |size, members| {
            types.add(Type::Aggregate(Aggregate {
                size,
                members,
                complete: true,
                ..Aggregate::default()
            }))
        };
        let nameless = aggregate(32, vec![member(Some("in"), array, 0)]);
        let s = aggregate(
            40,
            vec![member(Some("a"), int, 0), member(None, nameless, 8)],
        );
        (types, s)
    }

    #[track_caller]
    fn check(path: &str, elements: ArrayElements<'_>, expect: Option<(u64, u64)>) {
        let (types, s) = types();
        let found = types.locate_path(s, path, elements);
        assert_eq!(
            found.map(|found| (found.offset, found.size)),
            expect,
            "{path}"
        );
    }

    #[test]
    fn paths() {
        check("a", ArrayElements::AtOffset(0), Some((0, 4)));
        check("in", ArrayElements::AtOffset(0), Some((8, 32)));
        check("in[].y", ArrayElements::AtOffset(28), Some((28, 4)));
        check("in[].y", ArrayElements::Indices(&[1]), Some((20, 4)));
        check("in[].y", ArrayElements::Indices(&[]), Some((12, 4)));
        check("in[].y", ArrayElements::Indices(&[9]), Some((12, 4)));
        check("in.y", ArrayElements::AtOffset(0), None);
        check("b", ArrayElements::AtOffset(0), None);
        check("", ArrayElements::AtOffset(0), Some((0, 40)));
    }

    /// The path by `member_at` leads back to the same offset.
    #[test]
    fn finds_what_member_at_names() {
        let (types, s) = types();
        for offset in 0..40 {
            let named = types.member_at(s, offset, 1).unwrap();
            if !named.path.is_empty() {
                let found = types.locate_path(s, &named.path, ArrayElements::AtOffset(offset));
                let found = found.map(|found| (found.offset, found.size));
                assert_eq!(found, Some((named.offset, named.size)), "{offset}");
            }
        }
    }
}
