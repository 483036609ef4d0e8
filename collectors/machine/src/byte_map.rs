//! Bytes that are said to lie elsewhere: objects with another layout, in a guest whose memory stays as it is.
//!
//! [`ByteMap::line_of`] says on which line a byte lies. The caller asks it for the first byte of each access, and the
//! whole access counts to that line: if moved bytes begin in its middle, they are not seen.
//!
//! ```
//! use relayout_machine::{ByteMap, LineNumber, MovedLayout, MovedObjects};
//!
//! let mut layout = MovedLayout::new(192).expect("192 bytes are not too many");
//! layout.move_bytes(88..96, 128).expect("both are in the object");
//! let objects = MovedObjects { first: 0x10000, stride: 192, count: 21 };
//! let map = ByteMap::new(vec![(layout, vec![objects])]).expect("the objects do not overlap");
//! assert_eq!(map.line_of(0x10000 + 88), LineNumber((0x10000 + 128) / 64));
//! assert_eq!(map.line_of(0x10000 + 80), LineNumber((0x10000 + 80) / 64));
//! // Each map has a text, from which it can be read back.
//! assert_eq!(ByteMap::parse(&map.to_string()), Some(map));
//! ```

mod layout;
mod text;

use alloc::vec::Vec;

pub use self::layout::{MovedLayout, OwnRow};
use crate::index_table::IndexTable;
use crate::request::LineNumber;

const LINE_BYTES: u64 = 64;
const PAGE_BYTES: u64 = 4096;

/// First address of the lines that objects have for themselves. On no machine is there memory.
const OWN_LINES: u64 = 1 << 62;
/// Most bytes of these lines.
const OWN_BYTES_MAX: u64 = 1 << 61;
/// First address of the lines that cost nothing, behind those: a byte there has the low bits of the address at which it lies.
const FREE_LINES: u64 = OWN_LINES + OWN_BYTES_MAX;
/// Bits of an address by which the bytes of memory and of own lines are told apart.
const ADDRESS_BITS: u32 = 48;
/// Lines that a processor may fetch together.
const PAIR_BYTES: u64 = 2 * LINE_BYTES;
/// Most pages with moved objects: 16 GiB.
const PAGES_MAX: u64 = 1 << 22;

/// Objects of the same layout, at equal distances.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MovedObjects {
    /// Address of the first one.
    pub first: u64,
    /// Bytes from the beginning of one to that of the next.
    pub stride: u64,
    /// Number of objects.
    pub count: u64,
}

impl MovedObjects {
    fn end(&self) -> Option<u64> {
        self.first.checked_add(self.stride.checked_mul(self.count)?)
    }
}

/// Reason for which a map cannot be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ByteMapError {
    /// An object is empty or too large.
    ObjectSize,
    /// A byte or position is outside of its object.
    OutsideOfObject,
    /// An object has too many lines for itself.
    OwnLines,
    /// Two bytes of an object have the same position.
    SamePosition,
    /// Objects are closer than their size, or lie where no memory is, or there are none.
    ObjectPlaces,
    /// Objects overlap others.
    Overlap,
    /// The objects lie on too many pages.
    TooManyPages,
}

/// Objects with their layout, as they are looked up.
#[derive(Clone, PartialEq, Eq, Debug)]
struct MovedArea {
    objects: MovedObjects,
    end: u64,
    /// Index of the layout.
    layout: u32,
    /// Address of the first object's own lines.
    own_lines: u64,
    /// Bytes from an object's own lines to the next one's.
    own_stride: u64,
}

impl MovedArea {
    /// Returns the number of the object that has the byte at an address of the area, and the byte's offset in it.
    fn object_of(&self, address: u64) -> (u64, u64) {
        let within = address - self.objects.first;
        (within / self.objects.stride, within % self.objects.stride)
    }

    fn said_address(&self, address: u64, layout: &MovedLayout) -> u64 {
        let (number, offset) = self.object_of(address);
        let bytes = u64::from(layout.bytes());
        if offset >= bytes {
            return address;
        }
        let position = u64::from(layout.position(offset as u32));
        let said = match position.checked_sub(bytes) {
            None => address - offset + position,
            Some(in_own) => self.own_lines + number * self.own_stride + in_own,
        };
        match layout.is_free(offset as u32) {
            true => FREE_LINES | said & ((1 << ADDRESS_BITS) - 1),
            false => said,
        }
    }
}

impl LineNumber {
    /// Returns true for a line that moves from CPU to CPU in no time.
    #[inline]
    pub(crate) fn is_free(self) -> bool {
        let lines = FREE_LINES / LINE_BYTES;
        (lines..lines + (1 << ADDRESS_BITS) / LINE_BYTES).contains(&self.0)
    }
}

/// Map from addresses to those at which bytes are said to lie. No two bytes are said to lie at the same one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ByteMap {
    layouts: Vec<MovedLayout>,
    /// By address. They do not overlap.
    areas: Vec<MovedArea>,
    /// First area that reaches into each page.
    pages: IndexTable<u32>,
    /// Address of the first object, and the bytes to the end of the last.
    first: u64,
    span: u64,
}

