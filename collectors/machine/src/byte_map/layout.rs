//! Layouts of objects in which bytes have other positions.

use alloc::vec::Vec;
use core::ops::Range;

use crate::byte_map::{ByteMapError, LINE_BYTES};

/// Most bytes of an object, and of the lines that it has for itself.
const BYTES_MAX: u32 = 1 << 16;

/// Positions of the bytes of an object. Those from the object's size on are in lines of its own, which begin there.
///
/// ```
/// use relayout_machine::MovedLayout;
///
/// let mut layout = MovedLayout::new(192).expect("192 bytes are not too many");
/// layout.move_bytes(88..96, 128).expect("both are in the object");
/// assert_eq!((layout.position(88), layout.position(128)), (128, 88));
/// layout.move_bytes(0..8, layout.next_own_line()).expect("there is room");
/// assert_eq!(layout.position(4), 192 + 4);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MovedLayout {
    /// Position of each byte. No two are the same.
    positions: Vec<u32>,
    /// Bytes whose lines cost nothing.
    free: Vec<Range<u32>>,
    /// Bytes that are stored to only if that changes them.
    checked: Vec<Range<u32>>,
    /// Place of the objects' own bytes, if that is no whole number of lines for each.
    own_row: Option<OwnRow>,
}

/// Place of the own bytes of objects that follow each other, as in a slab or an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OwnRow {
    /// Bytes from those of one object to those of the next.
    pub stride: u32,
    /// Those of the first object begin as far from a line's start as it does, rounded down to this power of two.
    pub align: u32,
}

impl MovedLayout {
    /// Makes the layout of an object whose bytes are where they are.
    ///
    /// # Errors
    /// The object is empty, or has more than 64 KiB.
    pub fn new(bytes: u32) -> Result<Self, ByteMapError> {
        if bytes == 0 || bytes > BYTES_MAX {
            return Err(ByteMapError::ObjectSize);
        }
        Ok(Self {
            positions: (0..bytes).collect(),
            free: Vec::new(),
            checked: Vec::new(),
            own_row: None,
        })
    }

    /// Bytes of the object.
    pub fn bytes(&self) -> u32 {
        self.positions.len() as u32
    }

    /// Bytes of the lines that the object has for itself.
    pub fn own_bytes(&self) -> u32 {
        self.used_own_bytes().next_multiple_of(LINE_BYTES as u32)
    }

    /// Bytes from the beginning of these lines to the last position in them that costs something.
    fn used_own_bytes(&self) -> u32 {
        let used = (0..)
            .zip(&self.positions)
            .filter(|(offset, _)| !self.is_free(*offset));
        let end = used.fold(self.bytes(), |end, (_, &at)| end.max(at + 1));
        end - self.bytes()
    }

    /// Lets the own bytes of objects lie in a row, so that two objects may share a line.
    ///
    /// # Errors
    /// They are further apart than an object may be, or closer than they are long, or the alignment is no power of two.
    pub fn set_own_row(&mut self, row: OwnRow) -> Result<(), ByteMapError> {
        let is_long_enough = row.stride >= self.used_own_bytes().max(1);
        if row.stride > BYTES_MAX || !is_long_enough || !row.align.is_power_of_two() {
            return Err(ByteMapError::OwnLines);
        }
        self.own_row = Some(row);
        Ok(())
    }

    /// Returns the place that the objects' own bytes were given.
    pub(super) fn own_row(&self) -> Option<OwnRow> {
        self.own_row
    }

    /// Returns the position of the byte at an offset in the object.
    #[inline]
    pub fn position(&self, offset: u32) -> u32 {
        self.positions[offset as usize]
    }

    /// Returns the position of the first line that the object could have for itself and does not use.
    pub fn next_own_line(&self) -> u32 {
        self.bytes() + self.own_bytes()
    }

    /// Moves bytes to other positions in the object, or in its own lines. Bytes that have those positions take the free
    /// ones, in order.
    ///
    /// # Errors
    /// A byte is outside of the object, or a position is, and not in its own lines.
    pub fn move_bytes(&mut self, moved: Range<u32>, to: u32) -> Result<(), ByteMapError> {
        self.require_inside(&moved)?;
        let end = to.saturating_add(moved.end - moved.start);
        if end > self.own_end_max() {
            return Err(ByteMapError::OwnLines);
        }
        if to < self.bytes() {
            self.require_inside(&(to..end))?;
        }
        for (offset, target) in moved.zip(to..) {
            let left = self.position(offset);
            if let Some(other) = self.positions.iter().position(|&at| at == target) {
                self.positions[other] = left;
            }
            self.positions[offset as usize] = target;
        }
        Ok(())
    }

    /// Takes bytes for being on lines that cost nothing, wherever they lie.
    ///
    /// # Errors
    /// A byte is outside of the object.
    pub fn free_bytes(&mut self, bytes: Range<u32>) -> Result<(), ByteMapError> {
        self.require_inside(&bytes)?;
        self.free.push(bytes);
        Ok(())
    }

    /// Returns true if the byte at an offset in the object is on a line that costs nothing.
    #[inline]
    pub fn is_free(&self, offset: u32) -> bool {
        self.free.iter().any(|bytes| bytes.contains(&offset))
    }

