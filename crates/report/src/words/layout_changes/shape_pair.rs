//! Both layouts of a type, and the words for sizes, places and lists.

use relayout_diff::{MemberMove, PlacedMember, TypeDiffDetail, TypeLayout};

use crate::words::counted;

/// A type in both files, and what is different.
pub(crate) struct ShapePair<'d> {
    pub old: &'d TypeLayout,
    pub new: &'d TypeLayout,
    pub detail: &'d TypeDiffDetail,
}

impl<'d> ShapePair<'d> {
    /// The member's field in the new shape, or if it is gone in the old one.
    pub(crate) fn field(&self, member: &MemberMove) -> &'d PlacedMember {
        match (member.new, member.old) {
            (Some(new), _) => &self.new.members[new],
            (None, Some(old)) => &self.old.members[old],
            (None, None) => unreachable!("a member is in one of the shapes"),
        }
    }

    /// Both fields of a member that is in both.
    pub(crate) fn fields(
        &self,
        member: &MemberMove,
    ) -> Option<(&'d PlacedMember, &'d PlacedMember)> {
        Some((
            &self.old.members[member.old?],
            &self.new.members[member.new?],
        ))
    }

    pub(crate) fn name(&self, member: usize) -> &'d str {
        &self.field(&self.detail.members[member]).path
    }
}

/// `4 bytes`, `1 byte`, `3 bits`.
pub(crate) fn size_text(bits: u64) -> String {
    match bits % 8 {
        0 => counted(bits / 8, "byte"),
        _ => counted(bits, "bit"),
    }
}

/// Formats the offset of a member: bytes from the start of the type, with `:bit` for a bitfield.
pub(crate) fn place_text(field: &PlacedMember) -> String {
    match field.bits {
        Some(bits) => format!("{}:{}", bits.offset_bits / 8, bits.offset_bits % 8),
        None => field.offset.to_string(),
    }
}
