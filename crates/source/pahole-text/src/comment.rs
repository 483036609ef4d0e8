//! Text of the comments between members.

use std::fmt::Write;

use crate::frame::PrintFrame;
use crate::names;
use crate::printer::{LayoutComment, LayoutPrinter};

impl LayoutPrinter<'_> {
    /// Writes the comment without its indentation and newline.
    pub(super) fn write_comment(&mut self, comment: LayoutComment, frame: &PrintFrame) {
        match comment {
            LayoutComment::BitHole(count) => self.write_hole(count, "bit"),
            LayoutComment::ByteHole(count) => self.write_hole(count, "byte"),
            LayoutComment::MemberType(note) => note.push_comment(&mut self.out),
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
