//! Members that hold pointers, in words.

use crate::types::NESTING_MAX;
use crate::wrappers::path_part;
use crate::{Aggregate, AggregateKind, Member, Type, TypeArena, TypeId, is_standard_scope};

impl TypeArena {
    /// Returns the member of `id` that holds a pointer at `offset`, in words, up to the first container or
    /// smart pointer of a standard library: `net::Pool.first`, `std::vector<Worker> net::Pool.workers`. `None`
    /// where no named struct holds it.
    pub fn pointer_holder(&self, id: TypeId, offset: u64) -> Option<String> {
        let mut words = match self.aggregate(id)? {
            outermost if is_standard(outermost) => return outermost.readable_name(),
            outermost => outermost.readable_name()?,
        };
        let (mut id, mut offset) = (id, offset);
        for _ in 0..NESTING_MAX {
            match self.get(self.strip_typedefs(id)) {
                Type::Aggregate(aggregate) if is_standard(aggregate) => {
                    return Some(format!("{} {words}", aggregate.readable_name()?));
                }
                Type::Aggregate(aggregate) => {
                    let member = self.member_around(aggregate, offset)?;
                    if let Some(name) = &member.name {
                        words.push('.');
                        words.push_str(path_part(name));
                    }
                    (id, offset) = (member.ty, offset - member.offset);
                }
                Type::Array { element, .. } => {
                    let stride = self.size_of(*element).filter(|stride| *stride > 0)?;
                    words.push_str("[]");
                    (id, offset) = (*element, offset % stride);
                }
                _ => return Some(words),
            }
        }
        None
    }

    /// Returns the member of a struct with the byte at `offset`.
    fn member_around<'a>(&self, aggregate: &'a Aggregate, offset: u64) -> Option<&'a Member> {
        let holds = |member: &&Member| {
            let size = self.size_of(member.ty).unwrap_or(0);
            let inside = offset.checked_sub(member.offset);
            member.bits.is_none() && inside.is_some_and(|inside| inside < size)
        };
        let is_struct = aggregate.kind != AggregateKind::Union;
        aggregate.members.iter().find(holds).filter(|_| is_struct)
    }
}

fn is_standard(aggregate: &Aggregate) -> bool {
    aggregate.scope.as_deref().is_some_and(is_standard_scope)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_and_members_are_named() {
        let mut types = TypeArena::new();
        let pointer = types.add(Type::Pointer {
            target: None,
            size: 8,
            align: 8,
            sigil: "*",
        });
        let mut add = |scope: &str, name: &str, members| {
            types.add(Type::Aggregate(Aggregate {
                name: Some(name.to_owned()),
                scope: Some(scope.to_owned()),
                size: 16,
                members,
                complete: true,
                ..Aggregate::default()
            }))
        };
        let start = Member::new("_M_start", pointer, 8);
        let vector = add("std", "vector<W, std::allocator<W> >", vec![start]);
        let members = vec![
            Member::new("first", pointer, 0),
            Member::new("all", vector, 8),
        ];
        let pool = add("net", "Pool", members);
        let holder = |id, offset| types.pointer_holder(id, offset);
        assert_eq!(holder(pool, 0).as_deref(), Some("net::Pool.first"));
        assert_eq!(
            holder(pool, 16).as_deref(),
            Some("std::vector<W> net::Pool.all")
        );
        assert_eq!(holder(vector, 8).as_deref(), Some("std::vector<W>"));
        assert_eq!(holder(pool, 99), None);
    }
}