impl Default for ByteMap {
    /// Makes a map that leaves all bytes where they are.
    fn default() -> Self {
        Self {
            layouts: Vec::new(),
            areas: Vec::new(),
            pages: IndexTable::default(),
            first: 0,
            span: 0,
        }
    }
}

impl ByteMap {
    /// Makes a map of layouts, each with its objects.
    ///
    /// # Errors
    /// Objects overlap, are smaller than their layout, or are too many.
    pub fn new(layouts: Vec<(MovedLayout, Vec<MovedObjects>)>) -> Result<Self, ByteMapError> {
        let mut map = Self::default();
        let mut own_lines = OWN_LINES;
        for (layout, mut all_objects) in layouts {
            all_objects.sort_unstable_by_key(|objects| objects.first);
            let own_pairs = u64::from(layout.own_bytes()).next_multiple_of(PAIR_BYTES);
            for objects in all_objects {
                let (phase, own_stride) = match layout.own_row() {
                    Some(OwnRow { stride, align }) => {
                        let phase = objects.first % PAIR_BYTES;
                        (phase - phase % u64::from(align), stride.into())
                    }
                    None => (0, own_pairs),
                };
                let end = objects.end().filter(|&end| {
                    objects.count > 0
                        && objects.stride >= layout.bytes().into()
                        && (end <= OWN_LINES || objects.first >= FREE_LINES + (1 << ADDRESS_BITS))
                });
                map.areas.push(MovedArea {
                    objects,
                    end: end.ok_or(ByteMapError::ObjectPlaces)?,
                    layout: map.layouts.len() as u32,
                    own_lines: own_lines + phase,
                    own_stride,
                });
                // The pages below limit the number of objects, and so this sum.
                let own_bytes = own_stride
                    .saturating_mul(objects.count)
                    .saturating_add(phase);
                own_lines = own_lines
                    .saturating_add(own_bytes)
                    .next_multiple_of(PAIR_BYTES);
            }
            map.layouts.push(layout);
        }
        map.areas.sort_by_key(|area| area.objects.first);
        map.index_pages()?;
        Ok(map)
    }

    fn index_pages(&mut self) -> Result<(), ByteMapError> {
        let overlaps = |pair: &[MovedArea]| pair[0].end > pair[1].objects.first;
        if self.areas.windows(2).any(overlaps) {
            return Err(ByteMapError::Overlap);
        }
        let mut pages = 0;
        for (index, area) in (0..).zip(&self.areas) {
            let [first, last] = [area.objects.first, area.end - 1].map(|at| at / PAGE_BYTES);
            pages += last - first + 1;
            if pages > PAGES_MAX {
                return Err(ByteMapError::TooManyPages);
            }
            for page in first..=last {
                self.pages.get_or_insert(page, index);
            }
        }
        if let (Some(first), Some(last)) = (self.areas.first(), self.areas.last()) {
            self.first = first.objects.first;
            self.span = last.end - self.first;
        }
        Ok(())
    }

    /// Returns the line on which the byte at an address is said to lie.
    #[inline]
    pub fn line_of(&self, address: u64) -> LineNumber {
        LineNumber(self.said_address(address) / LINE_BYTES)
    }

    /// Returns the address at which the byte at `address` is said to lie.
    #[inline]
    pub fn said_address(&self, address: u64) -> u64 {
        if address.wrapping_sub(self.first) >= self.span {
            return address;
        }
        self.find_area(address).map_or(address, |area| {
            area.said_address(address, &self.layouts[area.layout as usize])
        })
    }

    /// Returns true if stores to the byte at an address are left out where they change nothing.
    pub fn is_checked(&self, address: u64) -> bool {
        if address.wrapping_sub(self.first) >= self.span {
            return false;
        }
        self.find_area(address).is_some_and(|area| {
            let (_, offset) = area.object_of(address);
            let layout = &self.layouts[area.layout as usize];
            offset < layout.bytes().into() && layout.is_checked(offset as u32)
        })
    }

    /// Returns true if objects reach into the page of an address.
    #[inline]
    pub fn has_page(&self, address: u64) -> bool {
        let first = self.first / PAGE_BYTES;
        let pages = (self.first % PAGE_BYTES + self.span).div_ceil(PAGE_BYTES);
        let page = address / PAGE_BYTES;
        page.wrapping_sub(first) < pages && self.pages.get(page).is_some()
    }

