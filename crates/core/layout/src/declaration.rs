//! Search for the source line that declares the member at an offset.

use crate::types::NESTING_MAX;
use crate::{Aggregate, Member, SourceLine, Type, TypeArena, TypeId};

impl TypeArena {
    /// Place of declaration of the direct member of `id` that holds the byte at `offset`. An edit of the layout
    /// moves that member. Members of anonymous aggregates and base classes count as direct ones. Where no
    /// member holds the byte, the place is that of the type. `None` if the debug information names no place.
    ///
    /// ```
    /// use relayout_layout::{Aggregate, Member, SourceLine, Type, TypeArena};
    ///
    /// let mut types = TypeArena::new();
    /// let long = types.add(Type::Base { name: "long".into(), size: 8 });
    /// let line = SourceLine { file: "job.h".into(), line: 7 };
    /// let state = Member { decl: Some(line.clone()), ..Member::new("state", long, 0) };
    /// let job = types.add(Type::Aggregate(Aggregate { size: 8, members: vec![state], ..Aggregate::default() }));
    /// assert_eq!(types.declaration_at(job, 4), Some(&line));
    /// ```
    pub fn declaration_at(&self, id: TypeId, offset: u64) -> Option<&SourceLine> {
        self.declaration_within(id, offset, 0)
    }

    fn declaration_within(&self, id: TypeId, offset: u64, depth: u32) -> Option<&SourceLine> {
        if depth > NESTING_MAX {
            return None;
        }
        match self.get(self.strip_typedefs(id)) {
            Type::Array { element, .. } => {
                let stride = self.size_of(*element).filter(|stride| *stride > 0)?;
                self.declaration_within(*element, offset % stride, depth + 1)
            }
            Type::Aggregate(aggregate) => {
                let holder = self.member_at_byte(aggregate, offset);
                let declared = holder.and_then(|member| match member.name {
                    Some(_) => member.decl.as_ref(),
                    None => self.declaration_within(member.ty, offset - member.offset, depth + 1),
                });
                declared.or(aggregate.decl.as_ref())
            }
            _ => None,
        }
    }

    /// Returns the first member that holds the byte at `offset`; the last one before it if the type ends in an array
    /// of unknown length.
    fn member_at_byte<'t>(&self, aggregate: &'t Aggregate, offset: u64) -> Option<&'t Member> {
        let holds = |member: &&Member| match member.bits {
            Some(bits) => {
                let end_bits = bits.offset_bits.saturating_add(bits.size_bits);
                (bits.offset_bits / 8..end_bits.div_ceil(8)).contains(&offset)
            }
            None => {
                let bytes = self.size_of(member.ty).unwrap_or(0);
                { offset.checked_sub(member.offset) }.is_some_and(|inside| inside < bytes)
            }
        };
        let is_before = |member: &&Member| member.bits.is_none() && member.offset <= offset;
        let members = &aggregate.members;
        let last = || { members.iter().rev() }.find(is_before);
        { members.iter().find(holds) }.or_else(|| last().filter(|_| offset >= aggregate.size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(line: u32) -> Option<SourceLine> {
        Some(SourceLine {
            file: "a.h".into(),
            line,
        })
    }

    fn member(name: Option<&str>, ty: TypeId, offset: u64, decl: u32) -> Member {
        Member {
            name: name.map(str::to_owned),
            decl: line(decl),
            ..Member::new("", ty, offset)
        }
    }

    fn aggregate(size: u64, members: Vec<Member>, decl: u32) -> Type {
        Type::Aggregate(Aggregate {
            members,
            decl: line(decl),
            size,
            complete: true,
            ..Aggregate::default()
        })
    }

    #[test]
    fn the_direct_member_is_named() {
        let mut types = TypeArena::new();
        let word = types.add(Type::Base {
            name: "long".into(),
            size: 8,
        });
        let inner = types.add(aggregate(8, vec![member(Some("in"), word, 0, 3)], 2));
        let members = vec![
            member(Some("first"), word, 0, 11),
            member(None, inner, 8, 12),
            member(Some("held"), inner, 16, 13),
        ];
        let outer = types.add(aggregate(32, members, 10));
        let at = |offset| types.declaration_at(outer, offset).map(|place| place.line);
        assert_eq!(at(7), Some(11));
        assert_eq!(at(8), Some(3), "a member of an anonymous struct");
        assert_eq!(at(16), Some(13), "the member that an edit moves");
        assert_eq!(at(24), Some(10), "a hole");
        assert_eq!(types.declaration_at(word, 0), None);
    }
}
