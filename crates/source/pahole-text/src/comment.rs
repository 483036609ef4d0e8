//! Comments between members.
use std::fmt::Write;

use relayout_layout::{MemberGap, TypeId};

use crate::frame::PrintFrame;
use crate::names;
use crate::print::LayoutPrinter;

/// A line that stands between two members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LayoutComment {
    BitHole(u64),
    ByteHole(u64),
    /// The member before is a struct that ends in this many bytes of padding.
    Padding(u64),
    CombinedWithPrevious,
    CombinedWithNext,
    ForceAlignment,
    /// Not a comment: a bitfield of this type and width, without a name.
    UnnamedBitfield(TypeId, u64),
}

impl LayoutComment {
    /// What is said of the bytes and bits after a member.
    pub(super) fn for_gap(gap: MemberGap) -> impl Iterator<Item = Self> {
        let bits = (gap.bits > 0).then_some(Self::BitHole(gap.bits));
        let bytes = (gap.bytes > 0).then_some(Self::ByteHole(gap.bytes));
        bits.into_iter().chain(bytes)
    }

    /// A blank line sets it off from the comment above.
    pub(super) fn is_set_off(self) -> bool {
        self == Self::ForceAlignment
    }
}

impl LayoutPrinter<'_> {
    /// The line without its indentation and newline.
    pub(super) fn write_comment(&mut self, comment: LayoutComment, frame: &PrintFrame) {
        match comment {
            LayoutComment::BitHole(count) => self.write_hole(count, "bit"),
            LayoutComment::ByteHole(count) => self.write_hole(count, "byte"),
            LayoutComment::Padding(bytes) => {
                let s = plural(bytes);
                let _ = write!(
                    self.out,
                    "/* XXX last struct has {bytes} byte{s} of padding */"
                );
            }
            LayoutComment::CombinedWithPrevious => {
                self.push("/* Bitfield combined with previous fields */");
            }
            LayoutComment::CombinedWithNext => {
                self.push("/* Bitfield combined with next fields */")
            }
            LayoutComment::ForceAlignment => {
                self.push("/* Force alignment to the next boundary: */")
            }
            LayoutComment::UnnamedBitfield(ty, bits) => {
                let ty = match self.options.expand {
                    true => self.resolve_typedefs(ty),
                    false => ty,
                };
                names::push_column(self.types, Some(ty), frame.type_width, &mut self.out);
                let _ = write!(self.out, " :{bits};");
            }
        }
    }

    fn write_hole(&mut self, count: u64, unit: &str) {
        let s = plural(count);
        let _ = write!(self.out, "/* XXX {count} {unit}{s} hole, try to pack */");
    }
}

pub(super) fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}