    /// Takes bytes for being loaded and compared before each store, which is left out if it changes nothing.
    ///
    /// # Errors
    /// A byte is outside of the object.
    pub fn check_bytes(&mut self, bytes: Range<u32>) -> Result<(), ByteMapError> {
        self.require_inside(&bytes)?;
        self.checked.push(bytes);
        Ok(())
    }

    /// Returns true if stores to the byte at an offset in the object are left out where they change nothing.
    pub fn is_checked(&self, offset: u32) -> bool {
        self.checked.iter().any(|bytes| bytes.contains(&offset))
    }

    /// Returns the bytes that are compared before stores.
    pub(super) fn checked_runs(&self) -> &[Range<u32>] {
        &self.checked
    }

    /// Returns the bytes whose lines cost nothing.
    pub(super) fn free_runs(&self) -> &[Range<u32>] {
        &self.free
    }

    /// Returns the end of the positions that bytes can have.
    fn own_end_max(&self) -> u32 {
        self.bytes() + self.own_row.map_or(BYTES_MAX, |row| row.stride)
    }

    fn require_inside(&self, bytes: &Range<u32>) -> Result<(), ByteMapError> {
        let is_inside = bytes.start < bytes.end && bytes.end <= self.bytes();
        is_inside.then_some(()).ok_or(ByteMapError::OutsideOfObject)
    }

    /// Returns the stretches of bytes that are moved, each with the position of its first byte.
    pub(super) fn moved_runs(&self) -> Vec<(Range<u32>, u32)> {
        let mut runs: Vec<(Range<u32>, u32)> = Vec::new();
        for (offset, &position) in (0..).zip(&self.positions) {
            if position == offset {
                continue;
            }
            match runs.last_mut() {
                Some((run, first))
                    if run.end == offset && *first + (offset - run.start) == position =>
                {
                    run.end += 1;
                }
                _ => runs.push((offset..offset + 1, position)),
            }
        }
        runs
    }

    /// Moves the runs of [`Self::moved_runs`].
    ///
    /// # Errors
    /// A byte is outside of the object, or two would have the same position.
    pub(super) fn with_runs(mut self, runs: &[(Range<u32>, u32)]) -> Result<Self, ByteMapError> {
        for (run, first) in runs {
            self.require_inside(run)?;
            let end = first.checked_add(run.end - run.start);
            if end.is_none_or(|end| end > self.own_end_max()) {
                return Err(ByteMapError::OwnLines);
            }
            for (offset, position) in run.clone().zip(*first..) {
                self.positions[offset as usize] = position;
            }
        }
        let mut sorted = self.positions.clone();
        sorted.sort_unstable();
        sorted.dedup();
        match sorted.len() == self.positions.len() {
            true => Ok(self),
            false => Err(ByteMapError::SamePosition),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use core::ops::Range;

    use super::MovedLayout;
    use crate::byte_map::ByteMapError;

    /// Positions of all bytes after moves.
    fn positions(bytes: u32, moves: &[(Range<u32>, Option<u32>)]) -> Vec<u32> {
        let mut layout = MovedLayout::new(bytes).unwrap();
        for (moved, to) in moves {
            match to {
                Some(to) => layout.move_bytes(moved.clone(), *to),
                None => layout.move_bytes(moved.clone(), layout.next_own_line()),
            }
            .unwrap();
        }
        (0..bytes).map(|offset| layout.position(offset)).collect()
    }

    #[test]
    fn moved_bytes_take_the_place_of_others() {
        assert_eq!(positions(8, &[(0..2, Some(6))]), [6, 7, 2, 3, 4, 5, 0, 1]);
        // Overlapping: what stood behind comes before.
        assert_eq!(positions(8, &[(1..5, Some(3))]), [0, 3, 4, 5, 6, 1, 2, 7]);
        assert_eq!(positions(8, &[(3..7, Some(1))]), [0, 5, 6, 1, 2, 3, 4, 7]);
        assert_eq!(positions(4, &[(0..4, Some(0))]), [0, 1, 2, 3]);
    }

    #[test]
    fn own_lines_follow_each_other() {
        let twice = [(1..3, None), (0..1, None)];
        assert_eq!(positions(4, &twice), [4 + 64, 4, 5, 3]);
        // What is moved again leaves its line.
        assert_eq!(positions(4, &[(0..1, None), (0..1, Some(2))]), [2, 1, 4, 3]);
    }

    #[test]
    fn refuses_what_is_outside() {
        let mut layout = MovedLayout::new(8).unwrap();
        let outside = Err(ByteMapError::OutsideOfObject);
        assert_eq!(layout.move_bytes(4..9, 0), outside);
        assert_eq!(layout.move_bytes(0..2, 7), outside);
        assert_eq!(layout.move_bytes(7..9, 8), outside);
        assert_eq!(
            layout.move_bytes(0..2, u32::MAX),
            Err(ByteMapError::OwnLines)
        );
        assert_eq!(layout.move_bytes(3..3, 0), outside);
        assert_eq!(MovedLayout::new(0), Err(ByteMapError::ObjectSize));
        assert_eq!(MovedLayout::new(u32::MAX), Err(ByteMapError::ObjectSize));
    }
}
