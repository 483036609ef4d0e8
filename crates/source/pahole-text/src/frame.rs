//! Where an aggregate is printed: its indentation, columns and place in the outermost one.

pub(super) const TYPE_WIDTH: i64 = 26;
pub(super) const NAME_WIDTH: i64 = 23;
pub(super) const NAME_WIDTH_UNION: i64 = 21;
/// With all types expanded, for structs and unions alike.
pub(super) const NAME_WIDTH_EXPANDED: i64 = 55;

/// An inner aggregate's type column begins a tab further right, and ends where the outer one does.
const TAB: i64 = 8;

#[derive(Clone, Copy)]
pub(super) struct PrintFrame {
    /// Tabs before its members.
    pub(super) indent: usize,
    /// Width of the type column; below zero when nested deeply.
    pub(super) type_width: i64,
    /// What its members' offsets are counted from, in bytes.
    pub(super) base: u64,
    /// A pointer is somewhere around: each aggregate's offsets begin anew.
    pub(super) is_pointed: bool,
    pub(super) depth: u32,
    /// A union is somewhere around.
    pub(super) in_union: bool,
    /// The member at hand is the last of several in a struct.
    pub(super) last: bool,
}

impl PrintFrame {
    pub(super) fn outermost(in_union: bool) -> Self {
        Self {
            indent: 1,
            type_width: TYPE_WIDTH,
            base: 0,
            is_pointed: false,
            depth: 0,
            in_union,
            last: false,
        }
    }

    /// The frame of an aggregate that is printed in place of the type of a member at `offset`.
    /// `qualifiers` is the width that they take from the type column.
    pub(super) fn inside(&self, offset: u64, qualifiers: i64, in_union: bool) -> Self {
        let base = match self.is_pointed {
            true => 0,
            false => self.base.saturating_add(offset),
        };
        Self {
            indent: self.indent + 1,
            type_width: self.type_width - qualifiers - TAB,
            in_union,
            base,
            depth: self.depth + 1,
            ..*self
        }
    }

    /// The same behind a pointer, where columns shrink twice.
    pub(super) fn behind_pointer(&self, qualifiers: i64, in_union: bool) -> Self {
        Self {
            is_pointed: true,
            base: 0,
            ..self.inside(0, qualifiers + TAB, in_union)
        }
    }
}
