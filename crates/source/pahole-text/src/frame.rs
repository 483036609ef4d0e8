//! Position of a printed aggregate: its indentation, columns, and offset in the outermost one.

pub(super) const TYPE_WIDTH: i64 = 26;
pub(super) const NAME_WIDTH: i64 = 23;
pub(super) const NAME_WIDTH_UNION: i64 = 21;
/// Width with all types expanded, for structs and unions alike.
pub(super) const NAME_WIDTH_EXPANDED: i64 = 55;

/// Width of a tab. An inner aggregate's type column begins a tab further right, and ends with the
/// outer one's.
const TAB: i64 = 8;

#[derive(Clone, Copy)]
pub(super) struct PrintFrame {
    /// Tabs in front of its members.
    pub(super) indent: usize,
    /// Width of the type column; below zero for deeply nested aggregates.
    pub(super) type_width: i64,
    /// Start of the aggregate in bytes, from the start of the outermost one.
    pub(super) base: u64,
    /// True if a pointer is around the aggregate. Offsets of each aggregate then begin at 0.
    pub(super) is_pointed: bool,
    pub(super) depth: u32,
    /// True if a union is around the aggregate.
    pub(super) in_union: bool,
    /// True if the current member is the last of several in a struct.
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

    /// Frame of an aggregate that is printed in place of the type of a member at `offset`.
    /// `qualifiers` is the width of the qualifiers in the type column.
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

    /// Frame of an aggregate behind a pointer, whose columns shrink twice.
    pub(super) fn behind_pointer(&self, qualifiers: i64, in_union: bool) -> Self {
        Self {
            is_pointed: true,
            base: 0,
            ..self.inside(0, qualifiers + TAB, in_union)
        }
    }
}