    /// Returns the objects that have the byte at an address.
    fn find_area(&self, address: u64) -> Option<&MovedArea> {
        let first = self.pages.get(address / PAGE_BYTES)?;
        let areas = self.areas[first as usize..].iter();
        let mut begun = areas.take_while(|area| area.objects.first <= address);
        begun.find(|area| address < area.end)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::{
        ByteMap, ByteMapError, FREE_LINES, LineNumber, MovedLayout, MovedObjects, OWN_LINES, OwnRow,
    };

    const BASE: u64 = 0xffff_8880_0000_1000;

    fn objects(first: u64, stride: u64, count: u64) -> MovedObjects {
        MovedObjects {
            first,
            stride,
            count,
        }
    }

    fn own_line_at_8(bytes: u32) -> MovedLayout {
        let mut layout = MovedLayout::new(bytes).unwrap();
        layout.move_bytes(8..16, layout.next_own_line()).unwrap();
        layout
    }

    #[test]
    fn free_bytes_have_lines_of_their_own() {
        let mut layout = own_line_at_8(64);
        layout.free_bytes(8..32).unwrap();
        let map = ByteMap::new(vec![(layout, vec![objects(BASE, 64, 2)])]).unwrap();
        let lines: Vec<u64> = [0, 8, 16, 31, 32, 80]
            .map(|offset| map.line_of(BASE + offset).0)
            .into();
        assert_eq!(map.line_of(BASE + 8), LineNumber(FREE_LINES / 64));
        assert_eq!(lines[2], lines[3]);
        assert_eq!((lines[0], lines[4]), (BASE / 64, BASE / 64));
        assert_ne!(lines[2], lines[5]);
        for (line, is_free) in lines
            .into_iter()
            .zip([false, true, true, true, false, true])
        {
            assert_eq!(LineNumber(line).is_free(), is_free);
        }
    }

    #[test]
    fn objects_have_own_lines_in_pairs_of_their_own() {
        let layout = own_line_at_8(48);
        let areas = vec![objects(BASE, 64, 2), objects(BASE + 0x4000, 64, 1)];
        let map = ByteMap::new(vec![(layout, areas)]).unwrap();
        let said: Vec<u64> = [8, 15, 16, 72, 0x4008, 0x4048, 63]
            .map(|offset| map.said_address(BASE + offset))
            .into();
        let expect = [
            OWN_LINES,
            OWN_LINES + 7,
            BASE + 16,
            OWN_LINES + 128,
            OWN_LINES + 256,
            BASE + 0x4048, // behind the last object
            BASE + 63,     // between two objects
        ];
        assert_eq!(said, expect);
    }

    #[test]
    fn own_bytes_follow_each_other_as_in_a_slab() {
        let mut layout = MovedLayout::new(48).unwrap();
        let row = |stride, align| OwnRow { stride, align };
        assert_eq!(layout.set_own_row(row(0, 1)), Err(ByteMapError::OwnLines));
        layout.move_bytes(0..8, 48 + 48).unwrap();
        layout.move_bytes(8..48, 48).unwrap();
        for bad in [row(55, 1), row(56, 0), row(1 << 20, 1)] {
            assert_eq!(layout.set_own_row(bad), Err(ByteMapError::OwnLines));
        }
        let mut aligned = layout.clone();
        aligned.set_own_row(row(64, 64)).unwrap();
        let areas = vec![objects(BASE + 16, 48, 3)];
        let map = ByteMap::new(vec![(aligned, areas)]).unwrap();
        assert_eq!(map.said_address(BASE + 24 + 48), OWN_LINES + 64);
        layout.set_own_row(row(56, 8)).unwrap();
        let areas = vec![objects(BASE + 16, 48, 3), objects(BASE + 0x4000, 48, 1)];
        let map = ByteMap::new(vec![(layout, areas)]).unwrap();
        let said: Vec<u64> = [16, 24, 64, 72, 0x4008]
            .map(|offset| map.said_address(BASE + offset) - OWN_LINES)
            .into();
        // The first area ends at 16 + 3 * 56.
        assert_eq!(said, [16 + 48, 16, 16 + 56 + 48, 16 + 56, 256]);
        let read = ByteMap::parse(&alloc::string::ToString::to_string(&map));
        assert_eq!(read, Some(map));
    }

    #[test]
    fn pages_of_objects_are_known() {
        let areas = vec![objects(BASE + 0xff0, 64, 1), objects(BASE + 0x4000, 64, 1)];
        let map = ByteMap::new(vec![(own_line_at_8(64), areas)]).unwrap();
        for (offset, expect) in [
            (0, true),
            (0xfff, true),
            (0x1fff, true),
            (0x2000, false),
            (0x4fff, true),
            (0x5000, false),
        ] {
            assert_eq!(map.has_page(BASE + offset), expect, "{offset:#x}");
        }
        assert!(!map.has_page(BASE - 1) && !map.has_page(0) && !map.has_page(u64::MAX));
        assert!(!ByteMap::default().has_page(0));
    }

    #[test]
    fn refuses_places_that_cannot_be() {
        let check = |areas: Vec<MovedObjects>, expect| {
            let made = ByteMap::new(vec![(own_line_at_8(64), areas)]);
            assert_eq!(made.unwrap_err(), expect);
        };
        use ByteMapError::*;
        check(vec![objects(BASE, 32, 1)], ObjectPlaces);
        check(vec![objects(BASE, 64, 0)], ObjectPlaces);
        check(vec![objects(OWN_LINES - 64, 64, 2)], ObjectPlaces);
        check(vec![objects(u64::MAX - 64, 64, 2)], ObjectPlaces);
        check(
            vec![objects(BASE, 64, 2), objects(BASE + 64, 64, 2)],
            Overlap,
        );
        check(vec![objects(BASE, 64, 1 << 40)], TooManyPages);
    }
}
