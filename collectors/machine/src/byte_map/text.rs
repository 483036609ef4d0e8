//! Text of a map, for the file by which a recorder gets it.
//!
//! ```text
//! layout 192
//! move 88 8 128
//! move 128 8 88
//! free 0 8
//! check 16 4
//! objects 0xffff888003000000 192 21
//! ```
//!
//! `layout` has the bytes of an object, `own` the distance of the own bytes of objects that follow each other and
//! the alignment of the first, `move` an offset, a number of bytes and the position of the first, `free` and `check`
//! an offset and a number of bytes, `objects` the address of the first one, their distance and number.

use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use super::{ByteMap, MovedLayout, MovedObjects, OwnRow};

/// Longest text: some hundred thousand slabs.
const TEXT_MAX: usize = 1 << 25;

/// A layout as it is read.
struct MovedLayoutText {
    bytes: u32,
    own_row: Option<OwnRow>,
    moves: Vec<(Range<u32>, u32)>,
    free: Vec<Range<u32>>,
    checked: Vec<Range<u32>>,
    objects: Vec<MovedObjects>,
}

impl ByteMap {
    /// Reads the text of a map; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > TEXT_MAX {
            return None;
        }
        let mut layouts: Vec<MovedLayoutText> = Vec::new();
        for line in text.lines() {
            let (kind, numbers) = line.split_once(' ')?;
            let numbers: Vec<u64> = { numbers.split(' ') }
                .map(parse_number)
                .collect::<Option<_>>()?;
            match (kind, numbers.as_slice()) {
                ("layout", &[bytes]) => layouts.push(MovedLayoutText {
                    bytes: u32::try_from(bytes).ok()?,
                    own_row: None,
                    moves: Vec::new(),
                    free: Vec::new(),
                    checked: Vec::new(),
                    objects: Vec::new(),
                }),
                ("own", &[stride, align]) => {
                    layouts.last_mut()?.own_row = Some(OwnRow {
                        stride: u32::try_from(stride).ok()?,
                        align: u32::try_from(align).ok()?,
                    });
                }
                ("move", &[from, bytes, to]) => {
                    let moved = (parse_run(from, bytes)?, u32::try_from(to).ok()?);
                    layouts.last_mut()?.moves.push(moved);
                }
                ("free", &[from, bytes]) => {
                    let free = parse_run(from, bytes)?;
                    layouts.last_mut()?.free.push(free);
                }
                ("check", &[from, bytes]) => {
                    let checked = parse_run(from, bytes)?;
                    layouts.last_mut()?.checked.push(checked);
                }
                ("objects", &[first, stride, count]) => {
                    layouts.last_mut()?.objects.push(MovedObjects {
                        first,
                        stride,
                        count,
                    });
                }
                _ => return None,
            }
        }
        let layouts = layouts.into_iter().map(|layout| {
            let mut moved = MovedLayout::new(layout.bytes)?.with_runs(&layout.moves)?;
            for bytes in layout.free {
                moved.free_bytes(bytes)?;
            }
            for bytes in layout.checked {
                moved.check_bytes(bytes)?;
            }
            if let Some(row) = layout.own_row {
                moved.set_own_row(row)?;
            }
            Ok((moved, layout.objects))
        });
        Self::new(layouts.collect::<Result<_, super::ByteMapError>>().ok()?).ok()
    }
}

fn parse_run(from: u64, bytes: u64) -> Option<Range<u32>> {
    let from = u32::try_from(from).ok()?;
    Some(from..from.checked_add(u32::try_from(bytes).ok()?)?)
}

fn parse_number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

impl fmt::Display for ByteMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, layout) in (0..).zip(&self.layouts) {
            writeln!(f, "layout {}", layout.bytes())?;
            if let Some(OwnRow { stride, align }) = layout.own_row() {
                writeln!(f, "own {stride} {align}")?;
            }
            for (run, position) in layout.moved_runs() {
                let bytes = run.end - run.start;
                writeln!(f, "move {} {bytes} {position}", run.start)?;
            }
            for bytes in layout.free_runs() {
                writeln!(f, "free {} {}", bytes.start, bytes.end - bytes.start)?;
            }
            for bytes in layout.checked_runs() {
                writeln!(f, "check {} {}", bytes.start, bytes.end - bytes.start)?;
            }
            for area in self.areas.iter().filter(|area| area.layout == index) {
                let MovedObjects {
                    first,
                    stride,
                    count,
                } = area.objects;
                writeln!(f, "objects {first:#x} {stride} {count}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::ByteMap;

    #[test]
    fn refuses_what_is_damaged() {
        let good = "layout 16\nmove 0 8 8\nmove 8 8 0\nfree 0 4\ncheck 8 4\nobjects 0x10000 16 3\n";
        assert!(ByteMap::parse(good).is_some());
        assert_eq!(ByteMap::parse(""), Some(ByteMap::default()));
        for bad in [
            "layout",
            "layout 0",
            "layout x",
            "layout 16 1",
            "move 0 8 8",
            "objects 0 16 3",
            "layout 16\nmove 0 8 8",
            "layout 16\nmove 12 8 100",
            "layout 16\nmove 0 8 99999999",
            "layout 16\nmove 4294967295 8 0",
            "layout 16\nown 8",
            "layout 16\nown 0 1",
            "layout 16\nown 16 0",
            "layout 16\nown 8 1\nmove 0 16 16",
            "layout 16\nown 4294967296 1",
            "layout 16\nfree 12 8",
            "layout 16\nfree 4294967295 8",
            "layout 16\nobjects 0x10000 8 3",
            "layout 16\nobjects 0x10000 16 3\nobjects 0x10010 16 1",
            "door 1",
        ] {
            assert_eq!(ByteMap::parse(bad), None, "{bad}");
        }
    }
}
