//! Layout of moved objects where they lie: in slabs, whose slots follow the size of their objects, or elsewhere.

use std::ops::Range;

use relayout_machine::{ByteMapError, MovedLayout, OwnRow};

use super::requested_move::{LayoutChange, MoveTarget, ObjectSize, RequestedMove};
use super::slab::KnownSlab;
use crate::Error;

/// Bytes of a cache line.
const LINE_BYTES: u32 = 64;

/// Layout of a type's objects after all moves.
pub struct ChangedLayout {
    /// Bytes of an object before.
    bytes: u32,
    /// In their order.
    moves: Vec<MovedStretches>,
    /// Size of an object then, if it is another one, with its request.
    resized: Option<(RequestedMove, ObjectSize)>,
}

/// Stretches of bytes that follow each other at their target.
struct MovedStretches {
    /// Request, for messages.
    requested: RequestedMove,
    stretches: Vec<Range<u32>>,
    target: MoveTarget,
}

impl ChangedLayout {
    /// Makes the layout of objects of so many bytes, before any move.
    pub fn new(bytes: u32) -> Self {
        Self {
            bytes,
            moves: Vec::new(),
            resized: None,
        }
    }

    /// Bytes of an object before all moves.
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Adds a change.
    ///
    /// # Errors
    /// A byte is outside of the object, and no object can have the layout.
    pub fn add(&mut self, requested: &RequestedMove, change: LayoutChange) -> Result<(), Error> {
        match change {
            LayoutChange::Size(size) => self.resized = Some((requested.clone(), size)),
            LayoutChange::Move { bytes, target } => self.moves.push(MovedStretches {
                requested: requested.clone(),
                stretches: bytes,
                target,
            }),
        }
        let new_bytes = self.resized.as_ref().map_or(0, |(_, size)| size.bytes);
        self.in_place(requested, self.bytes.max(new_bytes))
            .map(drop)
    }

    /// Returns the layout of a variable, or of another object of the kernel that lies in no slab.
    ///
    /// # Errors
    /// Objects have another size, so that their neighbours would not stay where they are.
    pub fn of_variable(&self, first: &RequestedMove) -> Result<MovedLayout, Error> {
        let Some((requested, size)) = &self.resized else {
            return self.in_place(first, self.bytes);
        };
        let are_lines = [self.bytes, size.bytes].map(|bytes| bytes.is_multiple_of(LINE_BYTES));
        if are_lines == [true; 2] {
            return self.in_place(first, self.bytes);
        }
        Err(requested.refused(format!(
            "where the neighbours of its objects would lie is not known, because {} or {} bytes are no whole cache lines",
            self.bytes, size.bytes
        )))
    }

    /// Returns the layout of objects of a program, which lie in an array. With another size, they lie in other memory, apart from
    /// what were their neighbours: where the allocator or the linker would put them is not known.
    ///
    /// # Errors
    /// An object is too large.
    pub fn of_array(&self, first: &RequestedMove) -> Result<MovedLayout, Error> {
        match &self.resized {
            None => self.in_place(first, self.bytes),
            Some((_, size)) => self.elsewhere(
                first,
                Some(OwnRow {
                    stride: size.bytes,
                    align: size.align,
                }),
            ),
        }
    }

    /// Returns the layout of objects in a slab, which may end before their type does.
    ///
    /// # Errors
    /// Objects have another size, and which slots they would have is not known; or a byte is behind their end.
    pub fn in_slab(&self, first: &RequestedMove, slab: &KnownSlab) -> Result<MovedLayout, Error> {
        let Some((requested, size)) = &self.resized else {
            return self.in_place(first, self.bytes.min(slab.range.object_bytes));
        };
        let (range, slots) = (&slab.range, &slab.slots);
        let stride = slots.stride_with(self.bytes, *size).ok_or_else(|| {
            let cache = &range.owner;
            requested.refused(format!("which slots '{cache}' would have is not known"))
        })?;
        let begins_line = range.first.0.is_multiple_of(LINE_BYTES.into());
        let are_lines = [stride, slots.stride].map(|bytes| bytes.is_multiple_of(LINE_BYTES));
        // Slots of whole lines have their lines for themselves, wherever they are.
        if stride == slots.stride || (begins_line && are_lines == [true; 2]) {
            return self.in_place(first, slots.stride);
        }
        let row = OwnRow {
            stride,
            align: size.align,
        };
        self.elsewhere(first, (!slots.is_shared).then_some(row))
    }

