//! Raw memory in which a C++ library keeps an object.
//!
//! libstdc++ holds the objects of `make_shared` and of the nodes of lists, trees and hash tables in
//! buffers of bytes. Only the buffer's name tells the type of the object:
//! `__aligned_buffer<Stats>`. This module gives the buffer a member of that type, so that the
//! object has an offset and a path.

use relayout_layout::dwarf::{DieOffset, DwarfFile};
use relayout_layout::{Aggregate, Member, Type, TypeArena, TypeId};

/// Starts of the names of buffer types.
const BUFFERS: [&str; 2] = ["__aligned_buffer<", "__aligned_membuf<"];
/// Name of the member that a buffer gets.
const MEMBER: &str = "value";

/// Buffer, and the name of the type that it holds.
pub(super) struct AlignedBuffer {
    pub id: TypeId,
    pub bytes: u64,
    held_name: String,
}

/// Finds the buffers among the types of `arena` from index `first` on.
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
    /// Returns the definitions in `file`, the buffer's own, that its name may refer to.
    pub fn candidates(&self, file: &DwarfFile<'_>) -> Vec<DieOffset> {
        let (scope, name) = split_scope(&self.held_name);
        let path = |die| file.scope_of(die).map(|scope| file.scope_path(scope));
        let dies = file.find_types(name).into_iter();
        dies.filter(|die| path(*die).unwrap_or_default() == scope)
            .collect()
    }

    /// Gives the buffer its member.
    pub fn fill(&self, arena: &mut TypeArena, ty: TypeId) {
        let Type::Aggregate(old) = arena.get(self.id) else {
            return;
        };
        let member = Member {
            name: Some(MEMBER.to_owned()),
            is_base: false,
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

/// Splits a name from its scope: `a::b::C<d::E>` is `C<d::E>` in `a::b`.
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
