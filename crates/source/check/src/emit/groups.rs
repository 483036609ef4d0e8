//! Member groups between `__cacheline_group_begin(NAME)` and `__cacheline_group_end(NAME)`. Structs
//! of Linux 6.8 and later mark groups with these members of size zero.

use relayout_layout::{TypeArena, TypeId};

use crate::members::{self, MatchedMember};

const BEGIN: &str = "__cacheline_group_begin__";
const END: &str = "__cacheline_group_end__";

/// Group of members between two marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkedGroup {
    /// Name of the group in the source.
    pub name: String,
    /// Offset of the group's first byte from the start of the type.
    begin: u64,
    /// Offset after the group's last byte, from the start of the type.
    end: u64,
}

impl MarkedGroup {
    /// Size of the group in bytes, with padding.
    pub fn bytes(&self) -> u64 {
        self.end - self.begin
    }

    /// Returns true if the member lies in the group.
    pub fn holds(&self, place: &MatchedMember) -> bool {
        self.begin <= place.offset() && place.end() <= self.end
    }
}

/// Returns the marked groups of the type.
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