    /// Lets the bytes of an object with room for `room` bytes lie in it, and those that reach behind on lines of its own.
    fn in_place(&self, first: &RequestedMove, room: u32) -> Result<MovedLayout, Error> {
        let mut layout = new_layout(first, room)?;
        self.apply(&mut layout, 0)?;
        Ok(layout)
    }

    /// Lets all bytes lie in other memory, in a row of objects, or on lines of each object's own.
    fn elsewhere(&self, first: &RequestedMove, row: Option<OwnRow>) -> Result<MovedLayout, Error> {
        let mut layout = new_layout(first, self.bytes)?;
        let refused = |layout: &MovedLayout, error| first.refused(describe_error(error, layout));
        { layout.move_bytes(0..self.bytes, self.bytes) }
            .map_err(|error| refused(&layout, error))?;
        self.apply(&mut layout, self.bytes)?;
        let Some(row) = row else {
            return Ok(layout);
        };
        // Bytes that are no member's any more lie nowhere.
        let left_over = |&offset: &u32| layout.position(offset) - self.bytes >= row.stride;
        let left_over: Vec<u32> = (0..self.bytes).filter(left_over).collect();
        for offset in left_over {
            { layout.free_bytes(offset..offset + 1) }.map_err(|error| refused(&layout, error))?;
        }
        { layout.set_own_row(row) }.map_err(|error| refused(&layout, error))?;
        Ok(layout)
    }

    /// Moves the stretches to offsets that are counted from `origin`.
    fn apply(&self, layout: &mut MovedLayout, origin: u32) -> Result<(), Error> {
        for moved in &self.moves {
            let mut to = match moved.target {
                MoveTarget::Offset(offset) => Some(origin.saturating_add(offset)),
                MoveTarget::OwnLine => Some(layout.next_own_line()),
                MoveTarget::FreeLine | MoveTarget::Checked => None,
            };
            for bytes in moved.stretches.iter().cloned() {
                let applied = match &mut to {
                    Some(to) => {
                        let first = *to;
                        *to = to.saturating_add(bytes.end.saturating_sub(bytes.start));
                        self.move_stretch(layout, bytes, first)
                    }
                    None if moved.target == MoveTarget::Checked => layout.check_bytes(bytes),
                    None => layout.free_bytes(bytes),
                };
                applied.map_err(|error| moved.requested.refused(describe_error(error, layout)))?;
            }
        }
        Ok(())
    }

    /// Moves bytes to `to`. Those of a longer object may begin in the room that it has and end in its own lines.
    fn move_stretch(
        &self,
        layout: &mut MovedLayout,
        bytes: Range<u32>,
        to: u32,
    ) -> Result<(), ByteMapError> {
        let room = layout.bytes().saturating_sub(to);
        if self.resized.is_none() || room == 0 || room >= bytes.end.saturating_sub(bytes.start) {
            return layout.move_bytes(bytes, to);
        }
        let behind = bytes.start + room;
        layout.move_bytes(bytes.start..behind, to)?;
        layout.move_bytes(behind..bytes.end, layout.bytes())
    }
}

fn new_layout(first: &RequestedMove, bytes: u32) -> Result<MovedLayout, Error> {
    let layout = MovedLayout::new(bytes);
    layout.map_err(|_| first.refused(format!("its objects have {bytes} bytes")))
}

fn describe_error(error: ByteMapError, layout: &MovedLayout) -> String {
    match error {
        ByteMapError::OwnLines => "an object would have too many lines of its own".to_owned(),
        _ => format!(
            "not all of the bytes and their new positions are among the {} of an object",
            layout.bytes()
        ),
    }
}

#[cfg(test)]
mod tests {
    use relayout_profile::{Addr, RangeKind, RangeRow, RunId};

    use super::super::range_row;
    use super::super::slab::SlabSlots;
    use super::*;

