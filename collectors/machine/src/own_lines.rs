//! Lines that a CPU is known to have for itself, so that most of its accesses need no look into the table.

use crate::request::LineNumber;

/// Lines that are kept at most, one for each value of their low bits.
const LINES: usize = 256;
/// No line; no address divided by 64 has its highest bits.
const NONE: u64 = u64::MAX;

/// Lines of one CPU that nobody else has used.
#[derive(Clone, Debug)]
pub(crate) struct OwnLines {
    /// Twice the line's number, plus 1 if the CPU has stored to it.
    lines: [u64; LINES],
}

impl OwnLines {
    pub(crate) fn new() -> Self {
        Self {
            lines: [NONE; LINES],
        }
    }

    /// Returns whether an access changes nothing but what is loaded: the line is the CPU's own, and was stored to before
    /// if it is a store.
    #[inline]
    pub(crate) fn allow(&self, line: LineNumber, stores: bool) -> bool {
        let known = self.lines[slot_of(line)];
        known >> 1 == line.0 && (!stores || known & 1 == 1)
    }

    #[inline]
    pub(crate) fn note(&mut self, line: LineNumber, is_stored: bool) {
        self.lines[slot_of(line)] = line.0 << 1 | u64::from(is_stored);
    }

    /// Notes that another CPU uses the line.
    pub(crate) fn forget(&mut self, line: LineNumber) {
        let known = &mut self.lines[slot_of(line)];
        if *known >> 1 == line.0 {
            *known = NONE;
        }
    }
}

fn slot_of(line: LineNumber) -> usize {
    line.0 as usize % LINES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_nobody_else_uses() {
        let mut own = OwnLines::new();
        let (line, other) = (LineNumber(5), LineNumber(5 + LINES as u64));
        assert!(!own.allow(line, false));
        own.note(line, false);
        assert!(own.allow(line, false) && !own.allow(line, true));
        own.note(line, true);
        assert!(own.allow(line, true) && !own.allow(other, false));
        own.forget(other);
        assert!(own.allow(line, true));
        own.forget(line);
        assert!(!own.allow(line, false));
    }
}
