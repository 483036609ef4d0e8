//! `__cacheline_group_begin(NAME)` and `__cacheline_group_end(NAME)` in structs of Linux 6.8 and later:
//! members without size that enclose what shall lie together.

use relayout_layout::{TypeArena, TypeId};

use crate::members::{self, MatchedMember};

const BEGIN: &str = "__cacheline_group_begin__";
const END: &str = "__cacheline_group_end__";

/// A group of members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkedGroup {
    /// As it is written in the source.
    pub name: String,
    /// Offset of its first byte.
    begin: u64,
    /// Offset after its last byte.
    end: u64,
}

impl MarkedGroup {
    /// Its bytes, holes included.
    pub fn bytes(&self) -> u64 {
        self.end - self.begin
    }

    /// Whether the member lies in it.
    pub fn holds(&self, place: &MatchedMember) -> bool {
        self.begin <= place.offset() && place.end() <= self.end
    }
}

/// The groups that are marked in the type.
pub fn marked_groups(types: &TypeArena, id: TypeId) -> Vec<MarkedGroup> {
    let children = members::direct_members(types, &members::whole_type(id));
    let begins = children.iter().filter_map(|begin| {
        let name = begin.path.strip_prefix(BEGIN)?;
        let ends = |end: &&MatchedMember| end.path.strip_prefix(END) == Some(name);
        let end = children.iter().find(ends)?;
        let group = MarkedGroup {
            name: name.to_owned(),
            begin: begin.offset(),
            end: end.offset(),
        };
        (group.begin <= group.end).then_some(group)
    });
    begins.collect()
}