    /// Positions of some bytes of a type whose first 8 bytes are behind its others then.
    fn positions(
        bytes: u32,
        new_bytes: u32,
        slots: SlabSlots,
        first: u64,
    ) -> Result<Vec<u32>, String> {
        let size = ObjectSize {
            bytes: new_bytes,
            align: 8,
        };
        let grown = RequestedMove::resize(Some("cache"), "thing", size);
        let mut layout = ChangedLayout::new(bytes);
        layout.add(&grown, LayoutChange::Size(size)).unwrap();
        for (from, to) in [(0..8, new_bytes - 8), (8..bytes.min(new_bytes), 0)] {
            let target = MoveTarget::Offset(to);
            let requested = RequestedMove::of_bytes(None, "thing", from.clone(), to);
            let change = LayoutChange::Move {
                bytes: vec![from],
                target,
            };
            layout.add(&requested, change).unwrap();
        }
        let range = RangeRow {
            first: Addr(first),
            stride: slots.stride,
            ..range_row(RunId(0), RangeKind::Slab, first, 4096)
        };
        let layout = layout.in_slab(&grown, &KnownSlab { range, slots });
        let layout = layout.map_err(|error| error.to_string())?;
        Ok([0, 8, bytes - 8]
            .map(|offset| layout.position(offset))
            .into())
    }

    #[test]
    fn a_stretch_may_begin_in_the_room_of_its_object() {
        let mut layout = ChangedLayout::new(128);
        let size = ObjectSize {
            bytes: 192,
            align: 8,
        };
        let grown = RequestedMove::resize(Some("variable"), "thing", size);
        layout.add(&grown, LayoutChange::Size(size)).unwrap();
        let bytes = std::iter::once(8..128).collect();
        let target = MoveTarget::Offset(72);
        layout
            .add(&grown, LayoutChange::Move { bytes, target })
            .unwrap();
        let layout = layout.of_variable(&grown).unwrap();
        let positions = [0, 8, 63, 64, 127].map(|offset| layout.position(offset));
        assert_eq!(positions, [0, 72, 127, 128, 191]);
    }

    #[test]
    fn objects_may_end_before_their_type() {
        let slots = SlabSlots::new("thread", 192, 192, Some((64, 0)));
        let range = RangeRow {
            stride: 192,
            object_bytes: 192,
            ..range_row(RunId(0), RangeKind::Slab, 0x1000, 4096)
        };
        let slab = KnownSlab { range, slots };
        let place = |from: Range<u32>, to| {
            let requested = RequestedMove::of_bytes(Some("thread"), "thing", from.clone(), to);
            let mut layout = ChangedLayout::new(4096);
            let target = MoveTarget::Offset(to);
            let bytes = vec![from];
            layout.add(&requested, LayoutChange::Move { bytes, target })?;
            layout.in_slab(&requested, &slab)
        };
        let layout = place(0..8, 184).unwrap();
        assert_eq!((layout.bytes(), layout.position(4)), (192, 188));
        let error = place(0..8, 188).unwrap_err().to_string();
        assert!(error.contains("among the 192 of an object"), "{error}");
    }

    #[test]
    fn slots_follow_the_size_of_their_objects() {
        let line = 0xffff_8880_0000_1000;
        let slots =
            |stride, object, align| SlabSlots::new("cache", stride, object, Some((align, 0)));
        let check = |bytes, new_bytes, slots, expect: [u32; 3]| {
            assert_eq!(
                positions(bytes, new_bytes, slots, line).unwrap(),
                expect,
                "{slots:?}"
            );
        };
        // The slot has room: 1096 bytes in 1152.
        check(1096, 1104, slots(1152, 1096, 64), [1096, 0, 1080]);
        // Whole lines stay whole lines: the last one is the object's own.
        check(192, 256, slots(192, 192, 64), [248, 0, 176]);
        // All of it is elsewhere, 208 bytes apart.
        check(200, 208, slots(200, 200, 8), [200 + 200, 200, 200 + 184]);
        check(200, 192, slots(200, 200, 8), [200 + 184, 200, 200 + 192]);
        let kmalloc = |stride| SlabSlots::new("kmalloc-x", stride, stride, Some((8, 0)));
        check(88, 96, kmalloc(96), [88, 0, 72]);
        check(88, 104, kmalloc(96), [88 + 96, 88, 88 + 72]);
        let debugged = SlabSlots::new("cache", 1216, 1096, Some((64, 0)));
        let error = positions(1096, 1104, debugged, line).unwrap_err();
        assert!(error.contains("which slots '' would have"), "{error}");
    }
}
