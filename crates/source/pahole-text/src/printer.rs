//! State of the printer, and the parts of a member's line.

use relayout_layout::{MemberGap, TypeArena, TypeId};

use crate::facts::AlignmentFacts;
use crate::frame::{NAME_WIDTH, NAME_WIDTH_EXPANDED};
use crate::member_type::MemberTypeNote;
use crate::options::Options;

pub(super) const PACKED: &str = " __attribute__((__packed__))";

/// Type that was printed in place of a member's type.
pub(super) struct InlineType {
    pub(super) is_named: bool,
    pub(super) is_packed: bool,
}

/// Parts of a member's declaration in C.
pub(super) struct MemberDeclarator {
    /// Qualifiers in front of a type that is printed in place.
    pub(super) qualifiers: String,
    /// Type behind the qualifiers.
    pub(super) id: TypeId,
    /// True if `id` is the type behind typedefs that were printed.
    pub(super) is_resolved: bool,
    /// Text to the right of the name.
    pub(super) suffix: String,
    /// Text to the left of the name: `* ` for pointers to anonymous types.
    pub(super) stars: &'static str,
}

impl MemberDeclarator {
    /// Returns true if the type is behind a pointer.
    pub(super) fn is_pointed(&self) -> bool {
        !self.stars.is_empty()
    }

    pub(super) fn is_plain(&self) -> bool {
        let is_bare = self.qualifiers.is_empty() && self.suffix.is_empty();
        is_bare && !self.is_resolved && !self.is_pointed()
    }
}

/// Line between two members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LayoutComment {
    BitHole(u64),
    ByteHole(u64),
    /// The member before is a struct with padding, and what else pahole says about its type.
    MemberType(MemberTypeNote),
    CombinedWithPrevious,
    CombinedWithNext,
    ForceAlignment,
    /// Bitfield of this type and width without a name; not a comment.
    UnnamedBitfield(TypeId, u64),
}

impl LayoutComment {
    /// Comments about the unused bytes and bits after a member.
    pub(super) fn for_gap(gap: MemberGap) -> impl Iterator<Item = Self> {
        let bits = (gap.bits > 0).then_some(Self::BitHole(gap.bits));
        let bytes = (gap.bytes > 0).then_some(Self::ByteHole(gap.bytes));
        bits.into_iter().chain(bytes)
    }

    /// Returns true if a blank line separates it from the comment above.
    pub(super) fn is_set_off(self) -> bool {
        self == Self::ForceAlignment
    }
}

pub(super) struct LayoutPrinter<'t> {
    pub(super) types: &'t TypeArena,
    pub(super) facts: AlignmentFacts<'t>,
    pub(super) options: &'t Options,
    pub(super) out: String,
    /// Last cache line whose boundary was printed.
    pub(super) line: u64,
    pub(super) name_width: i64,
}

impl<'t> LayoutPrinter<'t> {
    pub(super) fn new(types: &'t TypeArena, options: &'t Options) -> Self {
        Self {
            types,
            facts: AlignmentFacts::new(types),
            options,
            out: String::new(),
            line: 0,
            name_width: if options.expand {
                NAME_WIDTH_EXPANDED
            } else {
                NAME_WIDTH
            },
        }
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    pub(super) fn push_tabs(&mut self, count: usize) {
        for _ in 0..count {
            self.out.push('\t');
        }
    }

    pub(super) fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }
}
