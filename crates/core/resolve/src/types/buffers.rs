//! Raw memory that a C++ library keeps an object in.
//!
//! libstdc++ holds what `make_shared`, nodes of lists, trees and hash tables carry in a buffer of
//! bytes, of which only the name says what is in it: `__aligned_buffer<Stats>`. Here the buffer gets
//! the member that its name promises, so that the object inside has a place and a path.

use relayout_layout::dwarf::{DieOffset, DwarfFile};
use relayout_layout::{Aggregate, Member, Type, TypeArena, TypeId};

/// Buffers by the start of their names.
const BUFFERS: [&str; 2] = ["__aligned_buffer<", "__aligned_membuf<"];
/// Name of the member that a buffer gets.
const MEMBER: &str = "value";

/// A buffer, and the name of the type in it.
pub(super) struct AlignedBuffer {
    pub id: TypeId,
    pub bytes: u64,
    held_name: String,
}

/// Buffers among the types of `arena` from the index `first` on.
pub(super) fn find_buffers(arena: &TypeArena, first: usize) -> Vec<AlignedBuffer> {
    let buffer = |index: usize| {
        let id = TypeId(u32::try_from(index).ok()?);
        let Type::Aggregate(aggregate) = arena.get(id) else {
            return None;
        };
        let name = aggregate.name.as_deref().filter(|_| aggregate.complete)?;
        let inner = BUFFERS.iter().find_map(|start| name.strip_prefix(start))?;
        let holds = inner.strip_suffix('>')?.trim().to_owned();
        let bytes = aggregate.size;
        Some(AlignedBuffer {
            id,
            bytes,
            held_name: holds,
        })
    };
    (first..arena.len()).filter_map(buffer).collect()
}

impl AlignedBuffer {
    /// The definitions that may be what it holds, in the file that it is of.
    pub fn candidates(&self, file: &DwarfFile<'_>) -> Vec<DieOffset> {
        let (scope, name) = split_scope(&self.held_name);
        let path = |die| file.scope_of(die).map(|scope| file.scope_path(scope));
        let dies = file.find_types(name).iter().copied();
        dies.filter(|die| path(*die).unwrap_or_default() == scope)
            .collect()
    }

    /// Gives it the member.
    pub fn fill(&self, arena: &mut TypeArena, ty: TypeId) {
        let Type::Aggregate(old) = arena.get(self.id) else {
            return;
        };
        let member = Member {
            name: Some(MEMBER.to_owned()),
            ty,
            offset: 0,
            bits: None,
            declared_align: None,
            decl: None,
        };
        let filled = Aggregate {
            members: vec![member],
            ..old.clone()
        };
        arena.set(self.id, Type::Aggregate(filled));
    }
}

/// `a::b::C<d::E>` is `C<d::E>` in `a::b`.
fn split_scope(name: &str) -> (&str, &str) {
    let end = name.find('<').unwrap_or(name.len());
    match name[..end].rfind("::") {
        Some(at) => (&name[..at], &name[at + 2..]),
        None => ("", name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_around_a_template() {
        assert_eq!(
            split_scope("std::pair<int const, ns::A>"),
            ("std", "pair<int const, ns::A>")
        );
        assert_eq!(split_scope("Shared"), ("", "Shared"));
        assert_eq!(split_scope("a::b::C"), ("a::b", "C"));
    }
}
